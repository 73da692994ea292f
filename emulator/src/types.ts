// The public types of the package, separate from the code, so that the published types depend on nothing of the service.

export interface Key {
  readonly id: string
  readonly secret: string
}

export type FaultName =
  | 'lost_answer'
  | 'dropped_connection'
  | 'slow_body'
  | 'rate_limited'
  | 'overloaded'
  | 'unavailable'
  | 'server_error'
  | 'bad_gateway'
  | 'slow_answer'
  | 'clock_skew'
  | 'store_closed'
  | 'price_change'
  | 'sold_out'
  | 'supplier_failure'
  | 'slow_fulfilment'
  | 'duplicate_event'
  | 'late_event'
  | 'out_of_order_events'
  | 'lost_event'

export interface Fault {
  readonly name: FaultName
  readonly title: string
  readonly armed: boolean
  /** Null: until disarmed. */
  readonly times_left: number | null
  readonly hits: number
  readonly params: Readonly<Record<string, unknown>>
}

/** The argument of `arm`: `name`, optionally `times`, `on`, `account_id`, and the parameters of the fault. */
export interface FaultRequest {
  readonly name: FaultName
  readonly times?: number
  readonly on?: string
  readonly account_id?: string
  readonly [param: string]: unknown
}

/** A recorded request with its answer. */
export interface RecordedRequest {
  readonly seq: number
  readonly id: string
  readonly at: string
  readonly duration_ms: number
  readonly method: string
  readonly target: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly timestamp: string | null
  readonly nonce: string | null
  readonly idempotency_key: string | null
  /** As received. */
  readonly headers: Readonly<Record<string, string>>
  /** As received, as text. */
  readonly body: string
  /** What the service answered; null when the request did not reach it. */
  readonly status: number | null
  /** Whether the caller got that answer. */
  readonly sent: boolean
  readonly error_type: string | null
  readonly answer: string
  /** The text that must be signed. */
  readonly canonical: string | null
  /** For a wrong signature: the mistake that produces exactly this one, and the text that was signed instead. */
  readonly mistake: {
    readonly name: string
    readonly title: string
    readonly fix: string
    readonly signed: string
  } | null
  readonly fault: string | null
}

/** One attempt to deliver an event. */
export interface RecordedDelivery {
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
  readonly delivered_at: string | null
  readonly lines: readonly { id: string; name: string; qty: number; unit_price_cents: number }[]
  readonly transfers: readonly { id: string; kind: string; amount_cents: number; at: string }[]
}

export interface LedgerTransfer {
  readonly id: string
  readonly kind: string
  /** Negative for money that leaves the balance. */
  readonly amount_cents: number
  readonly order_id: string | null
  readonly at: string
}

/** What `POST /_emulator/time` answers. */
export interface TimeAdvanced {
  readonly advanced_s: number
  /** How many pending events have an earlier next attempt now. */
  readonly deliveries: number
  /** How many items end their sale earlier now. */
  readonly sales: number
}

/** What `POST /_emulator/catalogue` answers: how many items were added, changed and so on. */
export interface CatalogueImported {
  readonly revision: number
  readonly added: number
  readonly changed: number
  readonly taken_from_sale: number
  readonly back_on_sale: number
  readonly unchanged: number
}

/** What `GET /_emulator` says. */
export interface AboutEmulator {
  readonly version: string
  readonly base_url: string
  /** The main account, to which the key and the endpoint belong. */
  readonly account_id: string
  readonly account_status: 'active' | 'suspended'
  readonly key: Key
  readonly webhook: { readonly url: string; readonly secret: string } | null
  readonly faults: readonly Fault[]
}

export interface EmulatorOptions {
  /** 0 by default: a free port. */
  readonly port?: number
  readonly host?: string
  /** Keeps the data in this folder; without it all data is deleted at the end. */
  readonly data?: string
  /** The initial balance of the main account, and the default for accounts created later. */
  readonly balanceCents?: number
  /** An endpoint of the first account from the start. */
  readonly webhook?: { readonly url: string; readonly secret?: string }
  /** How long an order stays `paid`. */
  readonly fulfilAfterMs?: number
  readonly requestsPerMinute?: number
  readonly ordersPerMinute?: number
  readonly faults?: readonly FaultRequest[]
  /** Called with the current step during the start. */
  readonly onProgress?: (what: string) => void
  /** Called when the database has ended unexpectedly or lost its folder; the emulator cannot continue, so call `stop`. */
  readonly onDatabaseEnded?: (why: string) => void
  /** Of the service's own log, on standard error; silent by default. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}

export interface Emulator {
  /** With `/v1`, as a client expects it. */
  readonly baseUrl: string
  /** The address of the page; `/_emulator` is below it. */
  readonly url: string
  readonly accountId: string
  readonly key: Key
  readonly databaseVersion: string
  arm(fault: FaultRequest): Promise<Fault>
  /** One, or all. */
  disarm(name?: string, options?: { accountId?: string }): Promise<void>
  createAccount(options?: {
    name?: string
    balanceCents?: number
    scopes?: readonly string[]
  }): Promise<{ accountId: string; key: Key }>
  /** Any of the endpoints below `/_emulator`, such as `control('GET', '/orders')`. Rejects with the message of a refusal. */
  control<Answer = unknown>(method: string, path: string, body?: object): Promise<Answer>
  stop(): Promise<void>
}
