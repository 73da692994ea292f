import type { LiveTopic } from '@shopwire/contract/dashboard'
import { type Queryable, sql } from '../../platform/database/db.ts'

/** Differs from an earlier value if something in the topic has changed since. */
export type AccountVersions = Readonly<Record<LiveTopic, string>> & { readonly account_id: string }

/** For several accounts at once, whatever account the connection is set to: these numbers reveal nothing about any of them. */
export function readVersions(db: Queryable, account_ids: readonly string[]): Promise<AccountVersions[]> {
  return db.many<AccountVersions>(sql`
    select v.account_id, v.orders::text, v.balance::text, v.deliveries::text, v.webhook::text, v.keys::text, v.team::text
      from account_versions(${account_ids}) v`)
}
