import { type Queryable, sql } from '../platform/database/db.ts'

/**
 * An address outside the team to which an account wants its balance alerts sent. The account chooses who gets mail from us, so the
 * address gets only a confirmation link until its owner has opened it.
 */
export interface AlertAddress {
  readonly email: string
  /** When the latest link was mailed. */
  readonly asked_at: Date
  readonly confirmed_at: Date | null
}

export const ALERT_LINK_VALID_MS = 7 * 86_400_000

export const selectAddresses = (tx: Queryable, account_id: string) =>
  tx.many<AlertAddress>(sql`
    select email, asked_at, confirmed_at
      from alert_addresses
     where account_id = ${account_id}
     order by email`)

export const selectConfirmed = (tx: Queryable, account_id: string) =>
  tx.many<{ email: string }>(sql`
    select email
      from alert_addresses
     where account_id = ${account_id}
       and confirmed_at is not null
     order by email`)

/** For an address that is not confirmed yet, an earlier link stops working. A confirmed address is left alone. */
export const putAddress = (
  tx: Queryable,
  wanted: { account_id: string; email: string; token_hash: Buffer; asked_at: Date },
) =>
  tx.run(sql`
    insert into alert_addresses as a (account_id, email, token_hash, asked_at)
    values (${wanted.account_id}, ${wanted.email}, ${wanted.token_hash}, ${wanted.asked_at})
        on conflict (account_id, email) do update
       set token_hash = excluded.token_hash,
           asked_at = excluded.asked_at
     where a.confirmed_at is null`)

export const deleteAddress = (tx: Queryable, account_id: string, email: string) =>
  tx.run(sql`
    delete from alert_addresses
     where account_id = ${account_id}
       and email = ${email}`)

/** Works once; undefined for a link that was used, replaced or withdrawn, or is too old. */
export const confirmAddress = (tx: Queryable, account_id: string, token_hash: Buffer, nowMs: number) =>
  tx.maybeOne<{ email: string }>(sql`
    update alert_addresses
       set confirmed_at = ${new Date(nowMs)},
           token_hash = null
     where account_id = ${account_id}
       and token_hash = ${token_hash}
       and asked_at > ${new Date(nowMs - ALERT_LINK_VALID_MS)}
 returning email`)
