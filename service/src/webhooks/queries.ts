import { type Queryable, sql, type Tx } from '../platform/database/db.ts'

export interface EndpointRow {
  readonly account_id: string
  readonly id: string
  readonly url: string
  readonly set_by: string
  /** As it was then; null for a key. */
  readonly set_by_name: string | null
  readonly created_at: Date
  readonly last_delivered_at: Date | null
  readonly last_failure_at: Date | null
  readonly last_error: string | null
}

/** Serialises changes of an account's endpoint and secrets. */
export const lockAccount = (tx: Tx, account_id: string) =>
  tx.one(sql`
    select id
      from accounts
     where id = ${account_id}
       for no key update`)

/** Waits for events that are being written for the endpoint, so that ending it cancels those too. */
export const lockEndpoint = (tx: Tx, account_id: string) =>
  tx.maybeOne<EndpointRow>(sql`
    select account_id, id, url, set_by, set_by_name, created_at, last_delivered_at, last_failure_at, last_error
      from webhook_endpoints
     where account_id = ${account_id}
       and ended_at is null
       for update`)

/** Keeps the endpoint from ending. Unlike `lockEndpoint` it holds up neither sales nor deliveries. */
export const keepEndpoint = (tx: Tx, account_id: string) =>
  tx.maybeOne<{ id: string }>(sql`
    select id
      from webhook_endpoints
     where account_id = ${account_id}
       and ended_at is null
       for key share`)

export interface HealthRow extends EndpointRow {
  readonly pending: number
  readonly failed: number
}

export const selectHealth = (db: Queryable, account_id: string) =>
  db.maybeOne<HealthRow>(sql`
    select e.account_id, e.id, e.url, e.set_by, e.set_by_name, e.created_at, e.last_delivered_at, e.last_failure_at,
           e.last_error,
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
  endpoint: Pick<EndpointRow, 'account_id' | 'id' | 'url' | 'set_by' | 'set_by_name' | 'created_at'>,
) =>
  tx.run(sql`
    insert into webhook_endpoints (account_id, id, url, set_by, set_by_name, created_at)
    values (${endpoint.account_id}, ${endpoint.id}, ${endpoint.url}, ${endpoint.set_by}, ${endpoint.set_by_name},
            ${endpoint.created_at})`)

/**
 * Ends the endpoint and cancels everything queued for it. The end is the time of the change, not of the request, which may have
 * waited for a lock: deliveries sent in the meantime were sent before the end.
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
  /** Null for the current one. */
  readonly ends_at: Date | null
}

export const insertSecret = (
  tx: Tx,
  secret: Omit<SecretRow, 'ends_at'> & { secret_kek_id: string; created_at: Date },
) =>
  tx.run(sql`
    insert into webhook_secrets (account_id, id, secret_sealed, secret_kek_id, created_at)
    values (${secret.account_id}, ${secret.id}, ${secret.secret_sealed}, ${secret.secret_kek_id}, ${secret.created_at})`)

/** Replaces the current secret; it still signs beside the new one until `ends_at`. */
export const endSecret = (tx: Tx, account_id: string, ends_at: Date) =>
  tx.run(sql`
    update webhook_secrets
       set ends_at = ${ends_at}
     where account_id = ${account_id}
       and ends_at is null`)

/** Ends all older secrets, so that only the newest previous one still signs beside the current one. */
export const endPreviousSecrets = (tx: Tx, account_id: string, at: Date) =>
  tx.run(sql`
    update webhook_secrets
       set ends_at = ${at}
     where account_id = ${account_id}
       and ends_at > ${at}`)
