import { hashCart } from '../src/orders/placing/place-order.ts'
import type { NewOrder } from '../src/orders/queries.ts'
import { newId } from '../src/platform/text/ids.ts'
import { cartColumns } from '../src/quotes/price-cart.ts'

interface Cart {
  readonly account_id: string
  readonly access_version: number
  readonly idempotency_key: string
  readonly cart: { id: string; qty: number; expected_price_cents?: number }[]
}

/** As the service gives it to the function that sells. */
export function orderWith({ account_id, access_version, idempotency_key, cart }: Cart): NewOrder {
  const nowMs = Date.now()
  return {
    account_id,
    access_version,
    key_id: 'test',
    order_id: newId('ord', nowMs),
    event_id: newId('evt', nowMs),
    created_at: new Date(nowMs),
    idempotency_key,
    request_hash: hashCart(cart),
    cart: cartColumns(cart),
    request_id: newId('req', nowMs),
    client_address: '192.0.2.1',
  }
}
