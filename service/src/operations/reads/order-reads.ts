import { getAccount } from '../../accounts/account.ts'
import { readRefundRule } from '../../orders/fulfilment/refund-rule.ts'
import { listWaiting } from '../../orders/fulfilment/waiting.ts'
import { proveKey } from '../../orders/placing/prove-key.ts'
import { findOrder, readWholeOrder } from '../../orders/reading/find-order.ts'
import { type OrderFilter, selectOrdersBy } from '../../orders/reading/orders-by.ts'
import { listOrdersOfItem } from '../../orders/reading/orders-of-item.ts'
import type { Db } from '../../platform/database/db.ts'
import { selectDeadLetters } from '../../platform/jobs/jobs.ts'
import { findKey, readOrderEvidence } from '../order-evidence.ts'

/** Orders, and what became of them. */
export function orderReads(db: Db) {
  return {
    /** Newest first, of one account or of all. Without an account or a time it may read the whole table. */
    async listOrders(filter: OrderFilter, limit: number) {
      if (filter.account_id !== undefined) await getAccount(db, filter.account_id)
      return selectOrdersBy(db, filter, limit)
    },

    listOrdersOfItem: (item_id: string, filter: Parameters<typeof listOrdersOfItem>[2]) =>
      listOrdersOfItem(db, item_id, filter),

    async listWaiting(limit: number) {
      const [orders, refund_rule] = await Promise.all([listWaiting(db, limit), readRefundRule(db)])
      return { orders, refund_rule }
    },

    listDeadLetters: (limit: number) => selectDeadLetters(db, limit),

    showOrder: async (order_id: string) => readWholeOrder(db, await findOrder(db, order_id)),

    readOrderEvidence: async (order_id: string) => readOrderEvidence(db, await findOrder(db, order_id)),

    /** Without an account all accounts are searched, which reads whole tables: use a connection without the short statement timeout. */
    findKey: (named: string, account_id: string | undefined) => findKey(db, named, account_id),

    proveKey: (account_id: string, idempotency_key: string) => proveKey(db, account_id, idempotency_key),

    readRefundRule: () => readRefundRule(db),
  }
}
