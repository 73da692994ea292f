import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, type Tx, timed } from '../platform/database/db.ts'
import type { Job } from '../platform/jobs/jobs.ts'
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

/** Due and not given up yet, oldest first. */
export const selectDue = (
  db: Queryable,
  { account_id, endpoint_id }: EndpointKey,
  { now, but, limit }: { now: Date; but: readonly string[]; limit: number },
) =>
  db.many<DueDelivery>(
    timed(
      WEBHOOK_STATEMENTS.takeDueDeliveries,
      sql`
    select d.event_id, d.round, d.attempts, d.created_at, e.type, e.order_id, e.revision, e.created_at as event_created_at,
           e.body_sealed
      from deliveries d
      join events e on e.account_id = d.account_id and e.id = d.event_id
     where d.account_id = ${account_id}
       and d.endpoint_id = ${endpoint_id}
       and d.state = 'pending'
       and d.next_at <= ${now}
       and d.event_id <> all(${but})
     order by d.next_at, d.event_id
     limit ${limit}`,
    ),
  )

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

/**
 * Ends the job of an endpoint that has nothing left to send and was not woken meanwhile; takes the mark off one that was, so that the
 * events that woke it can be looked for and the job ended after them. An event written at the same moment either waits for this
 * statement and creates or marks the job, or has marked it before. Without that mark it could be missed: a statement that waited for a
 * row lock re-reads that row, but no other table.
 */
export const endDeliverJob = (db: Queryable, { account_id, queue, subject, attempts }: Job) =>
  db.one<{ is_ended: boolean; was_woken: boolean }>(sql`
    with ended as (
      delete from jobs
       where account_id = ${account_id}
         and queue = ${queue}
         and subject = ${subject}
         and attempts = ${attempts}
         and not is_woken
         and not exists (select
                           from deliveries
                          where account_id = ${account_id}
                            and endpoint_id = ${subject}
                            and state = 'pending')
      returning 1
    ), woken as (
      update jobs
         set is_woken = false
       where account_id = ${account_id}
         and queue = ${queue}
         and subject = ${subject}
         and attempts = ${attempts}
         and is_woken
      returning 1
    )
    select exists (select from ended) as is_ended, exists (select from woken) as was_woken`)

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
 * delivery was cancelled or another worker has recorded the same attempt. What has to be sent again is kept with the event. Endpoints, events and deliveries are locked in this order, as everywhere. The endpoint's own row says when something was
 * last accepted to the second: more would write it again for every event.
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
             place
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
             done_at = case when m.state = 'pending' then null else m.finished_at end
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
                m.answer_kek_id, m.place
    ), logged as (
      insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error,
                                     remote_address, signed_s, signatures, connect_ms, send_ms, wait_ms, answer_sealed,
                                     answer_kek_id)
      select account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error, remote_address, signed_s,
             signatures, connect_ms, send_ms, wait_ms, answer_sealed, answer_kek_id
        from counted
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
