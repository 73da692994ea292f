import type { Credentials } from '../profiles/credentials.ts'
import { CliError, connectionReason, EXIT } from '../trouble.ts'

export interface EmulatorFacts {
  readonly version: string
  readonly base_url: string
  readonly account_id: string
  readonly key: { readonly id: string; readonly secret: string }
  readonly webhook: { readonly url: string; readonly secret: string } | null
}

export interface EmulatedRequest {
  readonly seq: number
  readonly id: string
  readonly at: string
  readonly method: string
  readonly target: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly idempotency_key: string | null
  readonly body: string
  readonly status: number | null
  readonly sent: boolean
  readonly error_type: string | null
  readonly answer: string
  readonly fault: string | null
}

export interface EmulatedOrder {
  readonly id: string
  readonly account_id: string
  readonly idempotency_key: string
  readonly status: 'paid' | 'delivered' | 'cancelled'
  readonly total_cents: number
  readonly created_at: string
  readonly delivered_at: string | null
  readonly transfers: readonly {
    readonly id: string
    readonly kind: string
    readonly amount_cents: number
    readonly at: string
  }[]
}

export interface EmulatedTransfer {
  readonly id: string
  readonly kind: string
  readonly amount_cents: number
  readonly order_id: string | null
  readonly at: string
}

export const EMULATOR_URL_DEFAULT = 'http://127.0.0.1:4010'

const PROBE_MS_MAX = 2_000
const CALL_MS_MAX = 20_000

/** The control side of an emulator. */
export class Emulator {
  readonly origin: string

  constructor(url: string) {
    this.origin = new URL(url).origin
  }

  facts(): Promise<EmulatorFacts> {
    return this.#call('GET', '')
  }

  orders(
    query: { idempotency_key?: string; account_id?: string } = {},
  ): Promise<{ orders: EmulatedOrder[] }> {
    return this.#call('GET', `/orders${queryText(query)}`)
  }

  requests(query: { after: number; limit: number }): Promise<{ requests: EmulatedRequest[]; last: number }> {
    return this.#call('GET', `/requests${queryText(query)}`)
  }

  /** The number of the newest thing that happened. */
  async lastSeq(): Promise<number> {
    return (await this.requests({ after: 0, limit: 1 })).last
  }

  ledger(query: { account_id?: string }): Promise<{ balance_cents: number; transfers: EmulatedTransfer[] }> {
    return this.#call('GET', `/ledger${queryText(query)}`)
  }

  setWebhook(wanted: { url: string | null; secret?: string; account_id?: string }): Promise<unknown> {
    return this.#call('POST', '/webhook', wanted)
  }

  async #call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const url = `${this.origin}/_emulator${path}`
    const response = await fetch(url, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(CALL_MS_MAX),
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    }).catch((cause: unknown) => {
      throw new CliError({
        type: 'connection_failed',
        message: `No emulator answers at ${this.origin}.`,
        why: connectionReason(cause) ?? String((cause as Error).message ?? cause),
        next: 'Start one with `npx @shopwire/emulator`, or name its address.',
        exitCode: EXIT.unavailable,
      })
    })
    const answer = (await response.json().catch(() => undefined)) as
      | (Answer & { error?: { type: string; message: string } })
      | undefined
    if (response.ok && answer) return answer
    throw new CliError({
      type: answer?.error?.type ?? 'unexpected_response',
      message: answer?.error?.message ?? `${url} answered ${response.status}, and not as an emulator does.`,
      next: `Is ${this.origin} an emulator?`,
      exitCode: response.status === 404 ? EXIT.notFound : EXIT.failed,
    })
  }
}

/** The emulator behind these credentials, if it is one. Only addresses of this machine are asked. */
export async function findEmulator({ baseUrl, emulatorUrl }: Credentials): Promise<Emulator | undefined> {
  const url = emulatorUrl ?? (URL.canParse(baseUrl) ? baseUrl : undefined)
  if (url === undefined || !isLoopback(new URL(url).hostname)) return undefined
  const emulator = new Emulator(url)
  try {
    const response = await fetch(`${emulator.origin}/_emulator`, {
      redirect: 'error',
      signal: AbortSignal.timeout(PROBE_MS_MAX),
    })
    const facts = (await response.json()) as Partial<EmulatorFacts>
    return response.ok && typeof facts.base_url === 'string' ? emulator : undefined
  } catch {
    return undefined
  }
}

export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  )
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')
  return text && `?${text}`
}
