import { ORDER_ID_PATTERN, type OrderStatus } from '@shopwire/contract'
import { ORDER_ID_END_LENGTH_MIN, type OrderFilters } from '@shopwire/contract/dashboard'
import { type Queryable, type Statement, sql, statement } from '../../platform/database/db.ts'
import { idFloor } from '../../platform/text/ids.ts'

export interface ListedOrder {
  readonly id: string
  readonly status: OrderStatus
  readonly total_cents: number
  readonly created_at: Date
  readonly delivered_at: Date | null
  readonly cancelled_at: Date | null
  readonly idempotency_key: string
  readonly key_id: string
  readonly lines: readonly { readonly name: string; readonly qty: number }[]
}

/** Where a page begins. */
export type From = { readonly before?: string | undefined; readonly after?: string | undefined }

/**
 * How many rows are read for one page. A filter that few orders pass would otherwise read millions; the person sees how far the
 * search has come, and can continue it.
 */
const LOOKED_AT_MAX = 10_000
/** For filters that have to read the lines of every order. */
const LOOKED_AT_WITH_ITEM_MAX = 2_000
/** For filters that read only ids, from the index. */
const LOOKED_AT_IDS_MAX = 50_000
/** Counts stop here, so that tabs do not slow a page down. */
const COUNTED_MAX = 50_000

const ORDER_ID = new RegExp(ORDER_ID_PATTERN)
const ID_END = new RegExp(`^[0-9a-hjkmnp-tv-z]{${ORDER_ID_END_LENGTH_MIN},26}$`)

/** The end of an order's id, as the pages show it: `cs268m`, `…cs268m`. Undefined for any other text. */
export function idEndIn(q: string): string | undefined {
  const end = q.toLowerCase().replace(/^(ord_)?…?/, '')
  return ID_END.test(end) ? end : undefined
}

/** The filters of a list, with the search text resolved. */
export interface Wanted extends Omit<OrderFilters, 'q'> {
  readonly exact_id?: string
  readonly id_end?: string
  /** Of these only. */
  readonly ids?: readonly string[]
}

/** What a search text refers to in this account; undefined when nothing can match. */
export async function resolveSearch(
  db: Queryable,
  account_id: string,
  { q, ...filters }: OrderFilters,
): Promise<Wanted | undefined> {
  if (q === undefined) return filters
  if (ORDER_ID.test(q)) return { ...filters, exact_id: q }
  const bought = await selectByIdempotencyKey(db, account_id, q)
  if (bought) return { ...filters, exact_id: bought.id }
  const id_end = idEndIn(q)
  return id_end === undefined ? undefined : { ...filters, id_end }
}

export interface Search {
  readonly rows: readonly ListedOrder[]
  /** The last id that was read, when the search stopped before it had all rows of the page. */
  readonly stoppedAt: string | undefined
}

/** One row more than `limit`, if there are enough; newest first, or with `after` oldest first. */
export async function searchOrders(
  db: Queryable,
  account_id: string,
  wanted: Wanted,
  from: From,
  limit: number,
): Promise<Search> {
  const rows = await db.many<ListedOrder>(selectPage(account_id, wanted, from, limit + 1))
  if (rows.length > limit || !isRare(wanted)) return { rows, stoppedAt: undefined }
  const last = await db.maybeOne<{ id: string }>(selectLastLookedAt(account_id, wanted, from))
  return { rows, stoppedAt: last?.id }
}

/** Whether rows have to be checked one by one: indexes cover only times, and the states that orders soon leave. */
export function isRare({ status, min_cents, max_cents, key_id, item_id, id_end }: Wanted): boolean {
  const isByRow = [min_cents, max_cents, key_id, item_id, id_end].some((value) => value !== undefined)
  return isByRow || status === 'delivered'
}

function selectPage(account_id: string, wanted: Wanted, from: From, limit: number): Statement {
  const { values, text } = parts(account_id, wanted, from)
  const rows = isRare(wanted)
    ? `select ${COLUMNS}
         from (${text.lookedAt}) o
        where ${text.passes}
        ${text.order}
        limit ${limit}`
    : `${text.range}
        ${text.order}
        limit ${limit}`
  return statement(
    `select p.id, p.status, p.total_cents, p.created_at, p.delivered_at, p.cancelled_at, p.idempotency_key, p.key_id,
            (select json_agg(json_build_object('name', l.name, 'qty', l.qty) order by l.line)
               from order_lines l
              where l.account_id = $1
                and l.order_id = p.id) as lines
       from (${rows}) p
      ${text.order}`,
    values,
  )
}

function selectLastLookedAt(account_id: string, wanted: Wanted, from: From): Statement {
  const { rangeValues, text } = parts(account_id, wanted, from)
  return statement(`${text.ids} ${text.order} offset ${lookedAtMax(wanted) - 1} limit 1`, rangeValues)
}

export interface Sum {
  readonly orders: number
  readonly cents: number
}

/**
 * By status, of the rows that pass the filters; undefined when there are too many to read. Filters that need more than an order's own
 * row have limits of their own.
 */
