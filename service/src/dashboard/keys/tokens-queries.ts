import type { TokenRight } from '@shopwire/contract/dashboard'
import { type Queryable, sql, type Tx } from '../../platform/database/db.ts'

export interface TokenRow {
  readonly id: string
  readonly person_id: string
  readonly name: string
  readonly rights: readonly TokenRight[]
  readonly with_links: boolean
  readonly created_at: Date
  readonly expires_at: Date
  readonly last_used_at: Date | null
  readonly revoked_at: Date | null
}

export interface NewTokenRow extends Omit<TokenRow, 'last_used_at' | 'revoked_at'> {
  readonly account_id: string
  readonly token_hash: Buffer
}

export const insertToken = (tx: Tx, token: NewTokenRow) =>
  tx.run(sql`
    insert into personal_tokens (account_id, id, person_id, name, token_hash, rights, with_links, created_at, expires_at)
    values (${token.account_id}, ${token.id}, ${token.person_id}, ${token.name}, ${token.token_hash}, ${token.rights},
            ${token.with_links}, ${token.created_at}, ${token.expires_at})`)

/** Newest first. With an id only that token. */
export const selectTokens = (
  db: Queryable,
  account_id: string,
  person_id: string,
  id: string | null,
  limit: number,
) =>
  db.many<TokenRow>(sql`
    select id, person_id, name, rights, with_links, created_at, expires_at, last_used_at, revoked_at
      from personal_tokens
     where account_id = ${account_id}
       and person_id = ${person_id}
       and (${id}::text is null or id = ${id}::text)
     order by id desc
     limit ${limit}`)

export const countUsableTokens = (tx: Tx, account_id: string, person_id: string, now: Date) =>
  tx.one<{ usable: number }>(sql`
    select count(*) as usable
      from personal_tokens
     where account_id = ${account_id}
       and person_id = ${person_id}
       and revoked_at is null
       and expires_at > ${now}`)

export const updateTokenRevoked = (tx: Tx, account_id: string, id: string, at: Date) =>
  tx.run(sql`
    update personal_tokens
       set revoked_at = ${at}
     where account_id = ${account_id}
       and id = ${id}
       and revoked_at is null`)

export const updateTokenUsed = (tx: Tx, account_id: string, id: string, at: Date, unlessAfter: Date) =>
  tx.run(sql`
    update personal_tokens
       set last_used_at = ${at}
     where account_id = ${account_id}
       and id = ${id}
       and (last_used_at is null or last_used_at < ${unlessAfter})`)

/** Which of these tokens are usable now, whatever account they belong to. */
export const findTokens = (db: Queryable, hashes: readonly Buffer[]) =>
  db.many<{ token_hash: Buffer; account_id: string; id: string }>(sql`
    select token_hash, account_id, id
      from find_personal_tokens(${hashes}::bytea[])`)

export interface TokenFacts {
  readonly person_id: string
  readonly person_name: string
  readonly rights: readonly TokenRight[]
  readonly with_links: boolean
  readonly account_name: string
  /** The URL of the account's webhook, if it has one. */
  readonly endpoint_url: string | null
}

export const selectTokenFacts = (tx: Tx, account_id: string, id: string) =>
  tx.maybeOne<TokenFacts>(sql`
    select t.person_id, p.name as person_name, t.rights, t.with_links, a.name as account_name, e.url as endpoint_url
      from personal_tokens t
      join people p on p.id = t.person_id
      join accounts a on a.id = t.account_id
      left join webhook_endpoints e on e.account_id = t.account_id and e.ended_at is null
     where t.account_id = ${account_id}
       and t.id = ${id}`)
