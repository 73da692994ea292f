import { type Db, type Queryable, sql, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/trouble.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import { cancelOrder } from './finish.ts'

/** When an order that could not be delivered is given up and its money returned, without anybody's doing. */
export interface RefundRule {
  /** Null: never; an operator decides. */
  readonly cancel_after_ms: number | null
  readonly changed_at: Date
}

const BATCH = 50

export const readRefundRule = (db: Queryable) =>
  db.one<RefundRule>(sql`
    select (extract(epoch from cancel_after) * 1000)::bigint as cancel_after_ms, changed_at
      from refund_rule`)

export const setRefundRule = (tx: Tx, cancel_after_ms: number | null, changed_at: Date) =>
  tx.one<RefundRule>(sql`
    update refund_rule
       set cancel_after = ${cancel_after_ms}::bigint * interval '1 ms',
           changed_at = ${changed_at}
    returning (extract(epoch from cancel_after) * 1000)::bigint as cancel_after_ms, changed_at`)

/** Cancels what has waited for longer than the rule allows; answers with how many there were. */
export async function applyRefundRule(
  db: Db,
  vault: LinkVault,
  nowMs: number,
  onError: (order_id: string, error: unknown) => void,
): Promise<number> {
  let cancelled = 0
  let after = { created_at: new Date(0), order_id: '' }
  for (;;) {
    const overdue = await selectOverdue(db, after)
    for (const order of overdue) {
      try {
        const { isNew } = await db.transaction((tx) => cancelOrder(tx, vault, order, REASON, nowMs))
        if (isNew) cancelled += 1
      } catch (error) {
        // Delivered between the two looks is good news; anything else must not keep the money of those behind it.
        if (!(error instanceof Refusal)) onError(order.order_id, error)
      }
    }
    const last = overdue.at(-1)
    if (!last || overdue.length < BATCH) return cancelled
    after = last
  }
}

const REASON = 'could not be delivered in time'

const selectOverdue = (db: Db, after: { created_at: Date; order_id: string }) =>
  db.many<{ account_id: string; order_id: string; created_at: Date }>(sql`
    select account_id, id as order_id, created_at
      from orders
     where status = 'paid'
       and created_at < (select clock_timestamp() - cancel_after from refund_rule)
       and (created_at, id) > (${after.created_at}, ${after.order_id})
     order by created_at, id
     limit ${BATCH}`)
