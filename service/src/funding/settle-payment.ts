import { getAccount } from '../accounts/account.ts'
import { lockMoney } from '../ledger/transfer.ts'
import type { Tx } from '../platform/database/db.ts'
import type { Notify } from '../platform/mail/notify.ts'
import { dollars } from '../platform/text/format.ts'
import type { ReadPayment, ReadReversal } from './provider.ts'
import { selectCreditReference, type TopUp, updateTopUp } from './queries.ts'
import { giveBack, takeBack } from './reversal.ts'
import { type Reversal, selectReversals, updateReversalStatus } from './reversal-queries.ts'
import { credit } from './top-up.ts'

const CURRENCY = 'usd'

/**
 * Updates a locked top-up to what its provider reports about one payment: credits it, takes back what was refunded or disputed, and
 * returns what the provider has again. The same answer twice changes nothing. Returns every difference that remains, for an
 * operator to decide.
 */
export async function settlePayment(
  tx: Tx,
  top_up: TopUp,
  read: ReadPayment,
  notify: Notify,
  nowMs: number,
): Promise<string[]> {
  const reference = paymentReference(top_up, read)
  const { state } = top_up
  if (state === 'review') return []
  if (state === 'rejected') return differences(read, `${top_up.id} was rejected`)
  if (state === 'credited') {
    const by = await selectCreditReference(tx, top_up)
    if (by?.reference !== reference)
      return differences(read, `${top_up.id} was credited by the payment "${by?.reference}"`)
    if (!read.isPaid || read.amount_cents !== top_up.credited_cents)
      return [
        `${top_up.id} was credited with ${dollars(top_up.credited_cents ?? 0)}; the provider says that ${read.isPaid ? dollars(read.amount_cents) : 'nothing'} was paid`,
      ]
    return settleReversals(tx, top_up, read, notify, nowMs)
  }
  if (!read.isPaid) return []
  if (read.amount_cents !== top_up.amount_cents || read.currency !== CURRENCY) {
    const note = `${read.amount_cents} ${read.currency} cents were paid, ${top_up.amount_cents} ${CURRENCY} cents were requested`
    const decided_at = new Date(nowMs)
    await updateTopUp(tx, top_up, { state: 'review', decided_at, provider_payment: read.payment, note })
    return []
  }
  const { payment, amount_cents } = read
  await credit(tx, top_up, { amount_cents, reference, payment }, notify, nowMs)
  return settleReversals(tx, top_up, read, notify, nowMs)
}

/** How the ledger names a payment of a provider. */
export const paymentReference = ({ provider }: Pick<TopUp, 'provider'>, { payment }: { payment: string }) =>
  `${provider}:${payment}`

/** A payment that credited nothing is a difference as long as the provider holds any of it. */
function differences({ payment, isPaid, amount_cents, reversals }: ReadPayment, why: string): string[] {
  const kept_cents = amount_cents - takenCents(reversals)
  return isPaid && kept_cents > 0
    ? [`${dollars(kept_cents)} paid as ${payment} are with the provider and were not credited: ${why}`]
    : []
}

export const takenCents = (reversals: readonly ReadReversal[]) =>
  reversals.reduce((all, { isTaken, amount_cents }) => (isTaken ? all + amount_cents : all), 0)

async function settleReversals(
  tx: Tx,
  top_up: TopUp,
  { payment, reversals }: ReadPayment,
  notify: Notify,
  nowMs: number,
): Promise<string[]> {
  await lockMoney(tx, top_up.account_id)
  const known = await selectReversals(tx, top_up.account_id, top_up.id)
  const found: string[] = known
    .filter(({ provider_reference }) => !reversals.some(({ reference }) => reference === provider_reference))
    .map(
      ({ kind, provider_reference }) =>
        `The provider no longer has the ${kind} ${provider_reference} of ${payment}`,
    )
  // What was returned comes first, because no more is taken than was credited.
  for (const read of reversals.toSorted((a, b) => Number(a.isTaken) - Number(b.isTaken))) {
    const booked = known.find(({ provider_reference }) => provider_reference === read.reference)
    found.push(...(await settleReversal(tx, top_up, read, booked, notify, nowMs)))
  }
  return found
}

async function settleReversal(
  tx: Tx,
  top_up: TopUp,
  read: ReadReversal,
  booked: Reversal | undefined,
  notify: Notify,
  nowMs: number,
): Promise<string[]> {
  const named = `The ${read.kind} ${read.reference} of ${dollars(read.amount_cents)}`
  if (read.isTaken && read.currency !== CURRENCY) return [`${named} was taken in ${read.currency}`]
  if (!booked) {
    if (!read.isTaken) return []
    const amount_cents = await takeBack(tx, top_up, read, notify, nowMs)
    return tooMuch(named, read.amount_cents - amount_cents)
  }
  if (read.isTaken && booked.returned_at !== null)
    return [`${named} was returned to the customer, and is "${read.status}" at the provider now`]
  if (read.isTaken && read.amount_cents !== booked.provider_cents)
    return [`${named} was booked with ${dollars(booked.provider_cents)} before`]
  if (!read.isTaken && booked.returned_at === null) {
    // Money credited to a closed account would stay unnoticed, and erasing the account would lose it.
    if ((await getAccount(tx, top_up.account_id)).closed_at !== null && booked.taken_cents > 0)
      return [
        `${named} is "${read.status}": ${dollars(booked.taken_cents)} belong to ${top_up.account_id}, which is closed`,
      ]
    await giveBack(tx, top_up, booked, read, notify, nowMs)
    return []
  }
  if (read.status !== booked.provider_status) await updateReversalStatus(tx, booked, read)
  return read.isTaken ? tooMuch(named, booked.provider_cents - booked.amount_cents) : []
}

const tooMuch = (named: string, cents: number) =>
  cents > 0 ? [`${named} is ${dollars(cents)} more than was left of the top-up; that much was not taken`] : []
