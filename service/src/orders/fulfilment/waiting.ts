import { type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import { dropJob, wakeJob } from '../../platform/jobs/jobs.ts'
import type { OrderRow } from '../queries.ts'
import type { OrderName } from './delivery.ts'
import { FULFIL_QUEUE } from './fulfil-queue.ts'
import { stopWaiting } from './waiting-lines.ts'

export interface WaitingOrder extends Pick<OrderRow, 'account_id' | 'id' | 'total_cents' | 'created_at'> {
  /** Null: parked until new links arrive or an operator acts. */
  readonly next_at: Date | null
  readonly attempts: number
  readonly note: string | null
}

/** Orders that lack links, oldest first, with the reason. */
export const listWaiting = (db: Queryable, limit: number) =>
  db.many<WaitingOrder>(sql`
    select o.account_id, o.id, o.total_cents, o.created_at, j.attempts, j.note,
           nullif(j.run_at, 'infinity') as next_at
      from paid_orders o
      join jobs j on j.account_id = o.account_id and j.queue = ${FULFIL_QUEUE} and j.subject = o.id
     order by o.id
     limit ${limit}`)

/** Makes the order's job due now. */
export const retryOrder = (db: Queryable, account_id: string, order_id: string) =>
  wakeJob(db, account_id, FULFIL_QUEUE, order_id)

/**
 * The order has ended: deletes its job, even if leased. While a supplier may still return links for the order, the job stays and is
 * woken to collect them. Must be the last statements of a transaction, because they lock jobs.
 */
export async function endOrderJob(tx: Tx, order: OrderName, isOwed: boolean): Promise<void> {
  await stopWaiting(tx, order)
  if (isOwed) await retryOrder(tx, order.account_id, order.order_id)
  else await dropJob(tx, FULFIL_QUEUE, order.order_id)
}
