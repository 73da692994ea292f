import Type, { type Static } from 'typebox'
import { CartItems } from './cart.ts'
import { ORDER_ID_PATTERN } from './ids.ts'
import {
  IDEMPOTENCY_KEY_LENGTH_MAX,
  IDEMPOTENCY_KEY_LENGTH_MIN,
  ORDERS_LIMIT_DEFAULT,
  ORDERS_LIMIT_MAX,
  ORDERS_LIMIT_MIN,
  ORDERS_OFFSET_DEFAULT,
  ORDERS_OFFSET_MAX,
  ORDERS_OFFSET_MIN,
  QTY_MAX,
  QTY_MIN,
} from './limits.ts'
import { AbsoluteUri, Cents, Count, Currency, closed, DateTime, nullable } from './shapes.ts'

/** `paid` awaits delivery; `delivered` and `cancelled` are final. */
export const orderStatuses = ['paid', 'delivered', 'cancelled'] as const

export type OrderStatus = (typeof orderStatuses)[number]

export const OrderRequest = closed({
  items: CartItems,
  idempotency_key: Type.String({
    minLength: IDEMPOTENCY_KEY_LENGTH_MIN,
    maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
    pattern: '^[A-Za-z0-9._:-]+$',
  }),
})
export type OrderRequest = Static<typeof OrderRequest>

/** Name and price at purchase: later catalogue changes do not alter an order. */
export const OrderLine = closed({
  id: Type.String(),
  name: Type.String(),
  qty: Type.Integer({ minimum: QTY_MIN, maximum: QTY_MAX }),
  unit_price_cents: Cents,
})
export type OrderLine = Static<typeof OrderLine>

const summary = {
  id: Type.String({ pattern: ORDER_ID_PATTERN }),
  status: Type.Enum(orderStatuses, { type: 'string' }),
  currency: Currency,
  total_cents: Cents,
  created_at: DateTime,
}

export const OrderSummary = closed(summary)
export type OrderSummary = Static<typeof OrderSummary>

export const Order = closed({
  ...summary,
  delivered_at: nullable(DateTime),
  lines: Type.Array(OrderLine),
  // Whoever holds an unclaimed link can redeem it: never log, cache or index this field.
  links: Type.Array(AbsoluteUri),
})
export type Order = Static<typeof Order>

export const OrdersPage = closed({
  orders: Type.Array(OrderSummary),
  total: Count,
  limit: Count,
  offset: Count,
})
export type OrdersPage = Static<typeof OrdersPage>

/** The decoded query; see CatalogueQuery for why it is closed. */
export const OrdersQuery = closed({
  limit: Type.Optional(
    Type.Integer({ minimum: ORDERS_LIMIT_MIN, maximum: ORDERS_LIMIT_MAX, default: ORDERS_LIMIT_DEFAULT }),
  ),
  offset: Type.Optional(
    Type.Integer({ minimum: ORDERS_OFFSET_MIN, maximum: ORDERS_OFFSET_MAX, default: ORDERS_OFFSET_DEFAULT }),
  ),
})
export type OrdersQuery = Static<typeof OrdersQuery>
