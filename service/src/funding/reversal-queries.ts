import { type Queryable, sql } from '../platform/database/db.ts'
import type { ReadReversal } from './provider.ts'
import type { TopUp } from './queries.ts'

export interface Reversal {
  readonly account_id: string
  readonly id: string
  readonly top_up_id: string
  readonly kind: 'refund' | 'dispute'
  readonly provider_reference: string
  readonly provider_status: string
  /** The amount that the provider took; `amount_cents` is less when that exceeds the credit. */
  readonly provider_cents: number
  readonly amount_cents: number
  readonly taken_cents: number
  readonly owed_cents: number
  readonly written_off_cents: number
  readonly returned_at: Date | null
  readonly created_at: Date
}

export const selectReversals = (db: Queryable, account_id: string, top_up_id: string) =>
  db.many<Reversal>(sql`
    select account_id, id, top_up_id, kind, provider_reference, provider_status, provider_cents, amount_cents, taken_cents,
           owed_cents, written_off_cents, returned_at, created_at
      from top_up_reversals
     where account_id = ${account_id}
       and top_up_id = ${top_up_id}
     order by id`)

/** Books what a provider took back, and returns what was booked of it; nulls: it was booked before. */
export const callTakeBack = (
  tx: Queryable,
  { account_id, id: top_up_id }: TopUp,
  reversal: Pick<Reversal, 'id' | 'created_at'>,
  { kind, reference, status, isSettled, amount_cents }: ReadReversal,
) =>
  tx.one<{ amount_cents: number | null; taken_cents: number; owed_cents: number }>(sql`
    select amount_cents, taken_cents, owed_cents
      from take_back_top_up(${account_id}, ${top_up_id}, ${reversal.id}, ${kind}, ${reference}, ${status}, ${isSettled},
                            ${amount_cents}, ${reversal.created_at})`)

/** The provider has the money again. Null: it was returned before. */
export const callReturnReversal = (
  tx: Queryable,
  { account_id, id }: Reversal,
  returned: { readonly status: string; readonly at: Date },
) =>
  tx.one<{ returned_cents: number | null }>(sql`
    select returned_cents
      from return_reversal(${account_id}, ${id}, ${returned.status}, ${returned.at})`)

export const updateReversalStatus = (tx: Queryable, { account_id, id }: Reversal, read: ReadReversal) =>
  tx.run(sql`
    update top_up_reversals
       set provider_status = ${read.status},
           is_settled = ${read.isSettled}
     where account_id = ${account_id}
       and id = ${id}`)

/** What an account owes, oldest first. It changes only under the lock of the balance. */
export const selectOwed = (tx: Queryable, account_id: string) =>
  tx.many<Reversal>(sql`
    select account_id, id, top_up_id, kind, provider_reference, provider_status, provider_cents, amount_cents, taken_cents,
           owed_cents, written_off_cents, returned_at, created_at
      from top_up_reversals
     where account_id = ${account_id}
       and owed_cents > 0
     order by id`)

export const callWriteOff = (tx: Queryable, { account_id, id }: Reversal) =>
  tx.one<{ written_off_cents: number }>(sql`
    select write_off_owed(${account_id}, ${id}) as written_off_cents`)

export const selectReceivables = (db: Queryable, limit: number) =>
  db.many<Reversal>(sql`
    select account_id, id, top_up_id, kind, provider_reference, provider_status, provider_cents, amount_cents, taken_cents,
           owed_cents, written_off_cents, returned_at, created_at
      from top_up_reversals
     where owed_cents > 0
     order by created_at
     limit ${limit}`)

export const sumOwed = (db: Queryable, account_id: string) =>
  db.one<{ owed_cents: number }>(sql`
    select coalesce(sum(owed_cents), 0)::bigint as owed_cents
      from top_up_reversals
     where account_id = ${account_id}
       and owed_cents > 0`)
