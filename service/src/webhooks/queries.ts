import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, type Tx } from '../platform/db.ts'

export interface EndpointRow {
  readonly account_id: string
  readonly id: string
  readonly url: string
  readonly set_by: string
  readonly created_at: Date
  readonly last_delivered_at: Date | null
  readonly last_failure_at: Date | null
  readonly last_error: string | null
}

/** Changes of an account's endpoint and secrets come one after the other. */
export const lockAccount = (tx: Tx, account_id: string) =>
  tx.one(sql`
    select id
      from accounts
     where id = ${account_id}
       for no key update`)

/** Waits for events that are being written for it, so that none is left behind when it ends. */
export const lockEndpoint = (tx: Tx, account_id: string) =>
  tx.maybeOne<EndpointRow>(sql`
    select account_id, id, url, set_by, created_at, last_delivered_at, last_failure_at, last_error
      from webhook_endpoints
     where account_id = ${account_id}
       and ended_at is null
       for update`)

export interface HealthRow extends EndpointRow {
  readonly pending: number
  readonly failed: number
}

export const selectHealth = (db: Queryable, account_id: string) =>
  db.maybeOne<HealthRow>(sql`
    select e.account_id, e.id, e.url, e.set_by, e.created_at, e.last_delivered_at, e.last_failure_at, e.last_error,
           (select count(*)
              from deliveries d
             where d.account_id = e.account_id and d.endpoint_id = e.id and d.state = 'pending') as pending,
           (select count(*)
              from deliveries d
             where d.account_id = e.account_id and d.endpoint_id = e.id and d.state = 'failed') as failed
      from webhook_endpoints e
     where e.account_id = ${account_id}
       and e.ended_at is null`)

export const insertEndpoint = (
  tx: Tx,
  endpoint: Pick<EndpointRow, 'account_id' | 'id' | 'url' | 'set_by' | 'created_at'>,
) =>
  tx.run(sql`
    insert into webhook_endpoints (account_id, id, url, set_by, created_at)
    values (${endpoint.account_id}, ${endpoint.id}, ${endpoint.url}, ${endpoint.set_by}, ${endpoint.created_at})`)

/**
 * Ends it, and everything still queued for it. The time is that of the change and not of the request, which may have waited:
 * what was sent meanwhile was sent before the end.
 */
export const endEndpoint = (tx: Tx, { account_id, id }: Pick<EndpointRow, 'account_id' | 'id'>, at: Date) =>
  tx.run(sql`
    with ended as (
      update webhook_endpoints
         set ended_at = greatest(${at}::timestamptz, clock_timestamp())
       where account_id = ${account_id}
         and id = ${id}
         and ended_at is null
      returning account_id, id
    )
    update deliveries d
       set state = 'cancelled',
           done_at = ${at}
      from ended e
     where d.account_id = e.account_id
       and d.endpoint_id = e.id
       and d.state = 'pending'`)

export interface SecretRow {
  readonly account_id: string
  readonly id: string
  readonly secret_sealed: Buffer
  /** Null for the one in use. */
  readonly ends_at: Date | null
}

export const insertSecret = (
  tx: Tx,
  secret: Omit<SecretRow, 'ends_at'> & { secret_kek_id: string; created_at: Date },
) =>
  tx.run(sql`
    insert into webhook_secrets (account_id, id, secret_sealed, secret_kek_id, created_at)
    values (${secret.account_id}, ${secret.id}, ${secret.secret_sealed}, ${secret.secret_kek_id}, ${secret.created_at})`)

/** The secret in use stops being it; it goes on signing beside the new one until `ends_at`. */
export const endSecret = (tx: Tx, account_id: string, ends_at: Date) =>
  tx.run(sql`
    update webhook_secrets
       set ends_at = ${ends_at}
     where account_id = ${account_id}
       and ends_at is null`)

/** Only one secret besides the one in use still signs: the newest before it. */
export const endPreviousSecrets = (tx: Tx, account_id: string, at: Date) =>
  tx.run(sql`
    update webhook_secrets
       set ends_at = ${at}
     where account_id = ${account_id}
       and ends_at > ${at}`)

export const countPendingTests = (tx: Tx, account_id: string, endpoint_id: string, max: number) =>
  tx.one<{ tests: number }>(sql`
    select count(*) as tests
      from (select 1
              from deliveries d
              join events e on e.account_id = d.account_id and e.id = d.event_id
             where d.account_id = ${account_id}
               and d.endpoint_id = ${endpoint_id}
               and d.state = 'pending'
               and e.type = 'test'
             limit ${max}) tests`)

