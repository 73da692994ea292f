import type { Scope, WebhookEventName } from '@shopwire/contract'
import type { webhookEventNames } from '@shopwire/contract/dashboard'
import { type Queryable, sql } from '../../platform/database/db.ts'

export interface EndpointFacts {
  readonly endpoint_id: string
  readonly set_by: string
  readonly set_by_name: string | null
  readonly created_at: Date
  readonly alerted_percent: number
  readonly retrying: number
  readonly is_suspended: boolean
  /** The key that set it; null when a person did. */
  readonly key_name: string | null
  readonly key_scopes: readonly Scope[] | null
  readonly key_revoked_at: Date | null
}

/** What the page shows about the live endpoint besides its health. */
export const selectEndpointFacts = (db: Queryable, account_id: string) =>
  db.maybeOne<EndpointFacts>(sql`
    select e.id as endpoint_id, e.set_by, e.set_by_name, e.created_at, e.alerted_percent,
           (select count(*)
              from deliveries d
             where d.account_id = e.account_id and d.endpoint_id = e.id and d.state = 'pending' and d.attempts > 0) as retrying,
           a.status <> 'active' as is_suspended, k.name as key_name, k.scopes as key_scopes, k.revoked_at as key_revoked_at
      from webhook_endpoints e
      join accounts a on a.id = e.account_id
      left join api_keys k on k.account_id = e.account_id and k.id = e.set_by
     where e.account_id = ${account_id}
       and e.ended_at is null`)

export interface SigningSecretRow {
  readonly id: string
  readonly secret_sealed: Buffer
  readonly created_at: Date
  readonly ends_at: Date | null
}

/** The current secret, then the previous one while it still signs. */
export const selectSigningSecrets = (db: Queryable, account_id: string) =>
  db.many<SigningSecretRow>(sql`
    select id, secret_sealed, created_at, ends_at
      from webhook_secrets
     where account_id = ${account_id}
       and (ends_at is null or ends_at > clock_timestamp())
     order by ends_at nulls first`)

/** One index entry per type: the rare types have an index, the others are among the latest events. */
export const selectEventsSeen = (
  db: Queryable,
  account_id: string,
  types: readonly (typeof webhookEventNames)[number][],
) =>
  db.many<{ type: WebhookEventName; last_at: Date }>(sql`
    select t.type, e.created_at as last_at
      from unnest(${types}::text[]) with ordinality as t (type, place)
     cross join lateral (select created_at
                           from events
                          where account_id = ${account_id}
                            and type = t.type
                          order by id desc
                          limit 1) e
     order by t.place`)
