import { createHash } from 'node:crypto'
import {
  BASE_PATH,
  type CartItem,
  ORDER_ATTEMPTS_PER_WINDOW_MAX,
  type OrderRequest,
  QTY_DEFAULT,
  REQUESTS_PER_WINDOW_MAX,
} from '@shopwire/contract'

/** A request as it leaves. */
export interface Sent {
  readonly account_id: string
  readonly key_id: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly nonce: string
  /** What POST /orders asks for. */
  readonly order?: OrderRequest
}

/** What came back. The body is looked at here and not kept: it may hold links. */
export interface Answered {
  readonly status: number
  readonly body: unknown
  /** Whether the answer said that it repeats an earlier purchase. */
  readonly replayed?: boolean
}

/** A row of t_calls, which the rules read. */
export interface Call {
  seq: number
  account_id: string
  key_id: string
  method: string
  path: string
  nonce: string
  idempotency_key: string | null
  /** In PostgreSQL's spelling of bytes. */
  request_hash: string | null
  sent_at: Date
  received_at: Date | null
  /** Null: no answer came, and what became of the request is unknown. */
  status: number | null
  order_id: string | null
  n_links: number
  balance_cents: number | null
  replayed: boolean
}

/** An event as it came to its receiver. The body is hashed here and not kept: it may hold links. */
export interface Got {
  readonly event_id: string
  readonly url: string
  readonly body: Uint8Array
  readonly is_genuine: boolean
  /** The time under the signature. */
  readonly signed_at: Date
}

/** A row of t_got. */
export interface Receipt extends Omit<Got, 'body'> {
  body_hash: string
  received_at: Date
  /** Null: the receiver has not answered yet. */
  status: number | null
}

/** A row of t_secrets: a webhook secret in an answer, or, without the number of a call, printed by the command that rotates. */
export interface ShownSecret {
  seq: number | null
  account_id: string
  secret_hash: string
}

export interface Limits {
  readonly requestsMax: number
  readonly ordersMax: number
}

const CONTRACT_LIMITS: Limits = {
  requestsMax: REQUESTS_PER_WINDOW_MAX,
  ordersMax: ORDER_ATTEMPTS_PER_WINDOW_MAX,
}

/**
 * What callers sent and received, and what their webhook receivers got, to be compared with the database. It has to record every
 * call to the system: an order without a recorded request is a violation.
 */
export class Journal {
  readonly limits: Limits
  readonly calls: Call[] = []
  readonly revocations: { key_id: string; returned_at: Date }[] = []
  readonly receipts: Receipt[] = []
  readonly secrets: ShownSecret[] = []

  /** Limits other than the contract's are for races, which would otherwise mostly wait. */
  constructor(limits: Partial<Limits> = {}) {
    this.limits = { ...CONTRACT_LIMITS, ...limits }
  }

  /** Right before the first byte leaves. The outcome of a call that is never answered stays unknown. */
  sent({ account_id, key_id, method, path, nonce, order }: Sent) {
    const call: Call = {
      seq: this.calls.length + 1,
      account_id,
      key_id,
      method,
      path,
      nonce,
      idempotency_key: order?.idempotency_key ?? null,
      request_hash: order ? `\\x${hashCart(order.items)}` : null,
      sent_at: new Date(),
      received_at: null,
      status: null,
      order_id: null,
      n_links: 0,
      balance_cents: null,
      replayed: false,
    }
    this.calls.push(call)
    const { secrets } = this
    return {
      /** Right after the last byte came. */
      answered({ status, body, replayed = false }: Answered): void {
        const answer =
          status < 400 ? (body as { id?: string; links?: unknown[]; balance_cents?: number }) : {}
        Object.assign(call, {
          received_at: new Date(),
          status,
          order_id: path.startsWith(ORDERS) ? (answer.id ?? null) : null,
          n_links: answer.links?.length ?? 0,
          balance_cents: answer.balance_cents ?? null,
          replayed,
        })
        for (const [secret] of (JSON.stringify(body) ?? '').matchAll(WEBHOOK_SECRET)) {
          secrets.push({ seq: call.seq, account_id, secret_hash: sha256(secret) })
        }
      },
    }
  }

  /** By the receiver, before it answers. */
  received({ body, ...got }: Got) {
    const receipt: Receipt = { ...got, body_hash: sha256(body), received_at: new Date(), status: null }
    this.receipts.push(receipt)
    return {
      answered(status: number): void {
        receipt.status = status
      },
    }
  }

  /** When the command that rotates an account's webhook secret printed the new one. */
  rotated(account_id: string, secret: string): void {
    this.secrets.push({ seq: null, account_id, secret_hash: sha256(secret) })
  }

  /** Right after the command that revoked the key returned. */
  revoked(key_id: string): void {
    this.revocations.push({ key_id, returned_at: new Date() })
  }
}

const ORDERS = `${BASE_PATH}/orders`
const WEBHOOK_SECRET = /whsec_[\w-]+/g

/** Implemented from the contract's text and not taken from the service: two implementations of one rule have to agree. */
function hashCart(items: readonly CartItem[]): string {
  const lines = items.map(({ id, qty, expected_price_cents }) => [
    id,
    qty ?? QTY_DEFAULT,
    expected_price_cents ?? null,
  ])
  lines.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
  return sha256(JSON.stringify(lines))
}

function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
