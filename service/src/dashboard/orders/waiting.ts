import type { OrderDetail } from '@shopwire/contract/dashboard'
import {
  lateAfterMs,
  USUAL_OF_LATEST,
  type Usual,
  usualIfEnough,
} from '../../orders/fulfilment/late-orders.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'

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
  const usual = usualIfEnough(await selectUsual(db, order.account_id))
  const refund = await selectRefundAt(db, order)
  return {
    ...usual,
    is_late: nowMs - order.created_at.getTime() > lateAfterMs(usual.usual_most_s),
    refund_at: refund?.at.toISOString() ?? null,
    contact: contact ?? null,
  }
}

const selectUsual = (db: Queryable, account_id: string) =>
  db.one<Usual & { deliveries: number }>(sql`
    select count(*) as deliveries,
           percentile_cont(0.5) within group (order by seconds) as usual_s,
           percentile_cont(0.95) within group (order by seconds) as usual_most_s
      from (select date_part('epoch', delivered_at - created_at) as seconds
              from (select created_at, delivered_at
                      from orders
                     where account_id = ${account_id}
                     order by id desc
                     limit ${USUAL_OF_LATEST}) latest
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
