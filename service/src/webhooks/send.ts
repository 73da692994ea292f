import { webhookHeaders } from '@shopwire/contract'
import { signWebhook } from '@shopwire/contract/signing'
import type { Sent } from '../platform/outbound/guarded-client.ts'
import { Unavailable } from '../platform/trouble.ts'
import type { DeliveryRoute, Shared } from './delivery-deps.ts'
import type { Destination, DueDelivery } from './delivery-queries.ts'
import { type Body, openBody } from './event-body.ts'

const WITHDRAWN: Sent = { error: 'withdrawn', status: null, remote_address: null }

export type SendResult = Omit<Sent, 'error'> & {
  readonly error: Sent['error'] | 'internal'
  /** What was sent; absent when it could not be made. */
  readonly body?: Body
  readonly signed?: { readonly s: number; readonly signatures: Buffer }
  /** Of an internal error; for the log only. */
  readonly cause?: unknown
}

/**
 * An event that cannot be composed, signed or sent for a reason on our side is a failed attempt like any other: it must not
 * delay the events behind it.
 */
export async function send(
  shared: Shared,
  account_id: string,
  { client, destination, open }: DeliveryRoute,
  delivery: DueDelivery,
): Promise<SendResult> {
  const { event_id } = delivery
  try {
    const body = await bodyOf(shared, account_id, delivery)
    const bytes = Buffer.from(body.text)
    const current = await destination.fresh()
    if (!current || current.is_suspended) return WITHDRAWN
    const { headers, ...signed } = await signedHeaders(
      { ...current, open },
      event_id,
      bytes,
      shared.clock.nowMs(),
    )
    return { ...(await client.post(headers, bytes)), body, signed }
  } catch (error) {
    if (error instanceof Unavailable) throw error
    return { error: 'internal', status: null, remote_address: null, cause: error }
  }
}

/** The bytes that a failed attempt has sent, or else those that every attempt would send. */
async function bodyOf(shared: Shared, account_id: string, delivery: DueDelivery): Promise<Body> {
  if (delivery.body_sealed) {
    const text = await openBody(shared.keyring, account_id, delivery.event_id, delivery.body_sealed)
    return { text, isStored: true }
  }
  return { text: JSON.stringify(await shared.compose({ account_id, ...delivery })), isStored: false }
}

async function signedHeaders(
  { secrets, open }: Pick<Destination, 'secrets'> & Pick<DeliveryRoute, 'open'>,
  id: string,
  body: Uint8Array,
  nowMs: number,
): Promise<{ headers: Record<string, string>; s: number; signatures: Buffer }> {
  const s = Math.floor(nowMs / 1000)
  const timestamp = String(s)
  const headers: Record<string, string> = {
    ...PLAIN_HEADERS,
    [webhookHeaders.timestamp]: timestamp,
    [webhookHeaders.id]: id,
  }
  for (const secret of secrets) {
    const name = secret.ends_at === null ? webhookHeaders.signature : webhookHeaders.previousSignature
    headers[name] = signWebhook(await open(secret), { timestamp, id, body })
  }
  const signatures = [headers[webhookHeaders.signature], headers[webhookHeaders.previousSignature]]
  return { headers, s, signatures: Buffer.from(signatures.join(''), 'hex') }
}

/** Sent with every event, besides those of the signature. */
export const PLAIN_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'user-agent': 'Shopwire-Webhooks/1',
} as const
