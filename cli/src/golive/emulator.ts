/** What the emulator's control interface answers; `emulator/README.md` describes it. */
export interface SeenRequest {
  readonly seq: number
  readonly at: string
  readonly duration_ms: number
  readonly method: string
  readonly target: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly timestamp: string | null
  readonly nonce: string | null
  readonly idempotency_key: string | null
  readonly body: string
  readonly status: number | null
  readonly sent: boolean
  readonly error_type: string | null
  readonly answer: string
  readonly mistake: { readonly name: string; readonly title: string; readonly fix: string } | null
  readonly fault: string | null
}

export interface SeenDelivery {
  readonly seq: number
  readonly at: string
  readonly event_id: string
  readonly event: string
  readonly order_id: string | null
  readonly account_id: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  readonly fault: string | null
}

export interface EmulatedOrder {
  readonly id: string
  readonly account_id: string
  readonly idempotency_key: string
  readonly status: 'paid' | 'delivered' | 'cancelled'
  readonly total_cents: number
  readonly created_at: string
  readonly lines: readonly { readonly id: string; readonly qty: number; readonly unit_price_cents: number }[]
  readonly transfers: readonly { readonly amount_cents: number }[]
}

export interface AboutEmulator {
  readonly version: string
  readonly base_url: string
  readonly account_id: string
  readonly key: { readonly id: string; readonly secret: string }
  readonly webhook: { readonly url: string; readonly secret: string } | null
}

export interface FaultToArm {
  readonly name: string
  readonly times?: number
  readonly [parameter: string]: unknown
}

export class EmulatorUnreachable extends Error {
  override name = 'EmulatorUnreachable'
}

const ANSWER_MS_MAX = 20_000
/** Holding the database to every rule reads all of it. */
const VERIFY_MS_MAX = 60_000

/** As many as an emulator keeps. */
const RECORDS_MAX = 2_000
/** Later than any record there will be. */
const FAR_AHEAD = 1e14

/** The control interface, as one account sees it. */
export class Emulator {
  readonly #url: string
  /** Undefined: the account that was made at the start. */
  readonly #account: string | undefined

  constructor(url: string, account?: string) {
    this.#url = `${url.replace(/\/+$/, '')}/_emulator`
    this.#account = account
  }

  about(): Promise<AboutEmulator> {
    return this.#ask('GET', '')
  }

  async requests(after: number): Promise<{ requests: readonly SeenRequest[]; last: number }> {
    return this.#ask('GET', `/requests?after=${after}&limit=${RECORDS_MAX}`)
  }

  /** The number of the latest record of any kind. */
  async last(): Promise<number> {
    return (await this.requests(FAR_AHEAD)).last
  }

  async deliveries(after: number): Promise<{ deliveries: readonly SeenDelivery[]; last: number }> {
    return this.#ask('GET', `/deliveries?after=${after}&limit=${RECORDS_MAX}`)
  }

  async orders(): Promise<readonly EmulatedOrder[]> {
    const query = this.#account ? `?account_id=${this.#account}` : ''
    return (await this.#ask<{ orders: EmulatedOrder[] }>('GET', `/orders${query}`)).orders
  }

  async balance(): Promise<number> {
    const query = this.#account ? `?account_id=${this.#account}` : ''
    return (await this.#ask<{ balance_cents: number }>('GET', `/ledger${query}`)).balance_cents
  }

  setBalance(balance_cents: number): Promise<unknown> {
    return this.#ask('POST', '/balance', this.#ours({ balance_cents }))
  }

  setWebhook(url: string | null, secret?: string): Promise<unknown> {
    return this.#ask('POST', '/webhook', this.#ours({ url, ...(secret !== undefined && { secret }) }))
  }

  setItem(id: string, change: { price_cents?: number; sellable?: boolean }): Promise<unknown> {
    return this.#ask('POST', `/items/${id}`, change)
  }

  arm(fault: FaultToArm): Promise<unknown> {
    return this.#ask('POST', '/faults', isForAll(fault) ? fault : this.#ours(fault))
  }

  disarm(fault: FaultToArm): Promise<unknown> {
    const { name } = fault
    const query = this.#account && !isForAll(fault) ? `?account_id=${this.#account}` : ''
    return this.#ask('DELETE', `/faults/${name}${query}`)
  }

  /** What an earlier run or a person left armed. */
  disarmAll(): Promise<unknown> {
    const query = this.#account ? `?account_id=${this.#account}` : ''
    return this.#ask('DELETE', `/faults${query}`)
  }

  verify(): Promise<{ ok: boolean; violations: readonly unknown[] }> {
    return this.#ask('POST', '/verify', {}, VERIFY_MS_MAX)
  }

  #ours<Body extends object>(body: Body): Body & { account_id?: string } {
    return this.#account ? { ...body, account_id: this.#account } : body
  }

  async #ask<Answer>(method: string, path: string, body?: object, msMax = ANSWER_MS_MAX): Promise<Answer> {
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: body ? JSON.stringify(body) : null,
      // An emulator never sends anybody elsewhere, and the webhook's secret may be in the body.
      redirect: 'error',
      signal: AbortSignal.timeout(msMax),
    }).catch((cause: Error) => {
      throw new EmulatorUnreachable(`No emulator answers at ${this.#url}.`, { cause })
    })
    const text = await answer.text()
    const data = readJson(text)
    if (answer.ok && data) return data as Answer
    if (!data?.error) {
      throw new EmulatorUnreachable(`What answers at ${this.#url} is no emulator: ${answer.status}.`)
    }
    const { message } = data.error as { message?: string }
    throw new Error(`The emulator refused ${method} /_emulator${path}: ${message}`)
  }
}

/** A store is closed to everybody, and `/status`, which says so, knows no account. */
function isForAll({ name }: FaultToArm): boolean {
  return name === 'store_closed'
}

function readJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
