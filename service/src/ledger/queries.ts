import { type Queryable, sql } from '../platform/database/db.ts'

export type TransferKind = 'funding' | 'adjustment' | 'order' | 'refund'

export interface Transfer {
  readonly account_id: string
  /** Its position in the account's statement, which identifies it. */
  readonly seq: number
  /** As people see it: `tr_` and the position. */
  readonly id: string
  readonly kind: TransferKind
  /** Above zero: the balance grew. */
  readonly change_cents: number
  readonly balance_after_cents: number
  readonly order_id: string | null
  readonly reference: string | null
  readonly note: string | null
  readonly created_at: Date
}

export const insertBalance = (tx: Queryable, account_id: string) =>
  tx.run(sql`
    insert into balances (account_id)
    values (${account_id})`)

export const selectBalance = (db: Queryable, account_id: string) =>
  db.maybeOne<{ balance_cents: number }>(sql`
    select balance_cents
      from balances
     where account_id = ${account_id}`)

export const selectBalances = (db: Queryable, account_ids: readonly string[]) =>
  db.many<{ account_id: string; balance_cents: number }>(sql`
    select account_id, balance_cents
      from balances
     where account_id = any(${account_ids})`)

export const selectClosedAt = (tx: Queryable, account_id: string) =>
  tx.one<{ closed_at: Date | null }>(sql`
    select closed_at
      from accounts
     where id = ${account_id}`)

/** Takes the lock that every change of the account's balance takes first. Null: there is no such account. */
export const lockBalance = (tx: Queryable, account_id: string) =>
  tx.one<{ balance_cents: number | null }>(sql`
    select lock_balance(${account_id}) as balance_cents`)

/** The position of a booking in the account's statement. */
export interface Booked {
  readonly seq: number
  readonly balance_after_cents: number
}

/** Money moves only in database functions that check what justifies it: functions/ledger. */
export const callRefundOrder = (
  tx: Queryable,
  refund: Pick<Transfer, 'account_id' | 'created_at'> & { readonly order_id: string },
) =>
  tx.one<Booked & { readonly amount_cents: number }>(sql`
    select seq, amount_cents, balance_after_cents
      from refund_order(${refund.account_id}, ${refund.order_id}, ${refund.created_at})`)

/** A movement that is booked once for each reference. */
export type Booking = Pick<Transfer, 'account_id' | 'change_cents' | 'note' | 'created_at'> & {
  readonly reference: string
}

/** `used_elsewhere`: nothing was booked, because the reference has credited another account. */
export type FundingVerdict = 'booked' | 'booked_again' | 'booked_before' | 'used_elsewhere'

export const callFundAccount = (tx: Queryable, booking: Booking, isAnotherPayment: boolean) =>
  tx.one<Booked & { verdict: FundingVerdict }>(sql`
    select verdict, seq, balance_after_cents
      from fund_account(${booking.account_id}, ${booking.change_cents}, ${booking.reference}, ${booking.note}, ${isAnotherPayment},
                        ${booking.created_at})`)

/** Undefined when the balance does not cover it. */
export async function callAdjustAccount(tx: Queryable, booking: Booking): Promise<Booked | undefined> {
  const { seq, balance_after_cents } = await tx.one<{
    seq: number | null
    balance_after_cents: number | null
  }>(sql`
    select seq, balance_after_cents
      from adjust_account(${booking.account_id}, ${booking.change_cents}, ${booking.reference}, ${booking.note},
                          ${booking.created_at})`)
  return seq === null || balance_after_cents === null ? undefined : { seq, balance_after_cents }
}

export const selectTransferByReference = (
  db: Queryable,
  account_id: string,
  kind: TransferKind,
  reference: string,
) =>
  db.maybeOne<Transfer>(sql`
    select account_id, seq, 'tr_' || seq as id, kind, change_cents, balance_after_cents, order_id, reference, note, created_at
      from transfers
     where account_id = ${account_id}
       and kind = ${kind}
       and reference = ${reference}`)

/** The transfer that used a reference, of whichever account. */
export const selectFundingByReference = (db: Queryable, reference: string) =>
  db.one<Pick<Transfer, 'account_id' | 'id' | 'change_cents' | 'created_at'>>(sql`
    select t.account_id, 'tr_' || t.seq as id, t.change_cents, t.created_at
      from funding_references f
      join transfers t on t.account_id = f.account_id and t.kind = 'funding' and t.reference = f.reference
     where f.reference = ${reference}`)

export const selectStatement = (db: Queryable, account_id: string, beforeSeq: number, limit: number) =>
  db.many<Transfer>(sql`
    select account_id, seq, 'tr_' || seq as id, kind, change_cents, balance_after_cents, order_id, reference, note, created_at
      from transfers
     where account_id = ${account_id}
       and seq < ${beforeSeq}
     order by seq desc
     limit ${limit}`)
