import Type, { type Static } from 'typebox'
import { Cents, Count, closed, DateTime, nullable } from '../shapes.ts'
import { OrderListRow } from './orders.ts'
import { roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export const SPEND_DAYS = 30

const Day = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' })

/** Something a person should look at. The most urgent kinds come first in the list. */
export const Attention = Type.Union([
  closed({ kind: Type.Literal('account_suspended') }),
  closed({
    kind: Type.Literal('store_closed'),
    reason: nullable(Type.String()),
    since: DateTime,
    /** Null: nobody has said when. */
    opens_at: nullable(DateTime),
  }),
  closed({
    kind: Type.Literal('endpoint_failing'),
    /** Of the last answer: `http_503`, `timeout`, … */
    error: Type.String(),
    status: nullable(Type.Integer()),
    since: DateTime,
    waiting: Count,
    next_at: nullable(DateTime),
    /** When the oldest event gets its last attempt, at the earliest. */
    stops_at: nullable(DateTime),
  }),
  closed({ kind: Type.Literal('events_given_up'), events: Count, last_at: DateTime }),
  closed({
    kind: Type.Literal('balance_low'),
    balance_cents: Cents,
    days_left: nullable(Type.Number()),
    alert_cents: nullable(Cents),
  }),
  closed({ kind: Type.Literal('orders_waiting'), orders: Count, oldest_id: Type.String(), since: DateTime }),
  closed({ kind: Type.Literal('second_factor_missing') }),
  closed({
    kind: Type.Literal('key_safe_to_revoke'),
    key_id: Type.String(),
    key_name: Type.String(),
    unused_since: DateTime,
    /** Requests of the key that replaces it. */
    replacement_requests: Count,
  }),
  closed({
    kind: Type.Literal('item_leaving'),
    item_id: Type.String(),
    name: Type.String(),
    at: DateTime,
    /** Of the latest orders of this account. */
    percent: Type.Integer({ minimum: 1, maximum: 100 }),
  }),
  closed({
    kind: Type.Literal('closing_planned'),
    reason: Type.String(),
    closes_at: DateTime,
    opens_at: DateTime,
  }),
])
export type Attention = Static<typeof Attention>

const step = { done_at: nullable(DateTime), is_done: Type.Boolean() }

export const Home = closed({
  now: DateTime,
  balance_cents: Cents,
  burn: closed({
    /** As in the balance: the average over this many days, refunds deducted. */
    days: Count,
    per_day_cents: Cents,
    /** Null when nothing was spent. */
    days_left: nullable(Count),
    /** Below this a mail is sent; null when none is set. */
    alert_cents: nullable(Cents),
  }),
  today: closed({
    since: DateTime,
    orders: Count,
    delivered: Count,
    paid: Count,
    cancelled: Count,
    total_cents: Cents,
    /** Orders in each hour since then. */
    by_hour: Type.Array(Count),
  }),
  /** Of orders of the last 24 hours that are delivered. */
  delivery: closed({
    orders: Count,
    median_s: nullable(Type.Number()),
    p95_s: nullable(Type.Number()),
    /** Orders by time to delivery, in steps of `step_s`; the last one holds all that took longer. */
    step_s: nullable(Type.Number()),
    histogram: Type.Array(Count),
  }),
  /** Null: no endpoint is set. */
  webhook: nullable(
    closed({
      events: Count,
      accepted_first: Count,
      accepted_later: Count,
      /** Not accepted yet, after at least one attempt. */
      retrying: Count,
      failed: Count,
      /** The 24 hours up to now, oldest first. */
      by_hour: Type.Array(closed({ events: Count, retrying: Count, failed: Count })),
    }),
  ),
  /** Per UTC day, oldest first, today last; days without orders are zero. */
  spend: closed({
    days: Type.Array(closed({ day: Day, order_cents: Cents, refund_cents: Cents, orders: Count })),
    total_cents: Cents,
    /** False while the sums of past days are not ready. */
    is_complete: Type.Boolean(),
  }),
  waiting: Count,
  latest: Type.Array(OrderListRow),
  attention: Type.Array(Attention),
  /** Null once an order was delivered. */
  checklist: nullable(
    closed({
      key: closed({ ...step, key_id: nullable(Type.String()), key_name: nullable(Type.String()) }),
      call: closed(step),
      quote: closed(step),
      webhook: closed(step),
      order: closed({ ...step, order_id: nullable(Type.String()) }),
      delivered: closed(step),
      /** For snippets: something that can be bought now. */
      item: nullable(closed({ id: Type.String(), name: Type.String(), price_cents: Cents })),
    }),
  ),
})
export type Home = Static<typeof Home>

export const StoreNow = closed({
  is_open: Type.Boolean(),
  reason: nullable(Type.String()),
  since: DateTime,
  opens_at: nullable(DateTime),
  windows: Type.Array(closed({ closes_at: DateTime, opens_at: DateTime, reason: Type.String() })),
  /** `degraded`: no worker delivers at present. */
  api: Type.Enum(['up', 'degraded'], { type: 'string' }),
  version: Type.String(),
  /** Where the documentation is read. */
  docs_url: nullable(Type.String()),
  now: DateTime,
})
export type StoreNow = Static<typeof StoreNow>

export const HomeQuery = closed({
  /** When the reader's day began; without it the UTC day. At most 26 hours ago. */
  today_since: Type.Optional(DateTime),
})

export const homeRoutes = [
  { name: 'getHome', method: 'GET', path: '/api/home', access: roles, query: HomeQuery, reply: Home },
  { name: 'getStore', method: 'GET', path: '/api/store', access: roles, reply: StoreNow },
] as const satisfies readonly DashboardRoute[]
