import { signWebhook } from '@shopwire/contract/signing'
import { ProxyRefused, ProxyTrouble } from '../platform/outbound/egress-proxy.ts'
import { AddressBlocked } from '../platform/outbound/public-address.ts'
import { checkLink } from './gift-link.ts'

/** A request to a supplier. The id makes it idempotent: one request, however often it is sent. */
export interface SupplierAsk {
  readonly id: string
  readonly sku: string
  readonly qty: number
}

export interface SupplierAddress {
  readonly url: string
  readonly secret: string
  readonly timeout_ms: number
}

export type SupplierReply =
  /** With the supplier's own total cost, if it sends one. */
  | { readonly kind: 'given'; readonly links: readonly string[]; readonly said_cents: number | null }
  /** It refused. */
  | { readonly kind: 'refused'; readonly error: string }
  /** It accepted and has not finished; the same id is to be sent again. */
  | { readonly kind: 'later'; readonly error: string }
  /** Unknown: no answer, or an invalid one. */
  | { readonly kind: 'failed'; readonly error: string }
  /** It certainly did not receive the request: no connection was made. */
  | { readonly kind: 'unsent'; readonly error: string }

const REPLY_BYTES_MAX = 64 * 1024
/** A request is for at most ten links. */
const COST_CENTS_MAX = 100_000_000

/** One request, one reply, within the time limit. The protocol is described in docs/suppliers.md. */
export async function askSupplier(
  { url, secret, timeout_ms }: SupplierAddress,
  ask: SupplierAsk,
  nowMs: number,
  fetch: typeof globalThis.fetch,
): Promise<SupplierReply> {
  const body = Buffer.from(JSON.stringify({ id: ask.id, sku: ask.sku, qty: ask.qty }))
  const timestamp = String(Math.floor(nowMs / 1000))
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout_ms),
      headers: {
        'content-type': 'application/json',
        'x-shopwire-timestamp': timestamp,
        'x-shopwire-id': ask.id,
        'x-shopwire-signature': signWebhook(secret, { timestamp, id: ask.id, body }),
      },
      body,
    })
    const text = await readCapped(response)
    if (response.status === 200) return readLinks(text, ask.qty)
    if (response.status === 202) return { kind: 'later', error: 'being_made' }
    if (response.status === 409) return { kind: 'refused', error: 'out_of_stock' }
    if (response.status === 422) return { kind: 'refused', error: 'unknown_sku' }
    return { kind: 'failed', error: `http_${response.status}` }
  } catch (error) {
    return { kind: wasNeverConnected(error) ? 'unsent' : 'failed', error: failureOf(error) }
  }
}

/**
 * The operator's lists exclude it, the name was not found, the connection was not accepted, or the proxy opened no tunnel: no byte
 * of the request was sent.
 */
function wasNeverConnected(error: unknown): boolean {
  interface Cause {
    readonly code?: string
    readonly syscall?: string
    /** One for each address that was tried, if there were several. */
    readonly errors?: readonly Cause[]
  }
  const { cause } = error as { cause?: Cause }
  if (cause instanceof ProxyTrouble || cause instanceof ProxyRefused) return true
  if (cause instanceof AddressBlocked) return true
  if (cause?.code === 'UND_ERR_CONNECT_TIMEOUT') return true
  const tried = cause?.errors ?? [cause]
  return tried.every((each) => each?.syscall === 'connect' || each?.syscall === 'getaddrinfo')
}

async function readCapped(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > REPLY_BYTES_MAX) throw new Error('reply_too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function readLinks(text: string, qty: number): SupplierReply {
  try {
    const { links, cost_cents: said = null } = JSON.parse(text) as { links?: unknown; cost_cents?: unknown }
    const isList = Array.isArray(links) && links.length === qty && new Set(links).size === qty
    if (!isList || !isCost(said)) return { kind: 'failed', error: 'bad_reply' }
    const checked = links.map((link) => checkLink(String(link), 'A link of the supplier'))
    return { kind: 'given', links: checked, said_cents: said }
  } catch {
    return { kind: 'failed', error: 'bad_reply' }
  }
}

const isCost = (cents: unknown): cents is number | null =>
  cents === null || (Number.isSafeInteger(cents) && Number(cents) >= 0 && Number(cents) <= COST_CENTS_MAX)

/** A fixed list of words: text from the supplier's server does not get into our records. */
function failureOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string } }
  if (cause instanceof ProxyTrouble) return 'proxy'
  if (cause instanceof ProxyRefused && cause.isByRule) return 'proxy'
  if (cause instanceof AddressBlocked) return 'blocked'
  if (name === 'TimeoutError') return 'timeout'
  if (message === 'reply_too_large') return message
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO/.test(cause?.code ?? '')) return 'tls'
  return 'connect'
}
