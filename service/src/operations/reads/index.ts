import type { Db } from '../../platform/database/db.ts'
import { accountReads } from './account-reads.ts'
import { catalogueReads } from './catalogue-reads.ts'
import { moneyReads } from './money-reads.ts'
import { orderReads } from './order-reads.ts'
import { storeReads } from './store-reads.ts'
import { supplyReads } from './supply-reads.ts'
import { webhookReads } from './webhook-reads.ts'

export type OperatorReads = ReturnType<typeof createReads>

/**
 * Everything an operator may read. Nothing is changed and nothing secret is revealed, so no actor is named and nothing is audited.
 * A read that reveals a link is an action: `revealLinks` of the operator.
 */
export function createReads(db: Db) {
  return {
    ...accountReads(db),
    ...catalogueReads(db),
    ...moneyReads(db),
    ...orderReads(db),
    ...storeReads(db),
    ...supplyReads(db),
    ...webhookReads(db),
  }
}
