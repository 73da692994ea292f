import { type Call, toCall } from '../call.ts'
import { ORDERS_LIMIT_MAX } from '../contract.ts'
import { walkPages } from '../pages.ts'
import type { CallOptions } from '../settings.ts'
import type { Transport } from '../transport.ts'
import type { CartItem, Order, OrderSummary, OrdersPage, OrdersQuery } from '../types.ts'

export interface NewOrder {
  /** The whole cart: all of it is bought, or nothing. */
  items: readonly CartItem[]
  /**
   * Yours: one per purchase, stored before the first try, and the same over all retries of it. A new key is a new purchase, so
   * nothing here ever makes one up. 8 to 100 letters, digits, `.`, `_`, `:` or `-`.
   */
  idempotencyKey: string
}

export interface PlacedOrder extends Order {
  /** True when this key had bought the order before: an earlier call, or an earlier attempt of this one whose answer was lost. */
  replayed: boolean
}

/** Purchases. Scope `orders:read`, and `orders:write` to create. */
export class Orders {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Buys. **It spends real balance.** */
  create(order: NewOrder, options?: CallOptions): Call<PlacedOrder> {
    return toCall(this.#create(order, options))
  }

  /** With lines and, once delivered, gift links. */
  get(id: string, options?: CallOptions): Call<Order> {
    return this.#transport.call('getOrder', { id, options })
  }

  /** One page, newest first. */
  list(query?: OrdersQuery, options?: CallOptions): Call<OrdersPage> {
    return this.#transport.call('getOrders', { query, options })
  }

  /** All orders, newest first, each once, in pages of `limit` (as large as they get by default). */
  iterate(query: OrdersQuery = {}, options?: CallOptions): AsyncGenerator<OrderSummary, void, undefined> {
    const limit = query.limit ?? ORDERS_LIMIT_MAX
    return walkPages(limit, query.offset ?? 0, async (offset) => {
      const { orders, total } = await this.list({ limit, offset }, options)
      return { rows: orders, total }
    })
  }

  async #create({ items, idempotencyKey }: NewOrder, options: CallOptions | undefined) {
    if (typeof idempotencyKey !== 'string' || idempotencyKey === '') {
      throw new TypeError(
        'orders.create needs an idempotencyKey: one per purchase, stored before the first try, the same over all retries. A key made up here would buy twice when you call again.',
      )
    }
    const body = { items, idempotency_key: idempotencyKey }
    const answer = await this.#transport.send<Order>('postOrders', { body, options })
    return { ...answer, data: { ...answer.data, replayed: answer.response.status === 200 } }
  }
}