/** Where deliveries of an endpoint go; undefined once it has ended. */
export interface Destination {
  readonly url: string
  readonly is_suspended: boolean
  readonly secrets: readonly { id: string; secret_sealed: string; ends_at: string | null }[]
}

export const selectDestination = (db: Queryable, account_id: string, endpoint_id: string) =>
  db.maybeOne<Destination>(sql`
    select e.url, a.status <> 'active' as is_suspended,
           (select json_agg(json_build_object('id', s.id, 'secret_sealed', encode(s.secret_sealed, 'base64'),
                                              'ends_at', s.ends_at))
              from webhook_secrets s
             where s.account_id = e.account_id
               and (s.ends_at is null or s.ends_at > clock_timestamp())) as secrets
      from webhook_endpoints e
      join accounts a on a.id = e.account_id
     where e.account_id = ${account_id}
       and e.id = ${endpoint_id}
       and e.ended_at is null`)

export interface DueDelivery {
  readonly event_id: string
  readonly round: number
  /** Attempts made so far in this round. */
  readonly attempts: number
  readonly created_at: Date
  readonly type: WebhookEventName
  readonly order_id: string | null
  readonly revision: number | null
  readonly event_created_at: Date
  readonly body_sealed: Buffer | null
}

export const selectDue = (
  db: Queryable,
  account_id: string,
  endpoint_id: string,
  now: Date,
  but: readonly string[],
  limit: number,
) =>
  db.many<DueDelivery>(sql`
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
     limit ${limit}`)

/** The earliest that is still to be done. */
export const selectNext = (db: Queryable, account_id: string, endpoint_id: string) =>
  db.one<{ next_at: Date | null }>(sql`
    select min(next_at) as next_at
      from deliveries
     where account_id = ${account_id}
       and endpoint_id = ${endpoint_id}
       and state = 'pending'`)

/** The bytes of an event are made once: whoever comes second is given the first ones. */
export const freezeBody = (db: Queryable, account_id: string, id: string, sealed: Buffer, kek_id: string) =>
  db.one<{ body_sealed: Buffer }>(sql`
    update events
       set body_sealed = coalesce(body_sealed, ${sealed}),
           body_kek_id = coalesce(body_kek_id, ${kek_id})
     where account_id = ${account_id}
       and id = ${id}
    returning body_sealed`)

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
}

/**
 * Writes down an attempt and what follows from it. Nothing when the delivery was cancelled or somebody else has made the
 * same attempt meanwhile.
 */
export const recordAttempt = (
  db: Queryable,
  a: Attempt,
  after: { state: 'pending' | 'delivered' | 'failed'; next_at: Date },
) =>
  db.run(sql`
    with done as (
      update deliveries
         set attempts = ${a.n},
             state = ${after.state},
             next_at = ${after.next_at},
             done_at = case when ${after.state} = 'pending' then null else ${a.finished_at}::timestamptz end
       where account_id = ${a.account_id}
         and endpoint_id = ${a.endpoint_id}
         and event_id = ${a.event_id}
         and state = 'pending'
         and round = ${a.round}
         and attempts = ${a.n}::smallint - 1
      returning account_id
    ), logged as (
      insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status, error,
                                     remote_address)
      select ${a.account_id}, ${a.endpoint_id}, ${a.event_id}, ${a.round}, ${a.n}, ${a.started_at}, ${a.finished_at}, ${a.status},
             ${a.error}, ${a.remote_address}::inet
        from done
    )
    update webhook_endpoints
       set last_delivered_at = case when ${a.error}::text is null then ${a.finished_at} else last_delivered_at end,
           last_failure_at = case when ${a.error}::text is null then last_failure_at else ${a.finished_at} end,
           last_error = case when ${a.error}::text is null then last_error else ${a.error} end,
           alerted_percent = case when ${a.error}::text is null then 0 else alerted_percent end
     where account_id = ${a.account_id}
       and id = ${a.endpoint_id}
       and exists (select from done)`)

/** Past its horizon without having been tried again: given up. */
export const expireDeliveries = (
  db: Queryable,
  account_id: string,
  endpoint_id: string,
  createdBefore: Date,
  now: Date,
) =>
  db.run(sql`
    update deliveries
       set state = 'failed',
           done_at = ${now}
     where account_id = ${account_id}
       and endpoint_id = ${endpoint_id}
       and state = 'pending'
       and created_at <= ${createdBefore}`)
