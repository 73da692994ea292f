import { getAccount, setAccountStatus } from '../accounts/account.ts'
import { adjust, lockMoney, readBalance } from '../ledger/transfer.ts'
import { recordAction } from '../platform/audit.ts'
import type { Tx } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'
import { refuse } from '../platform/trouble.ts'
import { reversedLetter, wonLetter } from './letters.ts'
import { dollars, type Notify } from './notify.ts'
import {
  insertReversal,
  lockOwed,
  type Reversal,
  selectReversals,
  type TopUp,
  updateReversal,
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
  // Every change of a reversal happens under the lock of the balance.
  await lockMoney(tx, account_id)
  const earlier = await selectReversals(tx, account_id, top_up.id)
  const sum = (rows: readonly Reversal[]) => rows.reduce((all, row) => all + row.amount_cents, 0)
  const ofThis = earlier.filter((row) => row.provider_reference.split('/')[0] === provider_reference)
  // Never more than was credited, whatever is reported.
  const left = (top_up.credited_cents ?? 0) - sum(earlier.filter((row) => row.returned_at === null))
  const amount = Math.min(amount_cents - sum(ofThis), left)
  if (amount <= 0) return { amount_cents: 0, owed_cents: 0 }
  const id = newId('rev', nowMs)
  const taken_cents = Math.min(amount, await readBalance(tx, account_id))
  const owed_cents = amount - taken_cents
  if (taken_cents > 0) {
    await adjust(
      tx,
      account_id,
      {
        change_cents: -taken_cents,
        reference: `${provider_reference}:${amount_cents}`,
        note: `${kind === 'refund' ? 'Refunded to the card' : 'Disputed card payment'}, ${id}`,
      },
      nowMs,
    )
  }
  const reversal = {
    account_id,
    id,
    top_up_id: top_up.id,
    kind,
    // Refunds of one charge add up; each step is a row of its own.
    provider_reference: kind === 'refund' ? `${provider_reference}/${amount_cents}` : provider_reference,
    amount_cents: amount,
    taken_cents,
    owed_cents,
    created_at: new Date(nowMs),
  }
  await insertReversal(tx, reversal)
  const account = await getAccount(tx, account_id)
  if (owed_cents > 0) {
    if (account.status !== 'suspended') await setAccountStatus(tx, account_id, 'suspended')
    const reason = `${dollars(owed_cents)} of a ${kind} of ${dollars(amount)} are owed, ${id}`
    await recordAction(
      tx,
      { actor: ACTOR, action: 'account.suspend', target: account_id, account_id, details: { reason } },
      nowMs,
    )
  }
  await notify.treasurers(
    tx,
    account_id,
    reversedLetter(account, top_up, reversal, await readBalance(tx, account_id)),
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
  await lockMoney(tx, account_id)
  const reversals = await selectReversals(tx, account_id, top_up.id)
  const reversal = reversals.find((row) => row.kind === 'dispute' && row.provider_reference === dispute)
  if (!reversal) return undefined
  if (reversal.returned_at !== null) return { returned_cents: 0 }
  const { taken_cents: returned_cents, amount_cents } = reversal
  if (returned_cents > 0) {
    const note = `Dispute won, ${reversal.id}`
    await adjust(tx, account_id, { change_cents: returned_cents, reference: `${dispute}:won`, note }, nowMs)
  }
  await updateReversal(tx, reversal, {
    taken_cents: returned_cents,
    owed_cents: 0,
    written_off_cents: amount_cents - returned_cents,
    returned_at: new Date(nowMs),
  })
  await notify.treasurers(tx, account_id, wonLetter(await getAccount(tx, account_id), top_up, returned_cents))
  return { returned_cents }
}

/** An operator no longer expects what is owed: it was paid in another way, or is given up. */
export async function writeOff(
  tx: Tx,
  { account_id, id }: Pick<Reversal, 'account_id' | 'id'>,
): Promise<{ readonly written_off_cents: number; readonly still_owed_cents: number }> {
  await lockMoney(tx, account_id)
  const owed = await lockOwed(tx, account_id)
  const reversal = owed.find((row) => row.id === id)
  if (!reversal) throw refuse('not_found', `Nothing is owed under ${id}.`)
  await updateReversal(tx, reversal, {
    ...reversal,
    owed_cents: 0,
    written_off_cents: reversal.written_off_cents + reversal.owed_cents,
  })
  return {
    written_off_cents: reversal.owed_cents,
    still_owed_cents: owed.reduce((all, row) => all + row.owed_cents, 0) - reversal.owed_cents,
  }
}
