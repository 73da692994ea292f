import { type Queryable, sql, type Tx } from '../platform/db.ts'
import { dropJob, finishJob, type Job, wakeJob } from '../platform/jobs.ts'
import type { OrderName } from './delivery.ts'
import type { OrderRow } from './queries.ts'

/** The queue of paid orders that wait for their links. */
export const FULFIL_QUEUE = 'fulfil'

export interface Backlog {
  /** Orders that are paid and not delivered. */
  readonly queue: number
  /** Whether a due job has not been taken by any worker for STUCK_S. */
  readonly isStuck: boolean
}

/** How long a due job may wait before /status reports "degraded". */
const STUCK_S = 60

export const readBacklog = (db: Queryable) =>
  db.one<Backlog>(sql`
    select (select count(*) from orders where status = 'paid') as queue,
           exists (select from jobs
                    where queue = ${FULFIL_QUEUE}
                      and run_at < (select clock_timestamp() - ${STUCK_S}::integer * interval '1 s')
                      and (leased_until is null or leased_until <= clock_timestamp())) as "isStuck"`)

export interface WaitingOrder extends Pick<OrderRow, 'account_id' | 'id' | 'total_cents' | 'created_at'> {
  /** Null: parked until new links arrive or an operator acts. */
  readonly next_at: Date | null
  readonly attempts: number
  readonly note: string | null
}

/** Orders without their links, oldest first, with the reason. */
export const listWaiting = (db: Queryable, limit: number) =>
  db.many<WaitingOrder>(sql`
    select o.account_id, o.id, o.total_cents, o.created_at, coalesce(j.attempts, 0) as attempts, j.note,
           nullif(j.run_at, 'infinity') as next_at
      from orders o
      left join jobs j on j.account_id = o.account_id and j.queue = ${FULFIL_QUEUE} and j.subject = o.id
     where o.status = 'paid'
     order by o.created_at, o.account_id, o.id
     limit ${limit}`)

/**
 * Recreates the jobs of orders for which a supplier may still deliver links: a worker of an earlier release deletes the job when
 * the order ends. Returns how many there were.
 */
export const restoreOwedJobs = (db: Queryable) =>
  db.run(sql`
    insert into jobs (account_id, queue, subject, run_at, created_at)
    select distinct r.account_id, ${FULFIL_QUEUE}, r.order_id, clock_timestamp(), clock_timestamp()
      from supplier_requests r
     where r.state = 'asked'
       and not exists (select from jobs j
                        where j.account_id = r.account_id
                          and j.queue = ${FULFIL_QUEUE}
                          and j.subject = r.order_id)
     order by r.account_id, r.order_id
        on conflict do nothing`)

/** Makes the order's job due now. */
export const retryOrder = (db: Queryable, account_id: string, order_id: string) =>
  wakeJob(db, account_id, FULFIL_QUEUE, order_id)

/**
 * New links came in for these items: wakes the orders that wait for them, including leased ones. It has to be the last statement
 * of its transaction, like every statement that locks jobs.
 */
export async function wakeOrdersOf(tx: Tx, item_ids: readonly string[]): Promise<void> {
  if (item_ids.length > 0) await changeJobs(tx, item_ids, undefined)
}

/**
 * The order has ended: deletes its job, even if leased, and wakes the orders that wait for these items of its lines. While a
 * supplier may still deliver links for the order, the job stays, is woken and collects them.
 */
export async function endOrderJob(
  tx: Tx,
  order: OrderName,
  item_ids: readonly string[],
  isOwed: boolean,
): Promise<void> {
  if (isOwed && item_ids.length === 0) await retryOrder(tx, order.account_id, order.order_id)
  else if (isOwed) await wakeOrdersOf(tx, item_ids)
  else if (item_ids.length === 0) await dropJob(tx, order.account_id, FULFIL_QUEUE, order.order_id)
  else await changeJobs(tx, item_ids, { account_id: order.account_id, subject: order.order_id })
}

/** The same for the worker that holds the job; everything is rolled back if its lease was lost. */
export async function finishOrderJob(tx: Tx, job: Job, item_ids: readonly string[]): Promise<void> {
  if (item_ids.length > 0 && (await changeJobs(tx, item_ids, job)) > 0) return
  await finishJob(tx, job)
}

/**
 * Wakes jobs and deletes one, in a single statement that locks all of them in the order used everywhere: two statements, or one
 * without an order, could deadlock with another transaction that does the same. Returns how many were deleted.
 */
async function changeJobs(
  tx: Tx,
  item_ids: readonly string[],
  removed: (Pick<Job, 'account_id' | 'subject'> & Partial<Pick<Job, 'attempts'>>) | undefined,
): Promise<number> {
  const { count } = await tx.one<{ count: number }>(sql`
    with wanted as (
      select j.account_id, j.subject
        from jobs j
       where j.queue = ${FULFIL_QUEUE}
         and exists (select from order_lines l
                      where l.account_id = j.account_id
                        and l.order_id = j.subject
                        and l.item_id = any(${item_ids}))
       union
      select ${removed?.account_id ?? null}::text, ${removed?.subject ?? null}::text
    ), held as materialized (
      select j.account_id, j.subject
        from jobs j
        join wanted w on w.account_id = j.account_id and w.subject = j.subject
       where j.queue = ${FULFIL_QUEUE}
       order by j.account_id, j.subject
         for update of j
    ), removed as (
      delete from jobs j
       using held h
       where j.queue = ${FULFIL_QUEUE}
         and j.account_id = h.account_id
         and j.subject = h.subject
         and j.account_id = ${removed?.account_id ?? null}
         and j.subject = ${removed?.subject ?? null}
         and j.attempts = coalesce(${removed?.attempts ?? null}, j.attempts)
      returning 1
    ), woken as (
      update jobs j
         set run_at = least(j.run_at, clock_timestamp()),
             is_woken = true
        from held h
       where j.queue = ${FULFIL_QUEUE}
         and j.account_id = h.account_id
         and j.subject = h.subject
         and (j.account_id, j.subject)
             is distinct from (${removed?.account_id ?? null}::text, ${removed?.subject ?? null}::text)
    )
    select count(*) as count from removed`)
  return count
}
