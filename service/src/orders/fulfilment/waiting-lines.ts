import { type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import type { OpenLine } from '../queries.ts'
import type { OrderName } from './delivery.ts'
import { FULFIL_QUEUE } from './fulfil-queue.ts'

/**
 * Registers lines that lack links: their order is woken when the item gets some. The supply of these items must be locked: then
 * links that were added before have been seen, and a transaction that adds links later finds these rows.
 */
export async function startWaiting(tx: Tx, { account_id, order_id }: OrderName, lines: readonly OpenLine[]) {
  if (lines.length === 0) return
  await tx.run(sql`
    insert into waiting_lines (account_id, order_id, line, item_id, missing)
    select ${account_id}, ${order_id}, line, item_id, missing
      from unnest(${lines.map(({ line }) => line)}::smallint[], ${lines.map(({ item_id }) => item_id)}::text[],
                  ${lines.map(({ missing }) => missing)}::integer[]) as l (line, item_id, missing)
        on conflict (order_id, line) do update
       set missing = excluded.missing`)
}

/** The order no longer waits for any of its lines. */
export const stopWaiting = (tx: Tx, { account_id, order_id }: OrderName) =>
  tx.run(sql`
    delete from waiting_lines
     where account_id = ${account_id}
       and order_id = ${order_id}`)

/**
 * Wakes orders that wait for an item, the oldest first: as many as this number of links can serve, at most `limit`. Returns how
 * many lines they have and how many links these lack. Jobs are locked in the usual order.
 */
export const wakeWaiting = (tx: Tx, item_id: string, links: number, limit: number) =>
  tx.one<{ lines: number; missing: number }>(sql`
    with oldest as materialized (
      select account_id, order_id, line, missing, sum(missing) over (order by order_id, account_id, line) as up_to
        from (select account_id, order_id, line, missing
                from waiting_lines
               where item_id = ${item_id}
               order by item_id, order_id, account_id, line
               limit ${limit}) w
    ), served as materialized (
      -- The last order may be served in part: it keeps the links it gets.
      delete from waiting_lines w
       using oldest o
       where w.account_id = o.account_id
         and w.order_id = o.order_id
         and w.line = o.line
         and o.up_to - o.missing < ${links}
      returning w.account_id, w.order_id, w.missing
    ), held as materialized (
      select j.account_id, j.subject
        from jobs j
        join (select distinct account_id, order_id from served) s on s.account_id = j.account_id and s.order_id = j.subject
       where j.queue = ${FULFIL_QUEUE}
       order by j.account_id, j.subject
         for update of j
    ), woken as (
      update jobs j
         set run_at = least(j.run_at, clock_timestamp()),
             is_woken = true,
             is_backlog = true
        from held h
       where j.queue = ${FULFIL_QUEUE}
         and j.account_id = h.account_id
         and j.subject = h.subject
    )
    select count(*) as lines, coalesce(sum(missing), 0)::integer as missing
      from served`)

/**
 * Makes orders of an item due that found its pool unreadable and would try again later: the error rolled their transaction back, so
 * they are not registered as waiting. One that a worker is running now runs once more afterwards. Jobs are locked in the usual
 * order.
 */
export const wakeRetrying = (tx: Tx, item_id: string) =>
  tx.run(sql`
    with held as materialized (
      select j.account_id, j.subject
        from jobs j
       where j.queue = ${FULFIL_QUEUE}
         and j.run_at < 'infinity'
         and (j.run_at > clock_timestamp() or j.leased_until > clock_timestamp())
         and exists (select
                       from order_lines l
                      where l.account_id = j.account_id
                        and l.order_id = j.subject
                        and l.item_id = ${item_id})
       order by j.account_id, j.subject
         for update of j
    )
    update jobs j
       set run_at = least(j.run_at, clock_timestamp()),
           is_woken = true,
           is_backlog = true
      from held h
     where j.queue = ${FULFIL_QUEUE}
       and j.account_id = h.account_id
       and j.subject = h.subject`)

/** How many backlog jobs still wait for a worker, up to a limit, and the time by the database's clock. */
export const readBacklogLane = (db: Queryable, limit: number) =>
  db.one<{ due: number; now: string }>(sql`
    -- As text: a Date has no microseconds, so rows marked in this millisecond would not count.
    select clock_timestamp()::text as now,
           (select count(*)
              from (select
                      from jobs
                     where queue = ${FULFIL_QUEUE}
                       and is_failing = false
                       and is_backlog = true
                       -- Skips the older index entries that a long-held snapshot keeps.
                       and run_at > (select clock_timestamp() - interval '1 minute')
                       and run_at <= (select clock_timestamp())
                       and (leased_until is null or leased_until <= clock_timestamp())
                     limit ${limit}) due) as due`)

/**
 * Items that have both links in their pool and orders waiting for them, but are not marked: after an exception, such as an order
 * that was woken for the links and failed. Skips from item to item along the index.
 */
export const selectOverlooked = (db: Queryable) =>
  db.many<{ item_id: string }>(sql`
    with recursive waited (item_id) as (
      (select item_id from waiting_lines order by item_id limit 1)
      union all
      select (select w.item_id
                from waiting_lines w
               where w.item_id > waited.item_id
               order by w.item_id
               limit 1)
        from waited
       where waited.item_id is not null
    )
    select w.item_id
      from waited w
      join item_supply s on s.item_id = w.item_id
     where s.source <> 'hand'
       and s.pool_left > 0
       and not exists (select from restocked_items r where r.item_id = w.item_id)`)