export async function countOrders(
  db: Queryable,
  account_id: string,
  wanted: Omit<Wanted, 'status'>,
  lookedAtMost = LOOKED_AT_MAX,
): Promise<Record<OrderStatus, Sum> | undefined> {
  const { values, text, max } = parts(account_id, wanted, {}, lookedAtMost)
  const rows = await db.many<{ status: OrderStatus; looked_at: number } & Sum>(
    statement(
      `select o.status, count(*) as looked_at, count(*) filter (where ${text.passes}) as orders,
              coalesce(sum(o.total_cents) filter (where ${text.passes}), 0)::bigint as cents
         from (${text.lookedAt}) o
        group by o.status`,
      values,
    ),
  )
  const lookedAt = rows.reduce((all, { looked_at }) => all + looked_at, 0)
  if (lookedAt >= max) return undefined
  const of = (status: OrderStatus): Sum => {
    const { orders = 0, cents = 0 } = rows.find((row) => row.status === status) ?? {}
    return { orders, cents }
  }
  return { paid: of('paid'), delivered: of('delivered'), cancelled: of('cancelled') }
}

/** Of the whole account; undefined when there are too many to count. */
export const countByStatus = (db: Queryable, account_id: string) =>
  db.one<{ all: number; paid: number; cancelled: number; first_at: Date | null }>(sql`
    select b.order_count as all,
           (select count(*)
              from (select 1
                      from paid_orders
                     where account_id = ${account_id}
                     limit ${COUNTED_MAX}) o) as paid,
           (select count(*)
              from (select 1
                      from orders
                     where account_id = ${account_id}
                       and cancelled_at is not null
                     limit ${COUNTED_MAX}) o) as cancelled,
           (select created_at
              from orders
             where account_id = ${account_id}
             order by id
             limit 1) as first_at
      from balances b
     where b.account_id = ${account_id}`)

/** Capped at the highest number that is counted. */
export async function countPaid(db: Queryable, account_id: string): Promise<number> {
  const { paid } = await db.one<{ paid: number }>(sql`
    select count(*) as paid
      from (select 1
              from paid_orders
             where account_id = ${account_id}
             limit ${COUNTED_MAX}) o`)
  return paid
}

export const isCounted = (count: number) => count < COUNTED_MAX

function lookedAtMax({ item_id, id_end }: Wanted, most = LOOKED_AT_MAX): number {
  if (item_id !== undefined) return LOOKED_AT_WITH_ITEM_MAX
  return id_end === undefined ? most : LOOKED_AT_IDS_MAX
}

/**
 * The parts of the statements above. Their text is made of our own constants; user input is only in the values.
 */
function parts(account_id: string, wanted: Wanted, { before, after }: From, lookedAtMost = LOOKED_AT_MAX) {
  const max = lookedAtMax(wanted, lookedAtMost)
  const values: unknown[] = [account_id]
  const param = (value: unknown) => `$${values.push(value)}`
  const { status, from, to, min_cents, max_cents, key_id, item_id, exact_id, id_end, ids: only } = wanted
  const range = ['account_id = $1']
  if (before !== undefined) range.push(`id < ${param(before)}`)
  if (after !== undefined) range.push(`id > ${param(after)}`)
  if (from !== undefined) range.push(`id >= ${param(idFloor('ord', Date.parse(from)))}`)
  if (to !== undefined) range.push(`id < ${param(idFloor('ord', Date.parse(to)))}`)
  if (status === 'cancelled') range.push('cancelled_at is not null')
  if (exact_id !== undefined) range.push(`id = ${param(exact_id)}`)
  if (only !== undefined) range.push(`id = any(${param(only)})`)
  const rangeValues = [...values]
  const passes = ['true']
  if (status === 'delivered') passes.push(`o.status = 'delivered'`)
  if (min_cents !== undefined) passes.push(`o.total_cents >= ${param(min_cents)}`)
  if (max_cents !== undefined) passes.push(`o.total_cents <= ${param(max_cents)}`)
  if (key_id !== undefined) passes.push(`o.key_id = ${param(key_id)}`)
  if (item_id !== undefined)
    passes.push(`exists (select from order_lines i
                          where i.account_id = $1 and i.order_id = o.id and i.item_id = ${param(item_id)})`)
  const order = after === undefined ? 'order by id desc' : 'order by id'
  const where = range.join(' and ')
  const orders =
    status === 'paid'
      ? '(select account_id, id from paid_orders) p join orders using (account_id, id)'
      : 'orders'
  const ids = `select id from ${orders} where ${where}`
  const limit = `${order} limit ${max}`
  const text = {
    range: `select ${COLUMNS} from ${orders} where ${where}`,
    ids,
    // The ends of ids are compared in the index; only orders that match are read.
    lookedAt:
      id_end === undefined
        ? `select ${COLUMNS} from ${orders} where ${where} ${limit}`
        : `select ${COLUMNS} from ${orders}
            where account_id = $1
              and id = any(array(select s.id from (${ids} ${limit}) s where right(s.id, ${id_end.length}) = ${param(id_end)}))`,
    passes: passes.join(' and '),
    order,
  }
  return { values, rangeValues, text, max }
}

const COLUMNS = 'id, status, total_cents, created_at, delivered_at, cancelled_at, idempotency_key, key_id'

/** The order that was bought with exactly this idempotency key, if any. */
const selectByIdempotencyKey = (db: Queryable, account_id: string, idempotency_key: string) =>
  db.maybeOne<{ id: string }>(sql`
    select id
      from orders
     where account_id = ${account_id}
       and idempotency_key = ${idempotency_key}`)
