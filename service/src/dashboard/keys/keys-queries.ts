import type { Scope } from '@shopwire/contract'
import { type Queryable, sql } from '../../platform/database/db.ts'

/** A key with its recorded use. */
export interface KeyRow {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly created_at: Date
  readonly created_by_name: string | null
  readonly revoked_at: Date | null
  readonly rotated_from: string | null
  /** The live key that was made to replace this one. */
  readonly replaced_by: string | null
  readonly last_used_at: Date | null
  readonly last_address: string | null
}

/** Live ones first, newest first; then revoked ones, the last revoked first. With an id only that key. */
export const selectKeys = (db: Queryable, account_id: string, id: string | null, limit: number) =>
  db.many<KeyRow>(sql`
    select k.id, k.name, k.scopes, k.created_at, k.created_by_name, k.revoked_at, k.rotated_from, r.id as replaced_by,
           l.last_used_at, l.last_address
      from (select account_id, id, name, scopes, created_at, created_by_name, revoked_at, rotated_from
              from api_keys
             where account_id = ${account_id}
               and (${id}::text is null or id = ${id}::text)
             order by revoked_at desc nulls first, created_at desc, id
             limit ${limit}) k
      left join (select distinct on (rotated_from) rotated_from, id
                   from api_keys
                  where account_id = ${account_id}
                    and rotated_from is not null
                    and revoked_at is null
                  order by rotated_from, created_at desc, id) r on r.rotated_from = k.id
      left join key_last_uses l on l.account_id = k.account_id and l.key_id = k.id
     order by k.revoked_at desc nulls first, k.created_at desc, k.id`)

/** The hours in which one key was used, as three lists of the same length. Hours are counted since 1970. */
export interface KeyHours {
  readonly key_id: string
  readonly hours: readonly number[]
  readonly requests: readonly number[]
  readonly orders: readonly number[]
}

export const selectKeyHours = (db: Queryable, account_id: string, ids: readonly string[], from: Date) =>
  db.many<KeyHours>(sql`
    select key_id, array_agg((extract(epoch from hour) / 3600)::bigint) as hours, array_agg(requests) as requests,
           array_agg(orders) as orders
      from key_usage
     where account_id = ${account_id}
       and key_id = any(${ids})
       and hour >= ${from}
     group by key_id`)

export const countKeys = (db: Queryable, account_id: string) =>
  db.one<{ live: number; spending: number; all_keys: number }>(sql`
    select count(*) filter (where revoked_at is null) as live,
           count(*) filter (where revoked_at is null and 'orders:write' = any(scopes)) as spending,
           count(*) as all_keys
      from api_keys
     where account_id = ${account_id}`)

/** The last address of each hour since `from`, without repetitions, latest use first. */
export const selectAddresses = (db: Queryable, account_id: string, id: string, from: Date, limit: number) =>
  db.many<{ address: string; last_used_at: Date }>(sql`
    select last_address as address, max(last_used_at) as last_used_at
      from key_usage
     where account_id = ${account_id}
       and key_id = ${id}
       and hour >= ${from}
     group by last_address
     order by max(last_used_at) desc
     limit ${limit}`)
