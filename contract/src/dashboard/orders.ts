import Type, { type Static } from 'typebox'
import { itemTypes } from '../catalogue.ts'
import { ORDER_ID_PATTERN } from '../ids.ts'
import { ITEM_ID_LENGTH_MAX, QTY_MAX, QTY_MIN } from '../limits.ts'
import { orderStatuses } from '../order.ts'
import { Cents, Count, closed, DateTime, idsText, nullable } from '../shapes.ts'
import { builders, roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export const ORDER_ROWS_MAX = 100
/** Rows of a list that are selected together. */
export const SELECTED_MAX = 100
export const ORDER_ROWS_DEFAULT = 25
/** Rows of one CSV file. */
export const ORDER_EXPORT_MAX = 100_000
/** An order is found by the end of its id from this length on. */
export const ORDER_ID_END_LENGTH_MIN = 6
/** A revealed link is hidden again after this time. */
export const LINK_SHOWN_S = 30

const OrderId = Type.String({ pattern: ORDER_ID_PATTERN })
const Status = Type.Enum(orderStatuses, { type: 'string' })

const filters = {
  status: Type.Optional(Status),
  /** The id of an order, the end of one, or an idempotency key. */
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  from: Type.Optional(DateTime),
  /** Exclusive. */
  to: Type.Optional(DateTime),
  min_cents: Type.Optional(Cents),
  max_cents: Type.Optional(Cents),
  key_id: Type.Optional(Type.String({ minLength: 1, maxLength: 60 })),
  item_id: Type.Optional(Type.String({ minLength: 1, maxLength: ITEM_ID_LENGTH_MAX })),
}

export const OrderFilters = closed(filters)
export type OrderFilters = Static<typeof OrderFilters>

/** With `ids`, only those of the orders that pass the filters. */
export const OrdersExportQuery = closed({
  ...filters,
  ids: Type.Optional(idsText(ORDER_ID_PATTERN, SELECTED_MAX)),
})
export type OrdersExportQuery = Static<typeof OrdersExportQuery>

export const OrdersListQuery = closed({
  ...filters,
  /** Orders older than this id; for the next page, or to search on. */
  before: Type.Optional(OrderId),
  /** Orders newer than this id. */
  after: Type.Optional(OrderId),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ORDER_ROWS_MAX, default: ORDER_ROWS_DEFAULT })),
})
export type OrdersListQuery = Static<typeof OrdersListQuery>

export const OrderListRow = closed({
  id: OrderId,
  status: Status,
  /** `2 × Aurora Ring, Glasswing`, with at most a few names. */
  lines: Type.String(),
  total_cents: Cents,
  created_at: DateTime,
  delivered_at: nullable(DateTime),
  cancelled_at: nullable(DateTime),
  seconds_to_delivery: nullable(Type.Number({ minimum: 0 })),
  idempotency_key: Type.String(),
  key_id: Type.String(),
})
export type OrderListRow = Static<typeof OrderListRow>

/** Null: too many to count while a person waits. */
export const OrderCounts = closed({
  all: nullable(Count),
  paid: nullable(Count),
  delivered: nullable(Count),
  cancelled: nullable(Count),
})

/** Of all orders that pass the filters; null: too many to add up while a person waits. */
export const OrderSums = closed({
  orders: nullable(Count),
  /** Cancelled orders are refunded, and left out. */
  spent_cents: nullable(Cents),
})

export type OrderSums = Static<typeof OrderSums>

export const OrdersList = closed({
  orders: Type.Array(OrderListRow),
  /** For `before`: the page of older orders. */
  next: nullable(OrderId),
  /** For `after`: the page of newer orders. */
  previous: nullable(OrderId),
  /**
   * Not null: the search for rare orders was stopped so that the answer does not take long. Orders older than this time (newer, with
   * `after`) were not looked at; `next` (`previous`) continues.
   */
  searched_to: nullable(DateTime),
  /** By the filters other than the status. */
  counts: OrderCounts,
  /** Of the whole account, whatever the filters. */
  account: closed({
    orders: Count,
    first_at: nullable(DateTime),
    /** Null while the sums of past days are not ready. */
    worth_cents: nullable(Cents),
  }),
})
export type OrdersList = Static<typeof OrdersList>

const at = DateTime
const EventName = Type.String()

