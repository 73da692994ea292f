import type { Queryable, Tx } from '../platform/database/db.ts'
import { assertPlain } from '../platform/text/plain-text.ts'
import { assert, refuse } from '../platform/trouble.ts'
import {
  type Booked,
  type Booking,
  callAdjustAccount,
  callFundAccount,
  callRefundOrder,
  type FundingVerdict,
  insertBalance,
  lockBalance,
  selectBalance,
  selectClosedAt,
  selectFundingByReference,
  selectStatement,
  selectTransferByReference,
  type Transfer,
} from './queries.ts'

export type { Booked, Booking, FundingVerdict, Transfer } from './queries.ts'

export interface Recorded {
  readonly transfer: Transfer
  /** False when this reference had been recorded before: no money moved this time. */
  readonly isNew: boolean
  /** The balance now, after what was collected. */
  readonly balance_cents: number
  /** Deducted at once for what the account owed: `move_balance` does that with all incoming money. */
  readonly collected_cents: number
  /** Another account's transfer with this reference, when the operator confirmed that it is a different payment. */
  readonly alsoBookedAs?: { readonly account_id: string; readonly transfer_id: string }
}

export interface Funding {
  readonly amount_cents: number
  readonly reference: string
  readonly note?: string | undefined
  /** Books it although the reference has already credited another account. */
  readonly reference_used_elsewhere?: boolean | undefined
}

/** Limits the damage of a mistyped amount. */
export const TRANSFER_CENTS_MAX = 100_000_000_00
const REFERENCE_LENGTH_MAX = 200
const NOTE_LENGTH_MAX = 500

export const openBalance = insertBalance

export async function readBalance(db: Queryable, account_id: string): Promise<number> {
  const row = await selectBalance(db, account_id)
  assert(row, `account ${account_id} has a balance row`)
  return row.balance_cents
}

/** Newest first. `beforeSeq` continues a list: the smallest `seq` of the previous page. */
export function readStatement(
  db: Queryable,
  account_id: string,
  limit: number,
  beforeSeq = Number.MAX_SAFE_INTEGER,
) {
  return selectStatement(db, account_id, beforeSeq, limit)
}

/** Books a funding that has not been recorded yet, with what justifies it. The balance is locked. */
export type BookFunding = (booking: Booking) => Promise<Booked & { readonly verdict: FundingVerdict }>

/**
 * Books money that came in from outside. Idempotent by reference: a repeated command books nothing, and a payment that has
 * credited one account credits no other unless the operator says that these are two payments.
 */
export async function fund(
  tx: Tx,
  account_id: string,
  wanted: Funding,
  nowMs: number,
  book: BookFunding = (booking) => callFundAccount(tx, booking, wanted.reference_used_elsewhere ?? false),
): Promise<Recorded> {
  const { amount_cents, reference, note } = wanted
  assertAmount(amount_cents, 1)
  const move = { kind: 'funding', change_cents: amount_cents, reference, note } as const
  let verdict: FundingVerdict = 'booked_before'
  const recorded = await recordOnce(tx, account_id, move, nowMs, async (booking) => {
    await assertOpen(tx, account_id)
    const booked = await book(booking)
    verdict = booked.verdict
    if (verdict === 'used_elsewhere') throw await usedElsewhere(tx, reference)
    return booked
  })
  if ((verdict as FundingVerdict) !== 'booked_again') return recorded
  const other = await selectFundingByReference(tx, reference)
  return { ...recorded, alsoBookedAs: { account_id: other.account_id, transfer_id: other.id } }
}

async function usedElsewhere(tx: Tx, reference: string) {
  const other = await selectFundingByReference(tx, reference)
  return refuse(
    'idempotency_conflict',
    `The reference "${reference}" has credited another account: ${other.change_cents} cents to ${other.account_id} as ${other.id} ` +
      `on ${other.created_at.toISOString()}. Nothing was booked. Check the payment. If it is a different one with the same ` +
      'reference, repeat the command with --reference-used-elsewhere.',
  )
}

/** Under the lock of the balance, which closing an account takes too. */
async function assertOpen(tx: Tx, account_id: string): Promise<void> {
  const { closed_at } = await selectClosedAt(tx, account_id)
  if (closed_at)
    throw refuse(
      'conflict',
      `Account ${account_id} was closed on ${closed_at.toISOString().slice(0, 10)} and takes no money. Nothing was booked. Pay it back, ` +
        'or credit it to another account of the customer.',
    )
}

/** A correction by an operator, up or down; the balance never goes below zero. */
export function adjust(
  tx: Tx,
  account_id: string,
  wanted: { change_cents: number; reference: string; note: string },
  nowMs: number,
): Promise<Recorded> {
  const { change_cents, reference, note } = wanted
  assertAmount(Math.abs(change_cents), 1)
  const move = { kind: 'adjustment', change_cents, reference, note } as const
  return recordOnce(tx, account_id, move, nowMs, (booking) => callAdjustAccount(tx, booking))
}

/** Refunds a cancelled order in full. The balance must be locked; the schema allows one refund per order. */
export const refund = (tx: Tx, account_id: string, order_id: string, nowMs: number) =>
  callRefundOrder(tx, { account_id, order_id, created_at: new Date(nowMs) })

/** The first lock of every transaction that moves an account's money. */
export async function lockMoney(tx: Tx, account_id: string): Promise<void> {
  await lockedBalance(tx, account_id)
}

async function lockedBalance(tx: Tx, account_id: string): Promise<number> {
  const { balance_cents } = await lockBalance(tx, account_id)
  if (balance_cents === null) throw refuse('not_found', `There is no account ${account_id}.`)
  return balance_cents
}

async function recordOnce(
  tx: Tx,
  account_id: string,
  move: Pick<Transfer, 'kind' | 'change_cents'> & {
    reference: string
    note?: string | undefined
  },
  nowMs: number,
  book: (booking: Booking) => Promise<Booked | undefined>,
): Promise<Recorded> {
  assertPlain('A reference', move.reference, REFERENCE_LENGTH_MAX)
  if (move.note !== undefined) assertPlain('A note', move.note, NOTE_LENGTH_MAX)
  const balance_cents = await lockedBalance(tx, account_id)
  const earlier = await selectTransferByReference(tx, account_id, move.kind, move.reference)
  if (earlier) {
    if (earlier.change_cents === move.change_cents)
      return { transfer: earlier, isNew: false, balance_cents, collected_cents: 0 }
    throw refuse(
      'invalid_request',
      `The reference "${move.reference}" was recorded with another amount (${earlier.change_cents} cents). Use a new reference.`,
    )
  }
  const booking = {
    account_id,
    change_cents: move.change_cents,
    reference: move.reference,
    note: move.note ?? null,
    created_at: new Date(nowMs),
  }
  const booked = await book(booking)
  if (!booked) {
    throw refuse(
      'insufficient_funds',
      `The balance is ${balance_cents} cents; ${-move.change_cents} cannot be taken.`,
    )
  }
  const { seq, balance_after_cents } = booked
  const transfer = { ...move, ...booking, seq, id: `tr_${seq}`, balance_after_cents, order_id: null }
  const now_cents = await readBalance(tx, account_id)
  const collected_cents = balance_after_cents - now_cents
  return { transfer, isNew: true, balance_cents: now_cents, collected_cents }
}

function assertAmount(cents: number, min: number) {
  if (!Number.isSafeInteger(cents) || cents < min || cents > TRANSFER_CENTS_MAX) {
    throw refuse(
      'invalid_request',
      `The amount must be a whole number of cents from ${min} to ${TRANSFER_CENTS_MAX}.`,
    )
  }
}
