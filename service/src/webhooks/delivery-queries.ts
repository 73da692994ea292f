import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, type Tx, timed } from '../platform/database/db.ts'
import type { Job } from '../platform/jobs/jobs.ts'
import { DELIVER_QUEUE } from './deliver-queue.ts'
import { WEBHOOK_STATEMENTS } from './metrics.ts'

/**
 * Tests that are not accepted yet, newest first. Their age is measured by the database's clock, so that a wait computed by one
 * process is valid for all.
 */
export const selectPendingTests = (tx: Tx, { account_id, endpoint_id }: EndpointKey, limit: number) =>
  tx.many<{ event_id: string; age_s: number }>(sql`
    select d.event_id, extract(epoch from clock_timestamp() - d.created_at)::float8 as age_s
      from deliveries d
      join events e on e.account_id = d.account_id and e.id = d.event_id
     where d.account_id = ${account_id}
       and d.endpoint_id = ${endpoint_id}
       and d.state = 'pending'
       and e.type = 'test'
     order by d.created_at desc, d.event_id desc
     limit ${limit}`)

export const cancelDeliveries = (
  tx: Tx,
  { account_id, endpoint_id }: EndpointKey,
  event_ids: readonly string[],
  at: Date,
) =>
  tx.run(sql`
    update deliveries
       set state = 'cancelled',
           done_at = ${at}
     where account_id = ${account_id}
       and endpoint_id = ${endpoint_id}
       and event_id = any(${event_ids})
       and state = 'pending'`)

/** The target of an endpoint's deliveries; undefined once the endpoint has ended. */
export interface Destination {
  readonly url: string
  readonly is_suspended: boolean
  readonly secrets: readonly { id: string; secret_sealed: string; ends_at: string | null }[]
}

export interface EndpointKey {
  readonly account_id: string
  readonly endpoint_id: string
}

/** In the order of the ids given. */
export async function selectDestinations(
  db: Queryable,
  endpoints: readonly EndpointKey[],
): Promise<(Destination | undefined)[]> {
  const found = await db.many<Destination & { place: number }>(sql`
    select w.place, e.url, a.status <> 'active' as is_suspended,
           (select json_agg(json_build_object('id', s.id, 'secret_sealed', encode(s.secret_sealed, 'base64'),
                                              'ends_at', s.ends_at))
              from webhook_secrets s
             where s.account_id = e.account_id
               and (s.ends_at is null or s.ends_at > clock_timestamp())) as secrets
      from unnest(${endpoints.map(({ account_id }) => account_id)}::text[],
                  ${endpoints.map(({ endpoint_id }) => endpoint_id)}::text[])
             with ordinality as w (account_id, endpoint_id, place)
      join webhook_endpoints e on e.account_id = w.account_id and e.id = w.endpoint_id and e.ended_at is null
      join accounts a on a.id = e.account_id`)
  const byPlace = new Map(found.map(({ place, ...destination }) => [place, destination]))
  return endpoints.map((_, n) => byPlace.get(n + 1))
}

export interface DueDelivery {
  readonly event_id: string
  readonly round: number
  /** In this round. */
  readonly attempts: number
  readonly created_at: Date
  readonly type: WebhookEventName
  readonly order_id: string | null
  readonly revision: number | null
  readonly event_created_at: Date
  readonly body_sealed: Buffer | null
}

export interface Look extends EndpointKey {
  readonly now: Date
  /** Events that are being sent. */
  readonly but: readonly string[]
}

/** What is due to each endpoint and not given up yet, oldest first, at most `limit` to each; in the order in which they were asked for. */
export async function selectDue(
  db: Queryable,
  looks: readonly Look[],
  limit: number,
): Promise<DueDelivery[][]> {
  const found = await db.many<DueDelivery & { place: number }>(
    timed(
      WEBHOOK_STATEMENTS.takeDueDeliveries,
      sql`
    select w.place, d.event_id, d.round, d.attempts, d.created_at, e.type, e.order_id, e.revision, e.created_at as event_created_at,
           e.body_sealed
      from unnest(${looks.map(({ account_id }) => account_id)}::text[],
                  ${looks.map(({ endpoint_id }) => endpoint_id)}::text[], ${looks.map(({ now }) => now)}::timestamptz[],
                  ${looks.map(({ but }) => but.join(' '))}::text[])
             with ordinality as w (account_id, endpoint_id, now, but, place)
     cross join lateral (select d.account_id, d.event_id, d.round, d.attempts, d.created_at, d.next_at
                           from deliveries d
                          where d.account_id = w.account_id
                            and d.endpoint_id = w.endpoint_id
                            and d.state = 'pending'
                            and d.next_at <= w.now
                            and d.event_id <> all (string_to_array(w.but, ' '))
                          order by d.next_at, d.event_id
                          limit ${limit}) d
      join events e on e.account_id = d.account_id and e.id = d.event_id
     order by w.place, d.next_at, d.event_id`,
    ),
  )
  const due: DueDelivery[][] = looks.map(() => [])
  for (const { place, ...delivery } of found) due[place - 1]?.push(delivery)
  return due
}

