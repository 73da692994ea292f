import { NotFoundError, type OrderSummary, type Shopwire } from '@shopwire/sdk'
import type { OwnOrder } from './books.ts'

export interface Difference {
  readonly kind:
    | 'missing_here'
    | 'missing_there'
    | 'unsettled'
    | 'twice_here'
    | 'amount'
    | 'paid_too_long'
    | 'delivered_unnoticed'
    | 'refunded_unnoticed'
    | 'status'
  readonly id: string
  readonly text: string
}

export interface Window {
  readonly sinceMs: number
  /** The end of the window is before now: a purchase in progress is not a difference yet. */
  readonly untilMs: number
  /** Orders bought before this time and not delivered are late. */
  readonly paidSinceMs: number
}

/** Webhooks can be lost, so the store's orders are the source of truth: every difference is reported. */
export async function compare(shop: Shopwire, books: readonly OwnOrder[], window: Window) {
  const theirs = await readOrders(shop, window)
  const ours = books.filter((own) => isWithin(own, window))
  const known = new Set(books.map(({ order_id }) => order_id))
  const differences: Difference[] = []

  for (const order of theirs.values()) {
    if (!known.has(order.id)) {
      differences.push(difference('missing_here', order.id, `${order.status}, ${order.total_cents} cents`))
    }
  }
  const seen = new Set<string>()
  for (const own of ours) {
    if (own.order_id === '') {
      const text = 'the outcome is unknown; send it again with the same key'
      differences.push(difference('unsettled', own.idempotency_key, text))
      continue
    }
    if (seen.has(own.order_id)) differences.push(difference('twice_here', own.order_id, own.idempotency_key))
    seen.add(own.order_id)
    // Because of clock differences, an order near the edge of the window may be inside it on one side only.
    const order = theirs.get(own.order_id) ?? (await find(shop, own.order_id))
    if (order) differences.push(...compareOne(own, order, window))
    else differences.push(difference('missing_there', own.order_id, own.idempotency_key))
  }
  return { compared: ours.length, differences }
}

/** Newest first, so reading stops at the first order that is too old. */
async function readOrders(shop: Shopwire, window: Window): Promise<Map<string, OrderSummary>> {
  const orders = new Map<string, OrderSummary>()
  for await (const order of shop.orders.iterate()) {
    if (Date.parse(order.created_at) < window.sinceMs) break
    if (isWithin(order, window)) orders.set(order.id, order)
  }
  return orders
}

function isWithin({ created_at }: { created_at: string }, { sinceMs, untilMs }: Window): boolean {
  const atMs = Date.parse(created_at)
  return sinceMs <= atMs && atMs <= untilMs
}

async function find(shop: Shopwire, id: string): Promise<OrderSummary | undefined> {
  return shop.orders.get(id).catch((error: unknown) => {
    if (error instanceof NotFoundError) return undefined
    throw error
  })
}

function* compareOne(own: OwnOrder, order: OrderSummary, { paidSinceMs }: Window): Generator<Difference> {
  if (own.total_cents !== order.total_cents) {
    yield difference('amount', order.id, `here ${own.total_cents} cents, there ${order.total_cents}`)
  }
  if (order.status === 'paid' && Date.parse(order.created_at) < paidSinceMs) {
    yield difference('paid_too_long', order.id, `bought ${order.created_at} and not delivered`)
  }
  if (own.status === order.status) return
  const text = `here ${own.status}, there ${order.status}`
  if (order.status === 'cancelled') yield difference('refunded_unnoticed', order.id, text)
  else if (order.status === 'delivered') yield difference('delivered_unnoticed', order.id, text)
  else yield difference('status', order.id, text)
}

function difference(kind: Difference['kind'], id: string, text: string): Difference {
  return { kind, id, text }
}
