import { type Queryable, sql } from '../platform/db.ts'
import { idFloor } from '../platform/ids.ts'

export interface TodayRow {
  readonly hour: number
  readonly status: 'paid' | 'delivered' | 'cancelled'
  readonly orders: number
  readonly total_cents: number
}

/** Orders since a time, by hours since then and by status. The ids contain the time, so the primary key finds them. */
export const selectToday = (db: Queryable, account_id: string, sinceMs: number) =>
  db.many<TodayRow>(sql`
    select floor(extract(epoch from created_at - ${new Date(sinceMs)}::timestamptz) / 3600)::integer as hour, status,
           count(*) as orders, sum(total_cents)::bigint as total_cents
      from orders
     where account_id = ${account_id}
       and id >= ${idFloor('ord', sinceMs)}
     group by 1, 2`)

export interface DeliveryTimes {
  readonly orders: number
  readonly median_s: number | null
  readonly p95_s: number | null
  readonly step_s: number | null
  readonly buckets: readonly { readonly bucket: number; readonly orders: number }[]
}

/**
 * How long orders since a time took to be delivered. The histogram ends a little after the time within which 95 of 100 were
 * delivered; its last step holds all that took longer.
 */
export const selectDeliveryTimes = (db: Queryable, account_id: string, sinceMs: number, steps: number) =>
  db.one<DeliveryTimes>(sql`
    with taken as materialized (
      select extract(epoch from delivered_at - created_at)::float8 as s
        from orders
       where account_id = ${account_id}
         and id >= ${idFloor('ord', sinceMs)}
         and status = 'delivered'
    ), spread as materialized (
      select count(*) as orders, percentile_cont(0.5) within group (order by s) as median_s,
             percentile_cont(0.95) within group (order by s) as p95_s
        from taken
    ), steps as materialized (
      select greatest(p95_s * 1.25, 1) / ${steps}::integer as step_s
        from spread
    )
    select orders, median_s, p95_s, step_s,
           coalesce((select json_agg(json_build_object('bucket', b.bucket, 'orders', b.orders))
                       from (select least(floor(t.s / p.step_s)::integer, ${steps}::integer - 1) as bucket, count(*) as orders
                               from taken t, steps p
                              group by 1) b), '[]') as buckets
      from spread, steps`)

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
