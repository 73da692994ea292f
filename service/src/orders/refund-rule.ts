import { type Db, type Queryable, sql, type Tx } from '../platform/db.ts'
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
export async function applyRefundRule(db: Db, vault: LinkVault, nowMs: number): Promise<number> {
  const overdue = await db.many<{ account_id: string; order_id: string }>(sql`
    select o.account_id, o.id as order_id
      from orders o, refund_rule r
     where o.status = 'paid'
       and o.created_at < clock_timestamp() - r.cancel_after
     order by o.created_at
     limit ${BATCH}`)
  let cancelled = 0
  for (const order of overdue) {
    const { isNew } = await db
      .transaction((tx) => cancelOrder(tx, vault, order, 'could not be delivered in time', nowMs))
      // Delivered between the two looks: good.
      .catch((error: Error) => {
        if (error.name === 'Refusal') return { isNew: false }
        throw error
      })
    if (isNew) cancelled += 1
  }
  return cancelled
}
