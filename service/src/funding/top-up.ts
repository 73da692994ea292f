import { getAccount } from '../accounts/account.ts'
import { type Booking, fund, readBalance } from '../ledger/transfer.ts'
import type { Tx } from '../platform/database/db.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { dollars } from '../platform/text/format.ts'
import { refuse } from '../platform/trouble.ts'
import { creditedLetter } from './letters.ts'
import {
  callConfirmTopUp,
  callCreditPaidTopUp,
  lockTopUp,
  selectCreditReference,
  selectTopUpOfTransfer,
  type TopUp,
  updateTopUp,
} from './queries.ts'
import { printReference } from './reference.ts'

export interface Arrived {
  readonly amount_cents: number
  /** The name of the payment at the bank or the provider: it is booked once, however often and by whomever it is reported. */
  readonly reference: string
  /** The provider's name for it. Without one, an operator reports that the money came. */
  readonly payment?: string
}

export interface Credited {
  readonly top_up: TopUp
  readonly credited_cents: number
  readonly transfer_id: string
  readonly balance_cents: number
  /** Taken from it at once for what the account owed. */
  readonly collected_cents: number
  /** False when it had been credited before: no money moved this time. */
  readonly isNew: boolean
}

/** Credits a locked top-up. What the account owes is deducted in the same transaction, as from all incoming money. */
export async function credit(
  tx: Tx,
  top_up: TopUp,
  { amount_cents, reference, payment }: Arrived,
  notify: Notify,
  nowMs: number,
): Promise<Credited> {
  const { account_id } = top_up
  const note = `${top_up.provider === 'bank' ? 'Bank transfer' : 'Card payment'} ${printReference(top_up.reference)}`
  const book = (booking: Booking) =>
    payment === undefined
      ? callConfirmTopUp(tx, top_up, booking)
      : callCreditPaidTopUp(tx, top_up, payment, booking)
  const recorded = await fund(tx, account_id, { amount_cents, reference, note }, nowMs, book)
  const { transfer, isNew, balance_cents, collected_cents } = recorded
  if (!isNew) {
    // Booked by hand before: this top-up gets that transfer, unless another one has it.
    const other = await selectTopUpOfTransfer(tx, account_id, transfer.seq)
    if (other) {
      throw refuse(
        'conflict',
        `The payment "${reference}" was credited for ${other.id} before. Nothing was booked. Check which top-up it belongs to.`,
      )
    }
    await book({ ...transfer, reference, created_at: new Date(nowMs) })
  }
  const letter = creditedLetter(await getAccount(tx, account_id), top_up, amount_cents, balance_cents)
  await notify(tx, account_id, 'top_up', letter)
  return {
    top_up,
    credited_cents: amount_cents,
    transfer_id: transfer.id,
    balance_cents,
    collected_cents,
    isNew: true,
  }
}

/** States in which an operator may still report that the money came. */
const CONFIRMABLE: readonly TopUp['state'][] = ['pending', 'review', 'expired', 'failed']

/** An operator has seen the money. Repeating the call with the same values credits nothing and returns what was booked. */
export async function confirmTopUp(
  tx: Tx,
  { account_id, id }: Pick<TopUp, 'account_id' | 'id'>,
  arrived: Arrived,
  notify: Notify,
  nowMs: number,
): Promise<Credited> {
  const top_up = await lockTopUp(tx, account_id, id)
  if (!top_up) throw refuse('not_found', `There is no top-up ${id}.`)
  if (top_up.state === 'credited' && top_up.credited_seq !== null) {
    const by = await selectCreditReference(tx, top_up)
    if (top_up.credited_cents !== arrived.amount_cents || by?.reference !== arrived.reference) {
      throw refuse(
        'conflict',
        `${id} was credited by "${by?.reference}" with ${dollars(top_up.credited_cents ?? 0)} as tr_${top_up.credited_seq} before. ` +
          'Nothing was booked. If a second payment came, book it with "shopwire-admin accounts fund".',
      )
    }
    return {
      top_up,
      credited_cents: arrived.amount_cents,
      transfer_id: `tr_${top_up.credited_seq}`,
      balance_cents: await readBalance(tx, account_id),
      collected_cents: 0,
      isNew: false,
    }
  }
  if (!CONFIRMABLE.includes(top_up.state)) {
    throw refuse(
      'conflict',
      `${id} is ${top_up.state}, so nothing was booked. If its money came after all, book it with "shopwire-admin accounts fund".`,
    )
  }
  return credit(tx, top_up, arrived, notify, nowMs)
}

/** Nothing will be credited for it. */
export async function rejectTopUp(
  tx: Tx,
  { account_id, id }: Pick<TopUp, 'account_id' | 'id'>,
  reason: string,
  nowMs: number,
): Promise<TopUp> {
  const top_up = await lockTopUp(tx, account_id, id)
  if (!top_up) throw refuse('not_found', `There is no top-up ${id}.`)
  if (top_up.state !== 'pending' && top_up.state !== 'review') {
    throw refuse('conflict', `${id} is ${top_up.state} and stays so; only an open top-up can be rejected.`)
  }
  await updateTopUp(tx, top_up, { state: 'rejected', decided_at: new Date(nowMs), note: reason })
  return { ...top_up, state: 'rejected', note: reason }
}
