import { getAccount, setAccountStatus } from '../accounts/account.ts'
import { lockMoney, readBalance } from '../ledger/transfer.ts'
import { recordAction } from '../platform/audit.ts'
import type { Tx } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'
import { refuse } from '../platform/trouble.ts'
import { reversedLetter, wonLetter } from './letters.ts'
import { dollars, type Notify } from './notify.ts'
import {
  callReturnDispute,
  callTakeBack,
  callWriteOff,
  type Reversal,
  selectOwed,
  type TopUp,
} from './queries.ts'

/** In the audit log, for what happens without a person. */
const ACTOR = 'worker:funding'

export interface TakenBack {
  readonly kind: 'refund' | 'dispute'
  /** For a refund all that was refunded so far; for a dispute what it is about. */
  readonly amount_cents: number
  /** The charge or the dispute. */
  readonly provider_reference: string
}

/**
 * Takes back what a provider took back, as far as the balance goes. What was spent already is owed, and the account is suspended: a
 * balance is never below zero. The same report twice changes nothing. Returns what was new of it.
 */
export async function takeBack(
  tx: Tx,
  top_up: TopUp,
  { kind, amount_cents, provider_reference }: TakenBack,
  notify: Notify,
  nowMs: number,
): Promise<{ readonly amount_cents: number; readonly owed_cents: number }> {
  const { account_id } = top_up
  const created_at = new Date(nowMs)
  const reversal = { id: newId('rev', nowMs), kind, provider_reference, created_at }
  const taken = await callTakeBack(tx, top_up, { ...reversal, reported_cents: amount_cents })
  const { amount_cents: amount, owed_cents } = taken
  if (amount === 0) return { amount_cents: 0, owed_cents: 0 }
  const account = await getAccount(tx, account_id)
  if (owed_cents > 0) {
    if (account.status !== 'suspended') await setAccountStatus(tx, account_id, 'suspended')
    const reason = `${dollars(owed_cents)} of a ${kind} of ${dollars(amount)} are owed, ${reversal.id}`
    const entry = { actor: ACTOR, action: 'account.suspend', target: account_id }
    await recordAction(tx, { ...entry, account_id, details: { reason } })
  }
  await notify.treasurers(
    tx,
    account_id,
    reversedLetter(account, top_up, { ...reversal, ...taken }, await readBalance(tx, account_id)),
  )
  return { amount_cents: amount, owed_cents }
}

/** A dispute was decided for us: what it took is returned and nothing of it is owed. Undefined: this dispute has not been seen yet. */
export async function giveBack(
  tx: Tx,
  top_up: TopUp,
  dispute: string,
  notify: Notify,
  nowMs: number,
): Promise<{ readonly returned_cents: number } | undefined> {
  const { account_id } = top_up
  const won = { dispute, at: new Date(nowMs) }
  const { returned_cents, is_new } = await callReturnDispute(tx, top_up, won)
  if (returned_cents === null) return undefined
  if (!is_new) return { returned_cents: 0 }
  await notify.treasurers(tx, account_id, wonLetter(await getAccount(tx, account_id), top_up, returned_cents))
  return { returned_cents }
}

/** An operator no longer expects what is owed: it was paid in another way, or is given up. */
export async function writeOff(
  tx: Tx,
  { account_id, id }: Pick<Reversal, 'account_id' | 'id'>,
): Promise<{ readonly written_off_cents: number; readonly still_owed_cents: number }> {
  await lockMoney(tx, account_id)
  const owed = await selectOwed(tx, account_id)
  const reversal = owed.find((row) => row.id === id)
  if (!reversal) throw refuse('not_found', `Nothing is owed under ${id}.`)
  const { written_off_cents } = await callWriteOff(tx, reversal)
  return {
    written_off_cents,
    still_owed_cents: owed.reduce((all, row) => all + row.owed_cents, 0) - written_off_cents,
  }
}