/** One thing that happened to an order. */
export const StoryEntry = Type.Union([
  closed({
    kind: Type.Literal('attempt'),
    at,
    /** `bought`, `replayed` or the type of the error. */
    outcome: Type.String(),
    /** Null when the answer was not recorded. */
    status: nullable(Type.Integer()),
    /** False: the caller was gone before the whole answer was sent. */
    is_sent: nullable(Type.Boolean()),
    /** False: the same key came with another cart. */
    is_same_cart: Type.Boolean(),
    request_id: nullable(Type.String()),
    /** Null when an operator of the store placed the order. */
    key_id: nullable(Type.String()),
    key_name: nullable(Type.String()),
    client_address: nullable(Type.String()),
  }),
  closed({
    kind: Type.Enum(['debit', 'refund'], { type: 'string' }),
    at,
    transfer_id: Type.String(),
    amount_cents: Cents,
    balance_before_cents: Cents,
    balance_after_cents: Cents,
  }),
  closed({ kind: Type.Literal('delivered'), at, links: Count }),
  closed({ kind: Type.Literal('cancelled'), at, reason: Type.String() }),
  closed({
    kind: Type.Literal('event'),
    at,
    event_id: Type.String(),
    type: EventName,
    /** Null: there was no endpoint to send it to. */
    state: nullable(Type.Enum(['pending', 'delivered', 'failed', 'cancelled'], { type: 'string' })),
  }),
  closed({
    kind: Type.Literal('delivery'),
    at,
    event_id: Type.String(),
    type: EventName,
    round: Count,
    attempt: Count,
    status: nullable(Type.Integer()),
    /** Null: accepted. */
    error: nullable(Type.String()),
    ms: Count,
    /** The last attempt of an event that is still to be accepted. */
    next_at: nullable(DateTime),
  }),
  closed({
    kind: Type.Literal('read'),
    at,
    request_id: Type.String(),
    key_id: Type.String(),
    key_name: nullable(Type.String()),
    client_address: Type.String(),
    links: Count,
    is_sent: Type.Boolean(),
  }),
  closed({
    kind: Type.Literal('reveal'),
    at,
    person_id: Type.String(),
    person_name: Type.String(),
    link: Count,
    address: nullable(Type.String()),
  }),
])
export type StoryEntry = Static<typeof StoryEntry>

export const OrderDetail = closed({
  id: OrderId,
  status: Status,
  currency: Type.Literal('USD'),
  total_cents: Cents,
  created_at: DateTime,
  delivered_at: nullable(DateTime),
  cancelled_at: nullable(DateTime),
  cancel_reason: nullable(Type.String()),
  seconds_to_delivery: nullable(Type.Number({ minimum: 0 })),
  /** Null unless it still waits for its links. */
  waiting: nullable(
    closed({
      /** Of this account's latest deliveries: half of them, and 19 in 20, took at most this long. Null: too few to say. */
      usual_s: nullable(Type.Number({ minimum: 0 })),
      usual_most_s: nullable(Type.Number({ minimum: 0 })),
      is_late: Type.Boolean(),
      /** When the store refunds it by itself, unless it is delivered before. Null: an operator of the store decides. */
      refund_at: nullable(DateTime),
      /** Whom to ask; null when the store names nobody. */
      contact: nullable(Type.String()),
    }),
  ),
  idempotency_key: Type.String(),
  /** SHA-256 of the cart, in hex. */
  cart_sha256: Type.String(),
  key: closed({ id: Type.String(), name: nullable(Type.String()) }),
  request_id: nullable(Type.String()),
  client_address: nullable(Type.String()),
  lines: Type.Array(
    closed({
      item_id: Type.String(),
      name: Type.String(),
      /** Null when the item is no longer known. */
      collection: nullable(Type.String()),
      type: nullable(Type.Enum(itemTypes, { type: 'string' })),
      qty: Type.Integer({ minimum: QTY_MIN, maximum: QTY_MAX }),
      unit_price_cents: Cents,
    }),
  ),
  /** One for each unit, in the order of the lines; never any part of the link itself. Empty until the order is delivered. */
  links: Type.Array(closed({ n: Count, item_id: Type.String(), name: Type.String() })),
  /** Since then only their fingerprints are kept, and none can be revealed; null: they are still there. */
  links_erased_at: nullable(DateTime),
  proof: closed({
    verdict: Type.Enum(['bought_once', 'not_once'], { type: 'string' }),
    requests: Count,
    charges: Count,
    charged_cents: Cents,
    refunded_cents: Cents,
    replayed: Count,
    refused: Count,
    transfer_id: nullable(Type.String()),
    /** Requests before this time are no longer kept. */
    kept_since: DateTime,
  }),
  story: Type.Array(StoryEntry),
  /** Left out of the story because there are so many. */
  story_left_out: Count,
})
export type OrderDetail = Static<typeof OrderDetail>

export const LinkName = closed({ order_id: OrderId, n: Type.Integer({ minimum: 1, maximum: 250 }) })

export const orderRoutes = [
  {
    name: 'listOrders',
    method: 'GET',
    path: '/api/orders',
    access: roles,
    query: OrdersListQuery,
    reply: OrdersList,
  },
  {
    name: 'sumOrders',
    method: 'GET',
    path: '/api/order-sums',
    access: roles,
    query: OrderFilters,
    reply: OrderSums,
  },
  {
    name: 'exportOrders',
    method: 'GET',
    path: '/api/orders.csv',
    access: roles,
    query: OrdersExportQuery,
    reply: null,
    download: 'text/csv',
  },
  { name: 'getOrder', method: 'GET', path: '/api/orders/{id}', access: roles, reply: OrderDetail },
  /** Whoever sees a link can redeem it, so people who only look or pay cannot. */
  {
    name: 'revealLink',
    method: 'POST',
    path: '/api/links/reveal',
    access: builders,
    isStepUp: true,
    body: LinkName,
    reply: closed({ link: Type.String() }),
  },
  /** `{id}` is the order's. */
  {
    name: 'getProof',
    method: 'GET',
    path: '/api/proofs/{id}',
    access: roles,
    reply: null,
    download: 'application/json',
  },
] as const satisfies readonly DashboardRoute[]
