import { type Queryable, sql } from '../platform/database/db.ts'
import type { PaymentFact } from './provider.ts'

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

/** By the database's clock, which also wrote when they are due: a process's clock has another precision, and may be wrong. */
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
 * Those of `event_ids` that have not been decided meanwhile. Events that arrived after the provider was asked are not among them:
 * its answer does not cover them. In one statement and one order, so that two workers cannot deadlock.
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
