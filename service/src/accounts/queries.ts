import type { Scope } from '@shopwire/contract'
import { type Queryable, sql, timed } from '../platform/database/db.ts'
import { ACCOUNT_STATEMENTS } from './metrics.ts'

export type AccountStatus = 'active' | 'suspended'

export interface Account {
  readonly id: string
  readonly name: string
  readonly status: AccountStatus
  readonly access_version: number
  readonly created_at: Date
  /** Not null: closed permanently. */
  readonly closed_at: Date | null
}

export interface ApiKey {
  readonly account_id: string
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly created_at: Date
  readonly revoked_at: Date | null
  /** The key that this one was made to replace. */
  readonly rotated_from: string | null
}

/** A key that is not revoked, with everything a request needs to know about it and its account. */
export interface LiveKeyRow {
  readonly key_id: string
  readonly account_id: string
  readonly account_name: string
  readonly account_status: AccountStatus
  readonly scopes: readonly Scope[]
  readonly access_version: number
  readonly secret_sealed: Buffer
}

export const insertAccount = (tx: Queryable, id: string, name: string, created_at: Date) =>
  tx.one<Account>(sql`
    insert into accounts (id, name, created_at)
    values (${id}, ${name}, ${created_at})
    returning id, name, status, access_version, created_at, closed_at`)

export const selectAccount = (db: Queryable, id: string) =>
  db.maybeOne<Account>(sql`
    select id, name, status, access_version, created_at, closed_at
      from accounts
     where id = ${id}`)

export const selectAccounts = (db: Queryable, afterId: string, limit: number) =>
  db.many<Account>(sql`
    select id, name, status, access_version, created_at, closed_at
      from accounts
     where id > ${afterId}
     order by id
     limit ${limit}`)

export const updateAccountStatus = (tx: Queryable, id: string, status: AccountStatus) =>
  tx.maybeOne<Account>(sql`
    update accounts
       set status = ${status},
           access_version = access_version + 1
     where id = ${id}
    returning id, name, status, access_version, created_at, closed_at`)

/** Raises the access version too, because API processes cache the name with the keys of the account. */
export const updateAccountName = (tx: Queryable, id: string, name: string) =>
  tx.maybeOne<{ before: string }>(sql`
    update accounts a
       set name = ${name},
           access_version = a.access_version + 1
      from (select id, name from accounts where id = ${id} for no key update) old
     where a.id = old.id
    returning old.name as before`)

export const raiseAccessVersion = (tx: Queryable, id: string) =>
  tx.one<{ access_version: number }>(sql`
    update accounts
       set access_version = access_version + 1
     where id = ${id}
    returning access_version`)

export interface NewKeyRow {
  readonly account_id: string
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly secret_sealed: Buffer
  readonly secret_kek_id: string
  readonly created_at: Date
  /** The person who made it; null when an operator did. */
  readonly created_by: string | null
  readonly created_by_name: string | null
  readonly rotated_from: string | null
}

export const insertKey = (tx: Queryable, key: NewKeyRow) =>
  tx.one<ApiKey>(sql`
    insert into api_keys (account_id, id, name, scopes, secret_sealed, secret_kek_id, created_at, created_by, created_by_name,
                          rotated_from)
    values (${key.account_id}, ${key.id}, ${key.name}, ${key.scopes}, ${key.secret_sealed}, ${key.secret_kek_id},
            ${key.created_at}, ${key.created_by}, ${key.created_by_name}, ${key.rotated_from})
    returning account_id, id, name, scopes, created_at, revoked_at, rotated_from`)

export const selectKeys = (db: Queryable, account_id: string) =>
  db.many<ApiKey>(sql`
    select account_id, id, name, scopes, created_at, revoked_at, rotated_from
      from api_keys
     where account_id = ${account_id}
     order by created_at, id`)

/** Locks the key until the end of the transaction, so that changes of one key happen in sequence. */
export const lockKey = (tx: Queryable, account_id: string, id: string) =>
  tx.maybeOne<ApiKey>(sql`
    select account_id, id, name, scopes, created_at, revoked_at, rotated_from
      from api_keys
     where account_id = ${account_id}
       and id = ${id}
       for no key update`)

export const updateKeyName = (tx: Queryable, account_id: string, id: string, name: string) =>
  tx.run(sql`
    update api_keys
       set name = ${name}
     where account_id = ${account_id}
       and id = ${id}`)

/** The live key that was made to replace this one. */
export const selectReplacement = (tx: Queryable, account_id: string, id: string) =>
  tx.maybeOne<{ id: string; name: string }>(sql`
    select id, name
      from api_keys
     where account_id = ${account_id}
       and rotated_from = ${id}
       and revoked_at is null
     order by created_at desc
     limit 1`)

export const updateKeyRevoked = (tx: Queryable, id: string, at: Date) =>
  tx.maybeOne<ApiKey>(sql`
    update api_keys
       set revoked_at = coalesce(revoked_at, ${at})
     where id = ${id}
    returning account_id, id, name, scopes, created_at, revoked_at, rotated_from`)

export const selectLiveKeys = (db: Queryable, ids: readonly string[]) =>
  db.many<LiveKeyRow>(
    timed(
      ACCOUNT_STATEMENTS.readKey,
      sql`
    select k.id as key_id, k.account_id, k.scopes, k.secret_sealed, a.name as account_name, a.status as account_status,
           a.access_version
      from api_keys k
      join accounts a on a.id = k.account_id
     where k.id = any(${ids})
       and k.revoked_at is null`,
    ),
  )
