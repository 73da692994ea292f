import { type Queryable, sql } from '../../platform/database/db.ts'
import { idFloor } from '../../platform/text/ids.ts'

export interface FailingEndpoint {
  readonly error: string
  readonly status: number | null
  readonly since: Date
  readonly waiting: number
  /** When the longest-waiting event was made. */
  readonly attempts: number | null
  readonly created_at: Date | null
  readonly next_at: Date | null
  readonly soonest_at: Date | null
}

/** The endpoint, when its last attempt failed; `since` is the first failure after the last success. */
export const selectFailingEndpoint = (db: Queryable, account_id: string) =>
  db.maybeOne<FailingEndpoint>(sql`
    select w.last_error as error, f.status, f.finished_at as since, p.waiting, p.soonest_at, o.attempts, o.created_at, o.next_at
      from webhook_endpoints w
     cross join lateral (select a.status, a.finished_at
                           from delivery_attempts a
                          where a.account_id = w.account_id
                            and a.endpoint_id = w.id
                            and a.finished_at > coalesce(w.last_delivered_at, '-infinity')
                            and a.error is not null
                          order by a.finished_at
                          limit 1) f
     cross join lateral (select count(*) as waiting, min(d.next_at) as soonest_at
                           from deliveries d
                          where d.account_id = w.account_id
                            and d.endpoint_id = w.id
                            and d.state = 'pending') p
      left join lateral (select d.attempts, d.created_at, d.next_at
                           from deliveries d
                          where d.account_id = w.account_id
                            and d.endpoint_id = w.id
                            and d.state = 'pending'
                            and d.attempts > 0
                          order by d.next_at, d.event_id
                          limit 1) o on true
     where w.account_id = ${account_id}
       and w.ended_at is null
       and w.last_failure_at > coalesce(w.last_delivered_at, '-infinity')`)

/** Events since a time that were given up and not accepted when they were sent again. */
export const selectGivenUp = (db: Queryable, account_id: string, sinceMs: number) =>
  db.one<{ events: number; last_at: Date | null }>(sql`
    select count(*) as events, max(d.done_at) as last_at
      from webhook_endpoints w
      join deliveries d on d.account_id = w.account_id and d.endpoint_id = w.id and d.state = 'failed'
     where w.account_id = ${account_id}
       and w.ended_at is null
       and d.event_id >= ${idFloor('evt', sinceMs)}`)

/** Paid orders made before a time: how many, and the oldest. */
export const selectLongWaiting = (db: Queryable, account_id: string, beforeMs: number) =>
  db.one<{ orders: number; oldest_id: string | null; since: Date | null }>(sql`
    select count(*) as orders, min(id) as oldest_id, min(created_at) as since
      from paid_orders
     where account_id = ${account_id}
       and id < ${idFloor('ord', beforeMs)}`)

export interface LeavingItem {
  readonly item_id: string
  readonly name: string
  readonly at: Date
  readonly percent: number
}

/** Items of the latest orders that soon leave the store, the next one first. */
export const selectLeavingItems = (
  db: Queryable,
  account_id: string,
  { sinceMs, latest, untilMs, limit }: { sinceMs: number; latest: number; untilMs: number; limit: number },
) =>
  db.many<LeavingItem>(sql`
    with recent as materialized (
      select id
        from orders
       where account_id = ${account_id}
         and id >= ${idFloor('ord', sinceMs)}
       order by id desc
       limit ${latest}
    ), bought as materialized (
      select l.item_id, count(*) as orders
        from recent r
       cross join lateral (select distinct item_id
                             from order_lines
                            where account_id = ${account_id}
                              and order_id = r.id) l
       group by l.item_id
    )
    select i.id as item_id, i.name, i.available_until as at,
           greatest(1, round(100.0 * b.orders / (select count(*) from recent)))::integer as percent
      from bought b
      join items i on i.id = b.item_id
     where i.is_for_sale
       and i.available_until > clock_timestamp()
       and i.available_until < ${new Date(untilMs)}
     order by i.available_until, i.id
     limit ${limit}`)
