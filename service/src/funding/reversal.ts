import { getAccount, setAccountStatus } from '../accounts/account.ts'
import { lockMoney, readBalance } from '../ledger/transfer.ts'
import { recordAction } from '../platform/database/audit.ts'
import type { Tx } from '../platform/database/db.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { dollars } from '../platform/text/format.ts'
import { newId } from '../platform/text/ids.ts'
import { assert, refuse } from '../platform/trouble.ts'
import { returnedLetter, reversedLetter } from './letters.ts'
import type { ReadReversal } from './provider.ts'
import type { TopUp } from './queries.ts'
import {
  callReturnReversal,
  callTakeBack,
  callWriteOff,
  type Reversal,
  selectOwed,
} from './reversal-queries.ts'

/** In the audit log, for automatic bookings. */
const ACTOR = 'worker:funding'

/**
 * Takes back what a provider took back by one refund or dispute, as far as the balance goes. The part that was already spent is
 * owed, and the account is suspended: a balance is never below zero. Returns how much was booked: less than was taken if more was
 * taken than credited.
 */
export async function takeBack(
  tx: Tx,
  top_up: TopUp,
  read: ReadReversal,
  notify: Notify,
  nowMs: number,
): Promise<number> {
  const { account_id } = top_up
  const reversal = { id: newId('rev', nowMs), created_at: new Date(nowMs) }
  const { amount_cents, taken_cents, owed_cents } = await callTakeBack(tx, top_up, reversal, read)
  assert(amount_cents !== null, `${read.reference} is booked once`)
  if (amount_cents === 0) return 0
  const account = await getAccount(tx, account_id)
  if (owed_cents > 0) {
    if (account.status !== 'suspended') await setAccountStatus(tx, account_id, 'suspended')
    const reason = `${dollars(owed_cents)} of a ${read.kind} of ${dollars(amount_cents)} are owed, ${reversal.id}`
    const entry = { actor: ACTOR, action: 'account.suspend', target: account_id }
    await recordAction(tx, { ...entry, account_id, details: { reason } })
  }
  const taken = { kind: read.kind, amount_cents, taken_cents, owed_cents, id: reversal.id }
  const letter = reversedLetter(account, top_up, taken, await readBalance(tx, account_id))
  await notify(tx, account_id, 'reversal', letter)
  return amount_cents
}

/** The refund failed or the dispute was won: the money it took is returned, and none of it is owed any more. */
export async function giveBack(
  tx: Tx,
  top_up: TopUp,
  booked: Reversal,
  { status }: ReadReversal,
  notify: Notify,
  nowMs: number,
): Promise<void> {
  const { returned_cents } = await callReturnReversal(tx, booked, { status, at: new Date(nowMs) })
  if (returned_cents === null) return
  const account = await getAccount(tx, top_up.account_id)
  const letter = returnedLetter(account, top_up, booked.kind, returned_cents)
  await notify(tx, top_up.account_id, 'reversal', letter)
}

/** An operator settles what is owed: it was paid in another way, or is given up. */
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
