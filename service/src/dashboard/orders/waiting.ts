import type { OrderDetail } from '@shopwire/contract/dashboard'
import { type Queryable, sql } from '../../platform/database/db.ts'

/** An order waits unusually long when it has waited this long, and much longer than orders usually take. */
const LATE_MS_MIN = 10 * 60_000
const LATE_FACTOR = 4
/** How many of the latest orders say what is usual, and how few say nothing. */
const LATEST = 200
const LATEST_MIN = 5

/** From when on an order counts as late. `usual_most_s`: 19 in 20 orders took at most this long. */
export const lateAfterMs = (usual_most_s: number | null) =>
  Math.max(LATE_MS_MIN, (usual_most_s ?? 0) * 1000 * LATE_FACTOR)

interface Waiting {
  readonly account_id: string
  readonly order_id: string
  readonly created_at: Date
}

/** What the account may expect for an order that still waits for its links. */
export async function readWaiting(
  db: Queryable,
  order: Waiting,
  { contact, nowMs }: { readonly contact: string | undefined; readonly nowMs: number },
): Promise<NonNullable<OrderDetail['waiting']>> {
  const { deliveries, usual_s, usual_most_s } = await selectUsual(db, order.account_id)
  const usual = deliveries < LATEST_MIN ? { usual_s: null, usual_most_s: null } : { usual_s, usual_most_s }
  const refund = await selectRefundAt(db, order)
  return {
    ...usual,
    is_late: nowMs - order.created_at.getTime() > lateAfterMs(usual.usual_most_s),
    refund_at: refund?.at.toISOString() ?? null,
    contact: contact ?? null,
  }
}

const selectUsual = (db: Queryable, account_id: string) =>
  db.one<{ deliveries: number; usual_s: number | null; usual_most_s: number | null }>(sql`
    select count(*) as deliveries,
           percentile_cont(0.5) within group (order by seconds) as usual_s,
           percentile_cont(0.95) within group (order by seconds) as usual_most_s
      from (select date_part('epoch', delivered_at - created_at) as seconds
              from (select created_at, delivered_at
                      from orders
                     where account_id = ${account_id}
                     order by id desc
                     limit ${LATEST}) latest
             where delivered_at is not null) o`)

/**
 * As the refund rule counts: from the payment, the opening of a restored store, or the return of workers after a break. An order that
 * was delivered in a time lost by a restore is left to an operator, and so is every order while the rule is held.
 */
const selectRefundAt = (db: Queryable, { account_id, order_id, created_at }: Waiting) =>
  db.maybeOne<{ at: Date }>(sql`
    select greatest(${created_at}::timestamptz, r.working_since, i.confirmed_at) + r.cancel_after as at
      from refund_rule r
     cross join database_identity i
     where r.held_at is null
       and r.cancel_after is not null
       and not exists (select from lost_links l
                        where l.order_id = ${order_id}
                          and l.account_id = ${account_id})`)
