import type { Booked, Booking, FundingVerdict } from '../ledger/transfer.ts'
import { type Queryable, sql } from '../platform/database/db.ts'
import type { PaymentFact, ReadReversal } from './provider.ts'

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
  readonly created_by_name: string
  readonly created_at: Date
}

/** Only columns that the dashboard's role may write; the database makes it pending. */
export const insertTopUp = (tx: Queryable, top_up: NewTopUp) =>
  tx.run(sql`
    insert into top_ups (account_id, id, provider, amount_cents, reference, provider_session, created_by, created_by_name,
                         created_at)
    values (${top_up.account_id}, ${top_up.id}, ${top_up.provider}, ${top_up.amount_cents}, ${top_up.reference},
            ${top_up.provider_session}, ${top_up.created_by}, ${top_up.created_by_name}, ${top_up.created_at})`)

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

/** Those that wait for a person or for money, of all accounts, oldest first. */
export const selectOpenTopUps = (db: Queryable, limit: number) =>
  db.many<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note, answers
      from top_ups
     where state in ('pending', 'review')
     order by created_at
     limit ${limit}`)

/** By its id or its reference, of whichever account, for an operator. */
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

/** The one that this payment has credited, or that waits for a person because of it. */
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
           -- Of a page that was rejected the worker makes sure that nobody pays on it.
           look_at = case ${decision.state} when 'rejected' then now() end
     where account_id = ${account_id}
       and id = ${id}`)

type Credit = Booked & { readonly verdict: FundingVerdict }

/** By the word of an operator. */
export const callConfirmTopUp = (tx: Queryable, { account_id, id }: TopUp, booking: Booking) =>
  tx.one<Credit>(sql`
    select verdict, seq, balance_after_cents
      from confirm_top_up(${account_id}, ${id}, ${booking.change_cents}, ${booking.reference}, ${booking.note}, ${booking.created_at})`)

/** By the word of its provider: with the amount that was asked for. */
export const callCreditPaidTopUp = (
  tx: Queryable,
  { account_id, id }: TopUp,
  payment: string,
  booking: Booking,
) =>
  tx.one<Credit>(sql`
    select verdict, seq, balance_after_cents
      from credit_paid_top_up(${account_id}, ${id}, ${payment}, ${booking.note}, ${booking.created_at})`)

/** Those whose provider has to be asked about them, by the clock of the database. */
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

/** Null: not again by itself. One that is due is left: somebody has decided something while the provider was asked. */
export const updateLookAt = (tx: Queryable, { account_id, id }: TopUp, waitMs: number | null) =>
  tx.run(sql`
    update top_ups
       set look_at = clock_timestamp() + ${waitMs}::double precision * interval '1 ms'
     where account_id = ${account_id}
       and id = ${id}
       and (look_at is null or look_at > clock_timestamp())`)

/** Another answer of the provider was applied: what was asked before it counts no longer. */
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

/** Without a conflict target, because the dashboard's role may not read the table: the same event twice is one row. */
export const insertPaymentEvent = (
  db: Queryable,
  event: { provider: string; event_id: string; subject: string; fact: PaymentFact; received_at: Date },
) =>
  db.run(sql`
    insert into payment_events (provider, event_id, subject, facts, received_at)
    values (${event.provider}, ${event.event_id}, ${event.subject}, ${JSON.stringify(event.fact)}, ${event.received_at})
        on conflict do nothing`)

export interface PaymentEventRow {
  readonly provider: 'stripe'
  readonly event_id: string
  readonly subject: string
  readonly facts: PaymentFact
  readonly received_at: Date
}

/** By the clock of the database, which also wrote when they are due: a process's clock has other digits, and may be wrong. */
export const selectDueSubjects = (db: Queryable, limit: number) =>
  db.many<{ provider: 'stripe'; subject: string }>(sql`
    select provider, subject
      from payment_events
     where state = 'received'
       and next_at <= now()
     group by provider, subject
     order by min(next_at)
     limit ${limit}`)

export const selectUndecided = (db: Queryable, provider: string, subject: string) =>
  db.many<PaymentEventRow>(sql`
    select provider, event_id, subject, facts, received_at
      from payment_events
     where provider = ${provider}
       and subject = ${subject}
       and state = 'received'
     order by event_id`)

/**
 * Those of `event_ids` that nobody has decided meanwhile. What came after the provider was asked is not among them: its answer says nothing
 * about that. In one statement and one order, so that two workers cannot wait for each other.
 */
export const lockUndecided = (tx: Queryable, provider: string, event_ids: readonly string[]) =>
  tx.many<PaymentEventRow>(sql`
    select provider, event_id, subject, facts, received_at
      from payment_events
     where provider = ${provider}
       and event_id = any (${event_ids}::text[])
       and state = 'received'
     order by event_id
       for update`)

export const decideEvent = (
  tx: Queryable,
  { provider, event_id }: PaymentEventRow,
  state: 'applied' | 'ignored',
  note: string | null,
) =>
  tx.run(sql`
    update payment_events
       set state = ${state},
           note = left(${note}, 500),
           decided_at = now()
     where provider = ${provider}
       and event_id = ${event_id}`)

export const postponeEvents = (
  db: Queryable,
  provider: string,
  event_ids: readonly string[],
  waitMs: number,
) =>
  db.run(sql`
    update payment_events
       set next_at = clock_timestamp() + ${waitMs}::double precision * interval '1 ms'
     where provider = ${provider}
       and event_id = any (${event_ids}::text[])
       and state = 'received'`)

export interface Review {
  readonly id: string
  readonly subject: string
  readonly note: string
  readonly account_id: string | null
  readonly top_up_id: string | null
  readonly found_at: Date
}

export interface NewReview extends Omit<Review, 'found_at'> {
  readonly provider: ProviderName
}

/** The same difference once; not again if somebody has decided it. */
export const insertReview = (tx: Queryable, review: NewReview) =>
  tx.run(sql`
    insert into payment_reviews (id, provider, subject, note, account_id, top_up_id)
    values (${review.id}, ${review.provider}, ${review.subject}, ${review.note}, ${review.account_id}, ${review.top_up_id})
        on conflict (provider, subject, note) do update set gone_at = null`)

/** Differences of this subject that there are no longer. */
export const closeReviews = (
  tx: Queryable,
  provider: ProviderName,
  subject: string,
  except: readonly string[],
) =>
  tx.run(sql`
    update payment_reviews
       set gone_at = now()
     where provider = ${provider}
       and subject = ${subject}
       and gone_at is null
       and note <> all (${except}::text[])`)

export const selectReviews = (db: Queryable, limit: number) =>
  db.many<Review>(sql`
    select id, subject, note, account_id, top_up_id, found_at
      from payment_reviews
     where decided_at is null
       and gone_at is null
     order by found_at
     limit ${limit}`)

export const decideReview = (tx: Queryable, id: string) =>
  tx.maybeOne<Review>(sql`
    update payment_reviews
       set decided_at = now()
     where id = ${id}
       and decided_at is null
       and gone_at is null
    returning id, subject, note, account_id, top_up_id, found_at`)

export interface Reversal {
  readonly account_id: string
  readonly id: string
  readonly top_up_id: string
  readonly kind: 'refund' | 'dispute'
  readonly provider_reference: string
  readonly provider_status: string
  /** What the provider took; `amount_cents` is less where that is more than was credited. */
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

/** What a provider took back. Returns what was booked of it; nulls: it was known before. */
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

/** The provider has it again. Null: it was returned before. */
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
