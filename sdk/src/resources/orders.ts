import { type Call, type RateLimits, toCall, type WithResponse } from '../call.ts'
import { ORDERS_LIMIT_MAX } from '../contract.ts'
import { deadline } from '../deadline.ts'
import { AbortedError, OrderPendingError, ShopwireError, TimeoutError } from '../errors.ts'
import { walkPages } from '../pages.ts'
import { backoffMs, blurred } from '../retries.ts'
import type { CallOptions } from '../settings.ts'
import { sleep } from '../sleep.ts'
import type { Transport } from '../transport.ts'
import type { CartItem, Order, OrderSummary, OrdersPage, OrdersQuery } from '../types.ts'

export interface NewOrder {
  /** The whole cart: all of it is bought, or nothing. */
  items: readonly CartItem[]
  /**
   * Chosen by you: one per purchase, stored before the first attempt, the same for all retries. A new key is a new
   * purchase, so the SDK never generates one. 8 to 100 letters, digits, `.`, `_`, `:` or `-`.
   */
  idempotencyKey: string
}

export interface PlacedOrder extends Order {
  /** True when this key had bought the order before: an earlier call, or an earlier attempt of this one whose answer was lost. */
  replayed: boolean
}

/** Delivered, or cancelled and refunded. Both are final. */
export interface FinalOrder extends Order {
  status: 'delivered' | 'cancelled'
}

export interface WaitOptions extends CallOptions {
  /** Milliseconds in total, over all requests; 60 000 by default. */
  within?: number | undefined
}

const WITHIN_MS_DEFAULT = 60_000
/** With fewer requests than this left in the rate-limit window, polling slows down so that the account's other requests pass. */
const REQUESTS_LEFT_MIN = 40
const CROWDED_PAUSE_MS = 30_000

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

  /**
   * Reads an order until it is final, with growing pauses; check its `status`: it may be `cancelled`. For scripts and
   * tests, and for when an event is overdue: a webhook reports sooner and costs no requests. When the time is up the
   * call fails with an OrderPendingError. Once the order was read, a lost answer or a 503 only delays the next read,
   * unless `maxRetries` is given.
   */
  wait(id: string, options?: WaitOptions): Call<FinalOrder> {
    return toCall(this.#wait(id, options))
  }

  /** One page, newest first. */
  list(query?: OrdersQuery, options?: CallOptions): Call<OrdersPage> {
    return this.#transport.call('getOrders', { query, options })
  }

  /** All orders, newest first, each once, in pages of `limit` (the maximum by default). */
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
        'orders.create needs an idempotencyKey: one per purchase, stored before the first attempt, the same for all retries. A key generated here would buy twice when you call again.',
      )
    }
    const body = { items, idempotency_key: idempotencyKey }
    const answer = await this.#transport.send<Order>('postOrders', { body, options })
    return { ...answer, data: { ...answer.data, replayed: answer.response.status === 200 } }
  }

  async #wait(
    id: string,
    { within = WITHIN_MS_DEFAULT, signal, maxRetries, timeout }: WaitOptions = {},
  ): Promise<WithResponse<FinalOrder>> {
    let seen: WithResponse<Order> | undefined
    const limit = deadline(within, signal, (end) =>
      end === 'aborted' ? aborted(id, signal?.reason, seen) : tooLate(id, within, seen),
    )
    try {
      for (let looks = 1; ; looks++) {
        // Before the first successful read, the cause may be a wrong address or key, so the error is thrown at once.
        const retries = maxRetries ?? (seen && Number.POSITIVE_INFINITY)
        const options = { timeout, maxRetries: retries, signal: limit.signal }
        seen = await this.#transport.send<Order>('getOrder', { id, options })
        if (isFinal(seen)) return seen
        await sleep(pauseMs(looks, seen.rateLimit), limit.signal)
      }
    } catch (error) {
      const failure: unknown = limit.signal.aborted ? limit.signal.reason : error
      // The order is already bought. Without this mark a failed read could be mistaken for a refused purchase and
      // repeated with a new key.
      if (failure instanceof ShopwireError) failure.isOutcomeUnknown = true
      throw failure
    } finally {
      limit.clear()
    }
  }
}

function isFinal(answer: WithResponse<Order>): answer is WithResponse<FinalOrder> {
  const { status } = answer.data
  return status === 'delivered' || status === 'cancelled'
}

function pauseMs(looks: number, { req }: RateLimits): number {
  const isCrowded = req !== undefined && req.remaining < REQUESTS_LEFT_MIN
  return isCrowded ? blurred(CROWDED_PAUSE_MS) : backoffMs(looks)
}

function aborted(id: string, cause: unknown, seen: WithResponse<Order> | undefined): ShopwireError {
  const error = new AbortedError(`Waiting for order ${id} was aborted by its signal.`, { cause })
  return Object.assign(error, { requestId: seen?.requestId })
}

function tooLate(id: string, within: number, seen: WithResponse<Order> | undefined): ShopwireError {
  if (!seen) return new TimeoutError(`Order ${id} could not be read within ${within} ms.`)
  const { data, requestId, attempts } = seen
  return Object.assign(new OrderPendingError(data, within), { requestId, attempts })
}
