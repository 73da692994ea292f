import { type Queryable, sql } from '../platform/db.ts'
import { idFloor } from '../platform/ids.ts'

/** A group of orders: those of one hour since `since` and one status, or those that took so long to be delivered. */
export interface OrderGroup {
  readonly hour: number | null
  readonly status: 'paid' | 'delivered' | 'cancelled' | null
  /** See `secondsOfStep`. */
  readonly step: number | null
  readonly orders: number
  readonly total_cents: number
}

/** Times to delivery are counted in tenths of a second up to a minute, then in seconds. */
const STEPS_IN_FIRST_MINUTE = 600
export const secondsOfStep = (step: number) =>
  step < STEPS_IN_FIRST_MINUTE ? step / 10 : step - STEPS_IN_FIRST_MINUTE + 60

/**
 * Orders since two times, read once: by hour and status since the first, by time to delivery since the second. Ids contain the time,
 * so the primary key finds them.
 */
export const selectRecentOrders = (
  db: Queryable,
  account_id: string,
  since: { readonly todayMs: number; readonly deliveryMs: number },
) =>
  db.many<OrderGroup>(sql`
    select hour, status, step, count(*) as orders, sum(total_cents)::bigint as total_cents
      from (select total_cents, case when is_today then status end as status,
                   case when is_today then floor(extract(epoch from created_at - ${new Date(since.todayMs)}::timestamptz) / 3600)::integer
                   end as hour,
                   case when is_timed then least(floor(s * 10), ${STEPS_IN_FIRST_MINUTE} + floor(greatest(s - 60, 0)))::integer end as step
              from (select total_cents, status, created_at, created_at >= ${new Date(since.todayMs)} as is_today,
                           status = 'delivered' and created_at >= ${new Date(since.deliveryMs)} as is_timed,
                           extract(epoch from delivered_at - created_at)::float8 as s
                      from orders
                     where account_id = ${account_id}
                       and id >= ${idFloor('ord', Math.min(since.todayMs, since.deliveryMs))}) o) o
     group by grouping sets ((hour, status), (step))`)

export interface WebhookHour {
  readonly hour: number
  readonly events: number
  readonly accepted_first: number
  readonly accepted_later: number
  readonly retrying: number
  readonly failed: number
}

/** Events since a time, by hours since then, and what became of them at whichever endpoint they were for. */
export const selectWebhookHours = (db: Queryable, account_id: string, sinceMs: number) =>
  db.many<WebhookHour>(sql`
    select floor(extract(epoch from created_at - ${new Date(sinceMs)}::timestamptz) / 3600)::integer as hour,
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
  readonly status: 'active' | 'suspended'
  readonly balance_cents: number
  readonly order_count: number
  readonly has_endpoint: boolean
}

export const selectPlace = (db: Queryable, account_id: string) =>
  db.maybeOne<Place>(sql`
    select a.status, b.balance_cents, b.order_count,
           exists (select from webhook_endpoints w
                    where w.account_id = a.id and w.ended_at is null) as has_endpoint
      from accounts a
      join balances b on b.account_id = a.id
     where a.id = ${account_id}`)

/** An order that was delivered among the first ones. */
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
