import type { OrderLine, OrderStatus, OrderSummary } from '@shopwire/contract'
import { MUST_WAIT, type MustWait } from '../platform/batching/batched.ts'
import { type Db, type Queryable, sql, type Tx, timed } from '../platform/database/db.ts'
import type { Span } from '../platform/observability/tracing.ts'
import type { CartColumns } from '../quotes/price-cart.ts'
import { ORDER_STATEMENTS } from './metrics.ts'

export interface OrderRow {
  readonly account_id: string
  readonly id: string
  readonly status: OrderStatus
  readonly total_cents: number
  readonly created_at: Date
  readonly delivered_at: Date | null
  readonly cancelled_at: Date | null
  readonly cancel_reason: string | null
}

export interface OrderLineRow extends OrderLine {
  readonly line: number
}

export interface NewOrder {
  readonly account_id: string
  readonly access_version: number
  readonly key_id: string
  readonly order_id: string
  readonly event_id: string
  readonly created_at: Date
  readonly idempotency_key: string
  readonly request_hash: Buffer
  readonly cart: CartColumns
  /** Null when an operator buys. */
  readonly request_id: string | null
  readonly client_address: string | null
  /** For traces; not stored. */
  readonly span?: Span | undefined
}

/** functions/orders/place_orders.sql explains the verdicts. */
export interface Placed {
  readonly verdict:
    | 'bought'
    | 'earlier'
    | 'conflict'
    | 'changed'
    | 'store_closed'
    | 'item_unavailable'
    | 'price_changed'
    | 'order_total_exceeded'
    | 'insufficient_funds'
  readonly order_id: string
  readonly total_cents: number
  readonly names: string[]
  readonly unit_prices_cents: number[]
  readonly details: string
}

interface PlacedTogether {
  readonly verdicts: (Placed['verdict'] | 'busy')[]
  readonly order_ids: string[]
  readonly totals_cents: number[]
  readonly names: string[]
  readonly unit_prices_cents: number[]
  readonly details: string[]
}

/** Waits while another transaction holds the account's balance. */
export async function callPlaceOrder(db: Pick<Db, 'commit'>, order: NewOrder): Promise<Placed> {
  const [placed] = await callPlaceOrders(db, [order], { mayWait: true })
  return placed as Placed
}

/**
 * Places orders of different accounts in one transaction. Unless it may wait, an order that would have to wait is not placed: its
 * result is MUST_WAIT.
 */
export async function callPlaceOrders(
  db: Pick<Db, 'commit'>,
  orders: readonly NewOrder[],
  { mayWait = false } = {},
): Promise<(Placed | MustWait)[]> {
  const of = <Name extends keyof NewOrder>(name: Name) => orders.map((order) => order[name])
  const carts = orders.map(({ cart }) => cart)
  const placed = await db.commit<PlacedTogether>(
    timed(
      ORDER_STATEMENTS.placeOrder,
      sql`
    select verdicts, order_ids, totals_cents, names, unit_prices_cents, details
      from place_orders(${mayWait}, ${of('account_id')}, ${of('access_version')}, ${of('key_id')}, ${of('order_id')},
                        ${of('event_id')}, ${of('created_at')}, ${of('idempotency_key')},
                        ${of('request_hash')}, ${of('request_id')}, ${of('client_address')},
                        ${carts.map(({ ids }) => ids.length)}, ${carts.flatMap(({ ids }) => ids)},
                        ${carts.flatMap(({ qtys }) => qtys)}, ${carts.flatMap(({ expected }) => expected)})`,
    ),
  )
  let linesBefore = 0
  return carts.map(({ ids }, n) => {
    const first = linesBefore
    linesBefore += ids.length
    const verdict = placed.verdicts[n] as Placed['verdict'] | 'busy'
    if (verdict === 'busy') return MUST_WAIT
    return {
      verdict,
      order_id: placed.order_ids[n] as string,
      total_cents: placed.totals_cents[n] as number,
      names: placed.names.slice(first, linesBefore),
      unit_prices_cents: placed.unit_prices_cents.slice(first, linesBefore),
      details: placed.details[n] as string,
    }
  })
}

export interface OrderWithLines extends OrderRow {
  readonly lines: readonly OrderLineRow[]
}

/** In the order of the requested ids. */
export async function selectOrdersById(
  db: Queryable,
  orders: readonly Pick<OrderRow, 'account_id' | 'id'>[],
): Promise<(OrderWithLines | undefined)[]> {
  const found = await db.many<OrderWithLines & { place: number }>(
    timed(
      ORDER_STATEMENTS.readOrder,
      sql`
    select w.place, o.account_id, o.id, o.status, o.total_cents, o.created_at, o.delivered_at, o.cancelled_at, o.cancel_reason,
           (select json_agg(json_build_object('line', l.line, 'id', l.item_id, 'name', l.name, 'qty', l.qty,
                                              'unit_price_cents', l.unit_price_cents) order by l.line)
              from order_lines l
             where l.account_id = o.account_id
               and l.order_id = o.id) as lines
      from unnest(${orders.map(({ account_id }) => account_id)}::text[], ${orders.map(({ id }) => id)}::text[])
             with ordinality as w (account_id, id, place)
      join orders o on o.account_id = w.account_id and o.id = w.id`,
    ),
  )
  const byPlace = new Map(found.map(({ place, ...order }) => [place, order]))
  return orders.map((_, n) => byPlace.get(n + 1))
}

