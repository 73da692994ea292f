import { selectOpenTopUps } from '../../funding/queries.ts'
import { selectReconciliation } from '../../funding/reconcile-queries.ts'
import { selectReceivables } from '../../funding/reversal-queries.ts'
import { selectReviews } from '../../funding/review-queries.ts'
import type { Db } from '../../platform/database/db.ts'

/** Incoming money. */
export function moneyReads(db: Db) {
  return {
    /** Top-ups that wait for their money, and payments that wait for an operator. */
    async listTopUps(limit: number) {
      return { top_ups: await selectOpenTopUps(db, limit), reviews: await selectReviews(db, limit) }
    },

    readReconciliation: async () => (await selectReconciliation(db)) ?? null,

    listReceivables: (limit: number) => selectReceivables(db, limit),
  }
}
