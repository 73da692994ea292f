import { createHash } from 'node:crypto'
import {
  type CartItem,
  type Order,
  type OrderRequest,
  QTY_DEFAULT,
  RETRY_AFTER_STORE_CLOSED_S,
} from '@shopwire/contract'
import type { Span } from '../../platform/observability/tracing.ts'
import { newId } from '../../platform/text/ids.ts'
import { Refusal, refuse, Unavailable } from '../../platform/trouble.ts'
import { cartColumns } from '../../quotes/price-cart.ts'
import { totalExceeded } from '../../quotes/quote.ts'
import type { Placed } from '../queries.ts'
import type { Place } from './order-batches.ts'

/** The paying account, and the access version with which its request was admitted. */
export interface Buyer {
  readonly account_id: string
  readonly key_id: string
  readonly access_version: number
}

/** The attempt to buy, as it is stored with the order. */
export interface Attempt {
  readonly request_hash: Buffer
  /** Null when an operator buys. */
  readonly request_id: string | null
  readonly client_address: string | null
  readonly span?: Span | undefined
}

export type Outcome =
  | { readonly kind: 'bought'; readonly order: Order }
  /** This idempotency key has bought this cart before. */
  | { readonly kind: 'earlier'; readonly order_id: string }

const READMISSIONS_MAX = 3

/**
 * Buys the whole cart or nothing, in one round trip. When the outcome is unknown it fails with Unavailable; repeating it with the
 * same key is safe. `readmit` returns the buyer as it is now, or refuses it.
 */
export async function placeOrder(
  place: Place,
  first: Buyer,
  request: OrderRequest,
  attempt: Attempt,
  nowMs: number,
  readmit: () => Promise<Buyer>,
): Promise<Outcome> {
  const order = {
    order_id: newId('ord', nowMs),
    event_id: newId('evt', nowMs),
    created_at: new Date(nowMs),
    idempotency_key: request.idempotency_key,
    cart: cartColumns(request.items),
    ...attempt,
  }
  let { account_id, key_id, access_version } = first
  for (let n = 0; n <= READMISSIONS_MAX; n += 1) {
    const placed = await place({ ...order, account_id, key_id, access_version })
    if (placed.verdict === 'bought') return { kind: 'bought', order: present(placed, request.items, nowMs) }
    if (placed.verdict === 'earlier') return { kind: 'earlier', order_id: placed.order_id }
    if (placed.verdict !== 'changed') throw refusalOf(placed)
    ;({ account_id, key_id, access_version } = await readmit())
  }
  throw new Unavailable('database', new Error('the account kept changing while it was buying'))
}

/**
 * Two requests are the same when they would buy the same on the same condition: the order of lines, white space and an omitted qty
 * of one make no difference; another expected price does.
 */
export function hashCart(items: readonly CartItem[]): Buffer {
  const lines = items
    .map(({ id, qty = QTY_DEFAULT, expected_price_cents = null }) => [id, qty, expected_price_cents] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(lines)).digest()
}

function present(placed: Placed, items: readonly CartItem[], nowMs: number): Order {
  return {
    id: placed.order_id,
    status: 'paid',
    currency: 'USD',
    total_cents: placed.total_cents,
    created_at: new Date(nowMs).toISOString(),
    delivered_at: null,
    lines: items.map(({ id, qty = QTY_DEFAULT }, n) => ({
      id,
      name: placed.names[n] as string,
      qty,
      unit_price_cents: placed.unit_prices_cents[n] as number,
    })),
    links: [],
  }
}

function refusalOf({ verdict, details, total_cents }: Placed): Refusal {
  switch (verdict) {
    case 'conflict':
      return refuse(
        'idempotency_conflict',
        'This idempotency key has already bought another cart. Use a new key for a new purchase.',
      )
    case 'store_closed':
      return storeClosed()
    case 'item_unavailable':
      return refuse(
        'item_unavailable',
        `Not for sale now: ${details}. Nothing was bought. POST /quote shows which lines can be.`,
      )
    case 'price_changed':
      return refuse(
        'price_changed',
        `A price is not the expected one: ${details}. Nothing was bought. Ask your customer, then order with the new price.`,
      )
    case 'order_total_exceeded':
      return totalExceeded(total_cents)
    case 'insufficient_funds':
      return refuse(
        'insufficient_funds',
        // Without the balance: a key that may buy does not necessarily have the scope to read it.
        `The balance does not cover the ${total_cents} cents of this cart. Nothing was bought. Fund the account, then send the same request again.`,
      )
    default:
      throw new Error(`place_orders answered ${verdict}`)
  }
}

export function storeClosed(): Refusal {
  return new Refusal(
    'store_closed',
    'The store takes no new orders for now; nothing was bought. Try again with the same key when /status says it is open.',
    {},
    { 'retry-after': String(RETRY_AFTER_STORE_CLOSED_S) },
  )
}