/** Gives up what has been waiting since `horizon` or longer. Locks the endpoint first, like every change of several of its deliveries. */
export const giveUpDeliveries = (
  db: Queryable,
  { account_id, endpoint_id }: EndpointKey,
  { now, horizon }: { now: Date; horizon: Date },
) =>
  db.run(sql`
    with held as materialized (
      select account_id, id
        from webhook_endpoints
       where account_id = ${account_id}
         and id = ${endpoint_id}
         for no key update
    )
    update deliveries d
       set state = 'failed',
           done_at = ${now}
      from held h
     where d.account_id = h.account_id
       and d.endpoint_id = h.id
       and d.state = 'pending'
       and d.created_at <= ${horizon}`)

/** The earliest pending delivery, if any. */
export const selectNext = (db: Queryable, account_id: string, endpoint_id: string) =>
  db.one<{ next_at: Date | null }>(sql`
    select min(next_at) as next_at
      from deliveries
     where account_id = ${account_id}
       and endpoint_id = ${endpoint_id}
       and state = 'pending'`)

export interface EndedJob {
  readonly is_ended: boolean
  readonly was_woken: boolean
}

/**
 * Ends the jobs of endpoints that have nothing left to send and were not woken meanwhile; takes the mark off those that were, so that the
 * events that woke them can be looked for and the job ended after them. An event written at the same moment either waits for this
 * statement and creates or marks the job, or has marked it before. Without that mark it could be missed: a statement that waited for a
 * row lock re-reads that row, but no other table. A job that another transaction holds is left as it is: nobody waits for the account of
 * another.
 */
export async function endDeliverJobs(db: Queryable, jobs: readonly Job[]): Promise<EndedJob[]> {
  const found = await db.many<EndedJob & { place: number }>(
    timed(
      WEBHOOK_STATEMENTS.endDeliverJobs,
      sql`
    with held as materialized (
      select m.place, j.subject
        from jobs j
        join unnest(${jobs.map(({ account_id }) => account_id)}::text[], ${jobs.map(({ subject }) => subject)}::text[],
                    ${jobs.map(({ attempts }) => attempts)}::integer[]) with ordinality as m (account_id, subject, attempts, place)
          on j.account_id = m.account_id and j.subject = m.subject and j.attempts = m.attempts
       where j.queue = ${DELIVER_QUEUE}
       order by j.account_id, j.subject
         for update of j skip locked
    ), ended as (
      delete from jobs j
       using held h
       where j.queue = ${DELIVER_QUEUE}
         and j.subject = h.subject
         and not j.is_woken
         and not exists (select
                           from deliveries d
                          where d.account_id = j.account_id
                            and d.endpoint_id = j.subject
                            and d.state = 'pending')
      returning h.place
    ), woken as (
      update jobs j
         set is_woken = false
        from held h
       where j.queue = ${DELIVER_QUEUE}
         and j.subject = h.subject
         and j.is_woken
      returning h.place
    )
    select h.place, h.place in (select place from ended) as is_ended, h.place in (select place from woken) as was_woken
      from held h`,
    ),
  )
  const byPlace = new Map(found.map(({ place, is_ended, was_woken }) => [place, { is_ended, was_woken }]))
  return jobs.map((_, n) => byPlace.get(n + 1) ?? { is_ended: false, was_woken: false })
}

export interface Attempt {
  readonly account_id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly round: number
  readonly n: number
  readonly started_at: Date
  readonly finished_at: Date
  readonly status: number | null
  readonly error: string | null
  readonly remote_address: string | null
  readonly signed_s: number | null
  readonly signatures: Buffer | null
  readonly connect_ms: number | null
  readonly send_ms: number | null
  readonly wait_ms: number | null
  readonly answer_sealed: Buffer | null
  readonly answer_kek_id: string | null
  /** The bytes that were sent and have to be sent again, if the event has none yet. */
  readonly body_sealed: Buffer | null
  readonly body_kek_id: string | null
  /** The state of the delivery after this attempt. */
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly next_at: Date
}

/**
 * Records attempts and their results; returns, in the order given, whether each counted. An attempt does not count when the
 * delivery was cancelled or another worker has recorded the same attempt. One that was accepted at once is kept in the row of its
 * delivery, every other one in a row of its own. What has to be sent again is kept with the event. Endpoints, events and deliveries
 * are locked in this order, as everywhere. The endpoint's own row says when something was last accepted to the second: more would
 * write it again for every event.
 */
