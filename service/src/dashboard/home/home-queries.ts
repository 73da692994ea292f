import { type Queryable, sql } from '../../platform/database/db.ts'
import { idFloor } from '../../platform/text/ids.ts'

/** Orders of one hour and status with about the same time to delivery. */
export interface OrderGroup {
  /** Since `todayMs`; null for orders before it. */
  readonly hour: number | null
  readonly status: 'paid' | 'delivered' | 'cancelled'
  /** See `secondsOfStep`; null when it is not delivered, or was made before `deliveryMs`. */
  readonly step: number | null
  readonly orders: number
  readonly total_cents: number
}

/** Times to delivery are counted in tenths of a second up to ten seconds, then in seconds. */
const TENTHS = 100
export const secondsOfStep = (step: number) => (step < TENTHS ? step / 10 : step - TENTHS + 10)

/**
 * Orders since two times, read once. Ids contain the time, so the primary key finds them. `date_part`, because `extract` computes
 * with numeric, which would take most of the time.
 */
export const selectRecentOrders = (
  db: Queryable,
  account_id: string,
  since: { readonly todayMs: number; readonly deliveryMs: number },
) =>
  db.many<OrderGroup>(sql`
    select case when created_at >= ${new Date(since.todayMs)}
             then floor(date_part('epoch', created_at - ${new Date(since.todayMs)}::timestamptz) / 3600)::integer
           end as hour,
           status,
           case
             when created_at < ${new Date(since.deliveryMs)} then null
             when delivered_at < created_at + interval '10 s' then floor(date_part('epoch', delivered_at - created_at) * 10)::integer
             else ${TENTHS}::integer + floor(date_part('epoch', delivered_at - created_at))::integer - 10
           end as step,
           count(*) as orders, sum(total_cents)::bigint as total_cents
      from orders
     where account_id = ${account_id}
       and id >= ${idFloor('ord', Math.min(since.todayMs, since.deliveryMs))}
     group by 1, 2, 3`)

export interface WebhookHour {
  readonly hour: number
  readonly events: number
  readonly accepted_first: number
  readonly accepted_later: number
  readonly retrying: number
  readonly failed: number
}

/** Events since a time, by hours since then, and their results at whichever endpoint they were for. */
export const selectWebhookHours = (db: Queryable, account_id: string, sinceMs: number) =>
  db.many<WebhookHour>(sql`
    select floor(date_part('epoch', created_at - ${new Date(sinceMs)}::timestamptz) / 3600)::integer as hour,
           count(*) filter (where state <> 'cancelled') as events,
           count(*) filter (where state = 'delivered' and attempts = 1 and round = 1) as accepted_first,
           count(*) filter (where state = 'delivered' and (attempts > 1 or round > 1)) as accepted_later,
           count(*) filter (where state = 'pending' and attempts > 0) as retrying,
           count(*) filter (where state = 'failed') as failed
      from deliveries
     where account_id = ${account_id}
       and event_id >= ${idFloor('evt', sinceMs)}
     group by 1`)

export interface Place {
  readonly created_at: Date
  readonly status: 'active' | 'suspended'
  readonly balance_cents: number
  readonly order_count: number
  readonly has_endpoint: boolean
}

export const selectPlace = (db: Queryable, account_id: string) =>
  db.maybeOne<Place>(sql`
    select a.created_at, a.status, b.balance_cents, b.order_count,
           exists (select from webhook_endpoints w
                    where w.account_id = a.id and w.ended_at is null) as has_endpoint
      from accounts a
      join balances b on b.account_id = a.id
     where a.id = ${account_id}`)

/** A delivered order among the first ones. */
export const selectFirstDelivered = (db: Queryable, account_id: string, lookedAt: number) =>
  db.maybeOne<{ delivered_at: Date }>(sql`
    select delivered_at
      from (select delivered_at
              from orders
             where account_id = ${account_id}
             order by id
             limit ${lookedAt}) o
     where delivered_at is not null
     limit 1`)
