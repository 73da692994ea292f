import { type Queryable, sql } from '../platform/db.ts'

export type TransferKind = 'funding' | 'adjustment' | 'order' | 'refund'
type Side = 'customer' | 'house:cash' | 'house:sales' | 'house:adjustments'

export interface Transfer {
  readonly account_id: string
  readonly seq: number
  readonly id: string
  readonly kind: TransferKind
  readonly debit: Side
  readonly credit: Side
  readonly amount_cents: number
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

export const selectClosedAt = (tx: Queryable, account_id: string) =>
  tx.one<{ closed_at: Date | null }>(sql`
    select closed_at
      from accounts
     where id = ${account_id}`)

/** Takes the lock that every change of the account's balance takes first. */
export const lockBalance = (tx: Queryable, account_id: string) =>
  tx.maybeOne<{ balance_cents: number }>(sql`
    select balance_cents
      from balances
     where account_id = ${account_id}
       for update`)

/** Changes the balance and writes the transfer in one statement; returns no row when the balance does not cover it. */
export const moveBalance = (tx: Queryable, move: Omit<Transfer, 'seq' | 'balance_after_cents'>) =>
  tx.maybeOne<Transfer>(sql`
    with moved as (
      update balances
         set balance_cents = balance_cents + ${move.credit === 'customer' ? move.amount_cents : -move.amount_cents}::bigint,
             transfer_count = transfer_count + 1
       where account_id = ${move.account_id}
         and balance_cents + ${move.credit === 'customer' ? move.amount_cents : -move.amount_cents}::bigint >= 0
      returning balance_cents, transfer_count
    )
    insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents,
                           order_id, reference, note, created_at)
    select ${move.account_id}, transfer_count, ${move.id}, ${move.kind}, ${move.debit}, ${move.credit},
           ${move.amount_cents}, balance_cents, ${move.order_id}, ${move.reference}, ${move.note}, ${move.created_at}
      from moved
    returning account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, order_id, reference, note,
              created_at`)

export const selectTransferByReference = (
  db: Queryable,
  account_id: string,
  kind: TransferKind,
  reference: string,
) =>
  db.maybeOne<Transfer>(sql`
    select account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, order_id, reference, note,
           created_at
      from transfers
     where account_id = ${account_id}
       and kind = ${kind}
       and reference = ${reference}`)

/** Reserves a reference for the account; changes no row when another account has it already. */
export const claimFundingReference = (tx: Queryable, reference: string, account_id: string) =>
  tx.run(sql`
    insert into funding_references (reference, account_id)
    values (${reference}, ${account_id})
        on conflict (reference) do nothing`)

/** The transfer that used a reference, of whichever account. */
export const selectFundingByReference = (db: Queryable, reference: string) =>
  db.one<Pick<Transfer, 'account_id' | 'id' | 'amount_cents' | 'created_at'>>(sql`
    select t.account_id, t.id, t.amount_cents, t.created_at
      from funding_references f
      join transfers t on t.account_id = f.account_id and t.kind = 'funding' and t.reference = f.reference
     where f.reference = ${reference}`)

export const selectStatement = (db: Queryable, account_id: string, beforeSeq: number, limit: number) =>
  db.many<Transfer>(sql`
    select account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, order_id, reference, note,
           created_at
      from transfers
     where account_id = ${account_id}
       and seq < ${beforeSeq}
     order by seq desc
     limit ${limit}`)
