import { type Queryable, sql } from '../platform/db.ts'
import { wakeJob } from '../platform/jobs.ts'
import type { OrderRow } from './queries.ts'

/** Orders that are paid and wait for their links: how many, why, and how to get them moving. */
export const FULFIL_QUEUE = 'fulfil'

export interface Backlog {
  /** Orders that are paid and not delivered. */
  readonly queue: number
  /** Work that is due and that nobody takes up. */
  readonly isStuck: boolean
}

/** How long work may lie there before we call ourselves degraded. */
const STUCK_S = 60

export const readBacklog = (db: Queryable) =>
  db.one<Backlog>(sql`
    select (select count(*) from orders where status = 'paid') as queue,
           exists (select from jobs
                    where queue = ${FULFIL_QUEUE}
                      and run_at < (select clock_timestamp() - ${STUCK_S}::integer * interval '1 s')
                      and (leased_until is null or leased_until <= clock_timestamp())) as "isStuck"`)

export interface WaitingOrder extends Pick<OrderRow, 'account_id' | 'id' | 'total_cents' | 'created_at'> {
  /** Null: parked until somebody does something. */
  readonly next_at: Date | null
  readonly attempts: number
  readonly note: string | null
}

/** Orders without their links, oldest first, and why. */
export const listWaiting = (db: Queryable, limit: number) =>
  db.many<WaitingOrder>(sql`
    select o.account_id, o.id, o.total_cents, o.created_at, coalesce(j.attempts, 0) as attempts, j.note,
           nullif(j.run_at, 'infinity') as next_at
      from orders o
      left join jobs j on j.account_id = o.account_id and j.queue = ${FULFIL_QUEUE} and j.subject = o.id
     where o.status = 'paid'
     order by o.created_at, o.account_id, o.id
     limit ${limit}`)

/** Tries an order again now. */
export const retryOrder = (db: Queryable, account_id: string, order_id: string) =>
  wakeJob(db, account_id, FULFIL_QUEUE, order_id)

/** Something came in for an item: the orders that wait for it are to be looked at, also those a worker has in hand. */
export const wakeOrdersOf = (db: Queryable, item_id: string) =>
  db.run(sql`
    update jobs j
       set run_at = least(j.run_at, clock_timestamp()),
           is_woken = true
     where j.queue = ${FULFIL_QUEUE}
       and exists (select from order_lines l
                    where l.account_id = j.account_id
                      and l.order_id = j.subject
                      and l.item_id = ${item_id})`)
