import { type Queryable, sql } from '../platform/database/db.ts'
import type { ProviderName } from './queries.ts'

export interface Reconciliation {
  /** Null between runs. */
  readonly stage: 'payments' | 'refunds' | 'disputes' | 'ledger' | null
  readonly started_at: Date
  readonly read_from: Date
  readonly read_until: Date
  readonly after_id: string | null
  readonly compared: number
  readonly asked: number
}

/** A refund can fail weeks after it was made, and its event be lost: each run also compares this much again. */
const AGAIN_DAYS = 35
const LEASE_S = 300

/** The first comparison starts before the first possible card payment. */
export const insertReconciliation = (db: Queryable, provider: ProviderName) =>
  db.run(sql`
    insert into payment_reconciliations (provider, compared_until)
    select ${provider}, coalesce((select min(created_at) from top_ups), now())
     where not exists (select from payment_reconciliations where provider = ${provider})
        on conflict (provider) do nothing`)

/** Undefined: not due, or another worker runs it. All times are by the database's clock. */
export const claimReconciliation = (db: Queryable, provider: ProviderName) =>
  db.maybeOne<Reconciliation>(sql`
    update payment_reconciliations
       set leased_until = clock_timestamp() + ${LEASE_S} * interval '1 s'
     where provider = ${provider}
       and due_at <= now()
       and (leased_until is null or leased_until < now())
    returning stage, started_at, compared_until - ${AGAIN_DAYS} * interval '1 day' as read_from, read_until, after_id, compared, asked`)

export const beginReconciliation = (db: Queryable, provider: ProviderName) =>
  db.one<Reconciliation>(sql`
    update payment_reconciliations
       set stage = 'payments', started_at = now(), read_until = now(), after_id = null, compared = 0, asked = 0
     where provider = ${provider}
    returning stage, started_at, compared_until - ${AGAIN_DAYS} * interval '1 day' as read_from, read_until, after_id, compared, asked`)

/** What one page added to a run. */
export interface Progress {
  readonly compared: number
  readonly asked: number
  /** Null: this stage is done. */
  readonly after_id: string | null
}

export const saveReconciliation = (
  db: Queryable,
  provider: ProviderName,
  stage: NonNullable<Reconciliation['stage']>,
  step: Progress,
) =>
  db.one<Reconciliation>(sql`
    update payment_reconciliations
       set stage = ${stage},
           after_id = ${step.after_id},
           compared = compared + ${step.compared},
           asked = asked + ${step.asked},
           leased_until = clock_timestamp() + ${LEASE_S} * interval '1 s'
     where provider = ${provider}
    returning stage, started_at, compared_until - ${AGAIN_DAYS} * interval '1 day' as read_from, read_until, after_id, compared, asked`)

export const endReconciliation = (db: Queryable, provider: ProviderName, step: Progress) =>
  db.run(sql`
    update payment_reconciliations
       set compared_until = read_until,
           due_at = case when due_at > started_at then due_at else started_at + interval '1 day' end,
           finished_at = now(),
           stage = null, started_at = null, read_until = null, after_id = null,
           compared = compared + ${step.compared},
           asked = asked + ${step.asked}
     where provider = ${provider}`)

export const releaseReconciliation = (db: Queryable, provider: ProviderName) =>
  db.run(sql`
    update payment_reconciliations
       set leased_until = null
     where provider = ${provider}`)

/** Requested by an operator, and after a recovery. */
export const requestReconciliation = (tx: Queryable) =>
  tx.run(sql`
    update payment_reconciliations
       set due_at = now()`)

export const selectReconciliation = (db: Queryable) =>
  db.maybeOne<
    Pick<Reconciliation, 'stage' | 'compared' | 'asked'> & {
      readonly compared_until: Date
      readonly due_at: Date
      readonly started_at: Date | null
      readonly finished_at: Date | null
      readonly reviews: number
    }
  >(sql`
    select stage, compared, asked, compared_until, due_at, started_at, finished_at,
           (select count(*) from payment_reviews where decided_at is null and gone_at is null) as reviews
      from payment_reconciliations`)

export const selectCreditsOf = (db: Queryable, provider: ProviderName, payments: readonly string[]) =>
  db.many<{ provider_payment: string; credited_cents: number }>(sql`
    select provider_payment, credited_cents
      from top_ups
     where provider_payment = any (${payments}::text[])
       and provider = ${provider}
       and state = 'credited'`)

export const markCompared = (db: Queryable, provider: ProviderName, payments: readonly string[]) =>
  db.run(sql`
    update top_ups
       set compared_at = clock_timestamp()
     where provider_payment = any (${payments}::text[])
       and provider = ${provider}
       and state = 'credited'`)

export const selectReversalsNamed = (db: Queryable, references: readonly string[]) =>
  db.many<{ provider_reference: string; provider_status: string; provider_cents: number }>(sql`
    select provider_reference, provider_status, provider_cents
      from top_up_reversals
     where provider_reference = any (${references}::text[])`)

/**
 * Credited by card and not compared by this run: those of its period, and those of any age with a refund or dispute that may still
 * change.
 */
export const selectUncompared = (
  db: Queryable,
  provider: ProviderName,
  { read_from, started_at }: Reconciliation,
  limit: number,
) =>
  db.many<{ provider_payment: string }>(sql`
    select provider_payment
      from (select account_id, id
              from top_ups
             where state = 'credited'
               and provider_payment is not null
               and decided_at >= ${read_from}
             union
            select account_id, top_up_id
              from top_up_reversals
             where not is_settled) m
      join top_ups using (account_id, id)
     where provider = ${provider}
       and provider_payment is not null
       and (compared_at is null or compared_at < ${started_at})
     limit ${limit}`)