export async function recordAttempts(db: Queryable, attempts: readonly Attempt[]): Promise<boolean[]> {
  const column = <Name extends keyof Attempt>(name: Name) => attempts.map((attempt) => attempt[name])
  const counted = await db.many<{ place: number }>(
    timed(
      WEBHOOK_STATEMENTS.recordAttempts,
      sql`
    with made as materialized (
      select account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address, signed_s,
             signatures, connect_ms, send_ms, wait_ms, answer_sealed, answer_kek_id, body_sealed, body_kek_id, state, next_at,
             place, n = 1 and round = 1 and error is null and answer_sealed is null as is_at_once
        from unnest(${column('account_id')}::text[], ${column('endpoint_id')}::text[], ${column('event_id')}::text[],
                    ${column('round')}::smallint[], ${column('n')}::smallint[], ${column('started_at')}::timestamptz[],
                    ${column('finished_at')}::timestamptz[], ${column('status')}::smallint[], ${column('error')}::text[],
                    ${column('remote_address')}::inet[], ${column('signed_s')}::bigint[], ${column('signatures')}::bytea[],
                    ${column('connect_ms')}::integer[], ${column('send_ms')}::integer[], ${column('wait_ms')}::integer[],
                    ${column('answer_sealed')}::bytea[], ${column('answer_kek_id')}::text[], ${column('body_sealed')}::bytea[],
                    ${column('body_kek_id')}::text[], ${column('state')}::text[], ${column('next_at')}::timestamptz[])
               with ordinality as m (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error,
                                     remote_address, signed_s, signatures, connect_ms, send_ms, wait_ms, answer_sealed,
                                     answer_kek_id, body_sealed, body_kek_id, state, next_at, place)
    ), held as materialized (
      select account_id, id
        from webhook_endpoints
       where (account_id, id) in (select account_id, endpoint_id from made)
       order by account_id, id
         for no key update
    ), kept as (
      update events e
         set body_sealed = m.body_sealed,
             body_kek_id = m.body_kek_id
        from held h
        join made m on m.account_id = h.account_id and m.endpoint_id = h.id
       where m.body_sealed is not null
         and e.account_id = m.account_id
         and e.id = m.event_id
         and e.body_sealed is null
      returning 1
    ), counted as (
      update deliveries d
         set attempts = m.n,
             state = m.state,
             last_error = m.error,
             next_at = m.next_at,
             done_at = case when m.state = 'pending' then null else m.finished_at end,
             first_started_at = case when m.is_at_once then m.started_at else d.first_started_at end,
             first_finished_at = case when m.is_at_once then m.finished_at else d.first_finished_at end,
             first_status = case when m.is_at_once then m.status else d.first_status end,
             first_address = case when m.is_at_once then m.remote_address else d.first_address end,
             first_signed_s = case when m.is_at_once then m.signed_s else d.first_signed_s end,
             first_signatures = case when m.is_at_once then m.signatures else d.first_signatures end,
             first_connect_ms = case when m.is_at_once then m.connect_ms else d.first_connect_ms end,
             first_send_ms = case when m.is_at_once then m.send_ms else d.first_send_ms end,
             first_wait_ms = case when m.is_at_once then m.wait_ms else d.first_wait_ms end
        from held h
        join made m on m.account_id = h.account_id and m.endpoint_id = h.id
       cross join (select count(*) as bodies from kept) k
       where d.account_id = m.account_id
         and d.endpoint_id = m.endpoint_id
         and d.event_id = m.event_id
         and d.state = 'pending'
         and d.round = m.round
         and d.attempts = m.n - 1
      returning m.account_id, m.endpoint_id, m.event_id, m.round, m.n, m.started_at, m.finished_at, m.status, m.error,
                m.remote_address, m.signed_s, m.signatures, m.connect_ms, m.send_ms, m.wait_ms, m.answer_sealed,
                m.answer_kek_id, m.place, m.is_at_once
    ), logged as (
      insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error,
                                     remote_address, signed_s, signatures, connect_ms, send_ms, wait_ms, answer_sealed,
                                     answer_kek_id)
      select account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address, signed_s,
             signatures, connect_ms, send_ms, wait_ms, answer_sealed, answer_kek_id
        from counted
       where not is_at_once
    ), latest as (
      select account_id, endpoint_id,
             max(finished_at) filter (where error is null) as delivered_at,
             max(finished_at) filter (where error is not null) as failed_at,
             (array_agg(error order by finished_at desc) filter (where error is not null))[1] as error
        from counted
       group by account_id, endpoint_id
    ), updated_endpoints as (
      update webhook_endpoints e
         set last_delivered_at = coalesce(l.delivered_at, e.last_delivered_at),
             last_failure_at = coalesce(l.failed_at, e.last_failure_at),
             last_error = coalesce(l.error, e.last_error),
             alerted_percent = case when l.delivered_at is null then e.alerted_percent else 0 end
        from latest l
       where e.account_id = l.account_id
         and e.id = l.endpoint_id
         and (l.failed_at is not null
              or e.alerted_percent > 0
              or e.last_delivered_at is null
              or l.delivered_at - e.last_delivered_at >= interval '1 second')
    )
    select place from counted`,
    ),
  )
  const places = new Set(counted.map(({ place }) => place))
  return attempts.map((_, n) => places.has(n + 1))
}
