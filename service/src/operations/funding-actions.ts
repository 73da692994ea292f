import type { Notify } from '../funding/notify.ts'
import { selectReceivables, selectTopUpNamed, type TopUp } from '../funding/queries.ts'
import { parseReference } from '../funding/reference.ts'
import { writeOff } from '../funding/reversal.ts'
import { type Credited, confirmTopUp, rejectTopUp } from '../funding/top-up.ts'
import type { Queryable } from '../platform/db.ts'
import { refuse } from '../platform/trouble.ts'
import type { Act } from './act.ts'

const RECEIVABLES_MAX = 1_000

/** What an operator does about top-ups and about what accounts owe. */
export function fundingActions(notify: Notify, act: Act) {
  return {
    /** `named` is the id of the top-up or its reference, as the customer wrote it in the transfer. */
    confirmTopUp: (named: string, arrived: { amount_cents: number; reference: string }): Promise<Credited> =>
      act('top_up.confirm', async (tx, nowMs) => {
        const which = await findTopUp(tx, named)
        const result = await confirmTopUp(tx, which, arrived, notify, nowMs)
        const { transfer_id, isNew, collected_cents } = result
        return {
          result,
          target: which.id,
          details: { account_id: which.account_id, ...arrived, transfer_id, isNew, collected_cents },
        }
      }),

    rejectTopUp: (named: string, reason: string): Promise<TopUp> =>
      act('top_up.reject', async (tx, nowMs) => {
        const which = await findTopUp(tx, named)
        const result = await rejectTopUp(tx, which, reason, nowMs)
        return { result, target: which.id, details: { account_id: which.account_id, reason } }
      }),

    writeOffReceivable: (id: string, reason: string) =>
      act('receivable.write_off', async (tx) => {
        const owed = (await selectReceivables(tx, RECEIVABLES_MAX)).find((row) => row.id === id)
        if (!owed) throw refuse('not_found', `Nothing is owed under ${id}. See "shopwire-admin topups owed".`)
        const { account_id } = owed
        const result = { account_id, ...(await writeOff(tx, owed)) }
        return { result, target: id, details: { ...result, reason } }
      }),
  }
}

async function findTopUp(tx: Queryable, named: string) {
  const found = await selectTopUpNamed(tx, named, parseReference(named) ?? null)
  if (found) return found
  throw refuse(
    'not_found',
    `There is no top-up ${named}. Give its id, or the reference that the customer was told to use; "shopwire-admin topups list" has both.`,
  )
}
