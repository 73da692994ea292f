import type { Booked, Booking, FundingVerdict } from '../ledger/transfer.ts'
import { type Queryable, sql } from '../platform/database/db.ts'

export type TopUpState = 'pending' | 'credited' | 'review' | 'failed' | 'expired' | 'rejected'

export type ProviderName = 'bank' | 'stripe'

export interface TopUp {
  readonly account_id: string
  readonly id: string
  readonly provider: ProviderName
  readonly amount_cents: number
  readonly state: TopUpState
  readonly reference: string
  readonly provider_session: string | null
  readonly provider_payment: string | null
  readonly created_by: string
  readonly created_by_name: string
  readonly created_at: Date
  readonly decided_at: Date | null
  readonly credited_cents: number | null
  readonly credited_seq: number | null
  readonly note: string | null
  readonly answers: number
}

export interface NewTopUp
  extends Pick<
    TopUp,
    'account_id' | 'id' | 'provider' | 'amount_cents' | 'reference' | 'provider_session' | 'created_by'
  > {
  readonly attempt: string
  readonly created_by_name: string
  readonly created_at: Date
}

/** Only columns that the dashboard's role may write; the database makes it pending. */
export const insertTopUp = (tx: Queryable, top_up: NewTopUp) =>
  tx.run(sql`
    insert into top_ups (account_id, id, provider, amount_cents, reference, provider_session, attempt, created_by,
                         created_by_name, created_at)
    values (${top_up.account_id}, ${top_up.id}, ${top_up.provider}, ${top_up.amount_cents}, ${top_up.reference},
            ${top_up.provider_session}, ${top_up.attempt}, ${top_up.created_by}, ${top_up.created_by_name}, ${top_up.created_at})`)

export const countPending = (db: Queryable, account_id: string) =>
  db.one<{ count: number }>(sql`
    select count(*) as count
      from top_ups
     where account_id = ${account_id}
       and state = 'pending'`)

export const selectTopUp = (db: Queryable, account_id: string, id: string) =>
  db.maybeOne<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where account_id = ${account_id}
       and id = ${id}`)

export const selectIdOfAttempt = (db: Queryable, account_id: string, attempt: string) =>
  db.maybeOne<{ id: string }>(sql`
    select id
      from top_ups
     where account_id = ${account_id}
       and attempt = ${attempt}`)

/** Newest first; `beforeId` continues a list. */
export const selectTopUps = (db: Queryable, account_id: string, beforeId: string | null, limit: number) =>
  db.many<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where account_id = ${account_id}
       and (${beforeId}::text is null or id < ${beforeId})
     order by id desc
     limit ${limit}`)

/** Those that wait for an operator or for money, of all accounts, oldest first. */
export const selectOpenTopUps = (db: Queryable, limit: number) =>
  db.many<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where state in ('pending', 'review')
     order by created_at
     limit ${limit}`)

/** By its id or its reference, in any account, for an operator. */
export const selectTopUpNamed = (db: Queryable, id: string, reference: string | null) =>
  db.maybeOne<{ account_id: string; id: string }>(sql`
    select account_id, id
      from top_ups
     where id = ${id}
        or reference = ${reference}`)

export const lockTopUp = (tx: Queryable, account_id: string, id: string) =>
  tx.maybeOne<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where account_id = ${account_id}
       and id = ${id}
       for update`)

/** The top-up that this payment has credited, or that waits for an operator because of it. */
export const selectTopUpOfPayment = (db: Queryable, provider: ProviderName, payment: string) =>
  db.maybeOne<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where provider_payment = ${payment}
       and provider = ${provider}
     order by created_at
     limit 1`)

export const selectTopUpOfTransfer = (db: Queryable, account_id: string, seq: number) =>
  db.maybeOne<{ id: string }>(sql`
    select id
      from top_ups
     where account_id = ${account_id}
       and credited_seq = ${seq}`)

export interface Decision {
  /** Only functions of the database credit: functions/funding. */
  readonly state: Exclude<TopUpState, 'credited'>
  readonly decided_at: Date
  readonly provider_payment?: string | null
  readonly note?: string | null
}

export const updateTopUp = (tx: Queryable, { account_id, id }: TopUp, decision: Decision) =>
  tx.run(sql`
    update top_ups
       set state = ${decision.state},
           decided_at = ${decision.decided_at},
           provider_payment = coalesce(${decision.provider_payment ?? null}, provider_payment),
           note = ${decision.note ?? null},
           -- For a rejected page, the worker makes sure that it can no longer be paid.
           look_at = case ${decision.state} when 'rejected' then now() end
     where account_id = ${account_id}
       and id = ${id}`)

type Credit = Booked & { readonly verdict: FundingVerdict }

/** On an operator's word. */
export const callConfirmTopUp = (tx: Queryable, { account_id, id }: TopUp, booking: Booking) =>
  tx.one<Credit>(sql`
    select verdict, seq, balance_after_cents
      from confirm_top_up(${account_id}, ${id}, ${booking.change_cents}, ${booking.reference}, ${booking.note}, ${booking.created_at})`)

/** On its provider's word: with the requested amount. */
export const callCreditPaidTopUp = (
  tx: Queryable,
  { account_id, id }: TopUp,
  payment: string,
  booking: Booking,
) =>
  tx.one<Credit>(sql`
    select verdict, seq, balance_after_cents
      from credit_paid_top_up(${account_id}, ${id}, ${payment}, ${booking.note}, ${booking.created_at})`)

/** Those that have to be checked with their provider, by the clock of the database. */
export const selectToLookAt = (db: Queryable, provider: ProviderName, limit: number) =>
  db.many<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where look_at <= now()
       and provider <> 'bank'
       and provider = ${provider}
     order by look_at
     limit ${limit}`)

export const postponeLook = (db: Queryable, { account_id, id }: TopUp, waitMs: number) =>
  db.run(sql`
    update top_ups
       set look_at = clock_timestamp() + ${waitMs}::double precision * interval '1 ms'
     where account_id = ${account_id}
       and id = ${id}`)

/** Null: not again automatically. A top-up that is due again is left alone: an operator decided something during the query. */
export const updateLookAt = (tx: Queryable, { account_id, id }: TopUp, waitMs: number | null) =>
  tx.run(sql`
    update top_ups
       set look_at = clock_timestamp() + ${waitMs}::double precision * interval '1 ms'
     where account_id = ${account_id}
       and id = ${id}
       and (look_at is null or look_at > clock_timestamp())`)

/** Records that an answer of the provider was applied: answers to earlier queries no longer count. */
export const countAnswer = (tx: Queryable, { account_id, id }: TopUp) =>
  tx.run(sql`
    update top_ups
       set answers = answers + 1
     where account_id = ${account_id}
       and id = ${id}`)

/** The bank's or provider's name for the payment that credited it. */
export const selectCreditReference = (tx: Queryable, { account_id, credited_seq }: TopUp) =>
  tx.maybeOne<{ reference: string }>(sql`
    select reference
      from transfers
     where account_id = ${account_id}
       and seq = ${credited_seq}`)