/** The requests that bought the orders, in the order of the ids; null when an operator did. */
export async function selectRequestIds(
  db: Queryable,
  orders: readonly Pick<OrderRow, 'account_id' | 'id'>[],
): Promise<(string | null)[]> {
  const found = await db.many<{ place: number; request_id: string | null }>(sql`
    select w.place, o.request_id
      from unnest(${orders.map(({ account_id }) => account_id)}::text[], ${orders.map(({ id }) => id)}::text[])
             with ordinality as w (account_id, id, place)
      join orders o on o.account_id = w.account_id and o.id = w.id`)
  const byPlace = new Map(found.map(({ place, request_id }) => [place, request_id]))
  return orders.map((_, n) => byPlace.get(n + 1) ?? null)
}

export const selectOrder = async (db: Queryable, account_id: string, id: string) =>
  (await selectOrdersById(db, [{ account_id, id }]))[0]

/** Newest first. Skipped rows are read from the index only; full rows only for the page itself. */
export const selectOrders = (db: Queryable, account_id: string, limit: number, offset: number) =>
  db.many<Pick<OrderSummary, 'id' | 'status' | 'total_cents'> & { created_at: Date }>(
    timed(
      ORDER_STATEMENTS.listOrders,
      sql`
    select o.id, o.status, o.total_cents, o.created_at
      from (select p.id
              from orders p
             where p.account_id = ${account_id}
             order by p.account_id desc, p.id desc
             limit ${limit}
            offset ${offset}) page
      join orders o on o.account_id = ${account_id} and o.id = page.id
     order by o.id desc`,
    ),
  )

export const selectOrderCount = (db: Queryable, account_id: string) =>
  db.one<{ order_count: number }>(sql`
    select order_count
      from balances
     where account_id = ${account_id}`)

/**
 * Both final states of an order go through this lock, so only one of them finds it paid. An order that has ended is locked too, to
 * serialise workers that still have links for it.
 */
export const lockOrder = (tx: Tx, account_id: string, id: string) =>
  tx.maybeOne<OrderRow>(sql`
    select account_id, id, status, total_cents, created_at, delivered_at, cancelled_at, cancel_reason
      from orders
     where account_id = ${account_id}
       and id = ${id}
       for update`)

export const updateDelivered = (tx: Tx, account_id: string, id: string, at: Date) =>
  tx.run(sql`
    update orders
       set status = 'delivered',
           delivered_at = greatest(${at}, created_at)
     where account_id = ${account_id}
       and id = ${id}
       and status = 'paid'`)

export const updateCancelled = (tx: Tx, account_id: string, id: string, at: Date, reason: string) =>
  tx.run(sql`
    update orders
       set status = 'cancelled',
           cancelled_at = greatest(${at}, created_at),
           cancel_reason = ${reason}
     where account_id = ${account_id}
       and id = ${id}
       and status = 'paid'`)

/** A line that lacks links, and how many. */
export interface OpenLine {
  readonly line: number
  readonly item_id: string
  readonly held: number
  readonly missing: number
}

export const selectOpenLines = (tx: Queryable, account_id: string, order_id: string) =>
  tx.many<OpenLine>(sql`
    select l.line, l.item_id, count(k.unit)::integer as held, (l.qty - count(k.unit))::integer as missing
      from order_lines l
      left join order_links k on k.account_id = l.account_id and k.order_id = l.order_id and k.line = l.line
     where l.account_id = ${account_id}
       and l.order_id = ${order_id}
     group by l.line, l.item_id, l.qty
    having l.qty > count(k.unit)
     order by l.line`)

/**
 * Counts units of paid orders without a link, by item: fewer when they get links or their order is cancelled, more when a link is
 * taken back.
 */
export const countUnassigned = (tx: Tx, changes: readonly { item_id: string; units: number }[]) =>
  changes.length === 0
    ? undefined
    : tx.run(sql`
        select count_unassigned(${changes.map(({ item_id }) => item_id)}::text[], ${changes.map(({ units }) => units)}::integer[])`)

/** By the order's id alone: the time in the id limits the search to a few pages. */
export const selectOrderOwner = (db: Queryable, id: string, created_at: Date) =>
  db.maybeOne<{ account_id: string }>(sql`
    select account_id
      from orders
     where created_at = ${created_at}
       and id = ${id}`)
