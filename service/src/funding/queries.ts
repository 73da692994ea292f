import type { Booked, Booking, FundingVerdict } from '../ledger/transfer.ts'
import { type Queryable, sql } from '../platform/db.ts'
import type { PaymentFact } from './provider.ts'

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
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note
      from top_ups
     where account_id = ${account_id}
       and id = ${id}`)

/** Newest first; `beforeId` continues a list. */
export const selectTopUps = (db: Queryable, account_id: string, beforeId: string | null, limit: number) =>
  db.many<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note
      from top_ups
     where account_id = ${account_id}
       and (${beforeId}::text is null or id < ${beforeId})
     order by id desc
     limit ${limit}`)

/** Those that wait for a person or for money, of all accounts, oldest first. */
export const selectOpenTopUps = (db: Queryable, limit: number) =>
  db.many<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note
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
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note
      from top_ups
     where account_id = ${account_id}
       and id = ${id}
       for update`)

export const lockTopUpOfPayment = (tx: Queryable, provider: ProviderName, payment: string) =>
  tx.maybeOne<TopUp>(sql`
    select account_id, id, provider, amount_cents, state, reference, provider_session, provider_payment, created_by,
           created_by_name, created_at, decided_at, credited_cents, credited_seq, note
      from top_ups
     where provider_payment = ${payment}
       and provider = ${provider}
       for update`)

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
           note = ${decision.note ?? null}
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

/** Pending at a provider with a page of its own, and not asked about since `checkedBefore`. */
export const selectUnheard = (db: Queryable, createdBefore: Date, checkedBefore: Date, limit: number) =>
  db.many<{ account_id: string; id: string; provider_session: string }>(sql`
    select account_id, id, provider_session
      from top_ups
     where state = 'pending'
       and provider = 'stripe'
       and created_at < ${createdBefore}
       and (checked_at is null or checked_at < ${checkedBefore})
     order by created_at
     limit ${limit}`)

export const updateChecked = (db: Queryable, account_id: string, id: string, at: Date) =>
  db.run(sql`
    update top_ups
       set checked_at = ${at}
     where account_id = ${account_id}
       and id = ${id}`)

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

/** In one statement and one order, so that two workers cannot wait for each other. */
export const lockUndecided = (tx: Queryable, provider: string, subject: string) =>
  tx.many<PaymentEventRow>(sql`
    select provider, event_id, subject, facts, received_at
      from payment_events
     where provider = ${provider}
       and subject = ${subject}
       and state = 'received'
     order by event_id
       for update`)

export const decideEvent = (
  tx: Queryable,
  { provider, event_id }: PaymentEventRow,
  state: 'applied' | 'ignored' | 'review',
  note: string | null,
  at: Date,
) =>
  tx.run(sql`
    update payment_events
       set state = ${state},
           note = left(${note}, 500),
           decided_at = ${at}
     where provider = ${provider}
       and event_id = ${event_id}`)

export const postponeEvents = (db: Queryable, provider: string, subject: string, waitMs: number) =>
  db.run(sql`
    update payment_events
       set next_at = clock_timestamp() + ${waitMs}::double precision * interval '1 ms'
     where provider = ${provider}
       and subject = ${subject}
       and state = 'received'`)

export const selectEventsInReview = (db: Queryable) =>
  db.many<{ event_id: string; subject: string; note: string | null; received_at: Date }>(sql`
    select event_id, subject, note, received_at
      from payment_events
     where state = 'review'
     order by received_at
     limit 100`)

export interface Reversal {
  readonly account_id: string
  readonly id: string
  readonly top_up_id: string
  readonly kind: 'refund' | 'dispute'
  readonly provider_reference: string
  readonly amount_cents: number
  readonly taken_cents: number
  readonly owed_cents: number
  readonly written_off_cents: number
  readonly returned_at: Date | null
  readonly created_at: Date
}

export const selectReversals = (db: Queryable, account_id: string, top_up_id: string) =>
  db.many<Reversal>(sql`
    select account_id, id, top_up_id, kind, provider_reference, amount_cents, taken_cents, owed_cents, written_off_cents,
           returned_at, created_at
      from top_up_reversals
     where account_id = ${account_id}
       and top_up_id = ${top_up_id}
     order by id`)

/** What a provider took back. Returns what of it was not known before. */
export const callTakeBack = (
  tx: Queryable,
  { account_id, id: top_up_id }: TopUp,
  reversal: Pick<Reversal, 'id' | 'kind' | 'provider_reference' | 'created_at'> & {
    readonly reported_cents: number
  },
) =>
  tx.one<Pick<Reversal, 'amount_cents' | 'taken_cents' | 'owed_cents'>>(sql`
    select amount_cents, taken_cents, owed_cents
      from take_back_top_up(${account_id}, ${top_up_id}, ${reversal.id}, ${reversal.kind},
                            ${reversal.provider_reference}, ${reversal.reported_cents}, ${reversal.created_at})`)

/** Nulls: nothing was taken for this dispute. */
export const callReturnDispute = (
  tx: Queryable,
  { account_id, id: top_up_id }: TopUp,
  won: { readonly dispute: string; readonly at: Date },
) =>
  tx.one<{ returned_cents: number | null; is_new: boolean | null }>(sql`
    select returned_cents, is_new
      from return_dispute(${account_id}, ${top_up_id}, ${won.dispute}, ${won.at})`)

/** What an account owes, oldest first. It changes only under the lock of the balance. */
export const selectOwed = (tx: Queryable, account_id: string) =>
  tx.many<Reversal>(sql`
    select account_id, id, top_up_id, kind, provider_reference, amount_cents, taken_cents, owed_cents, written_off_cents,
           returned_at, created_at
      from top_up_reversals
     where account_id = ${account_id}
       and owed_cents > 0
     order by id`)

export const callCollectOwed = (
  tx: Queryable,
  { account_id, id }: Reversal,
  collected: { readonly note: string; readonly at: Date },
) =>
  tx.one<{ collected_cents: number; balance_after_cents: number }>(sql`
    select collected_cents, balance_after_cents
      from collect_owed(${account_id}, ${id}, ${collected.note}, ${collected.at})`)

export const callWriteOff = (tx: Queryable, { account_id, id }: Reversal) =>
  tx.one<{ written_off_cents: number }>(sql`
    select write_off_owed(${account_id}, ${id}) as written_off_cents`)

export const selectReceivables = (db: Queryable, limit: number) =>
  db.many<Reversal>(sql`
    select account_id, id, top_up_id, kind, provider_reference, amount_cents, taken_cents, owed_cents, written_off_cents,
           returned_at, created_at
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
