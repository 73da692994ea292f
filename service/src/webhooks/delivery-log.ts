import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'
import { keepEndpoint, lockEndpoint } from './queries.ts'
import { noEndpoint, queueAgain } from './recover.ts'

/** The delivery of one event to one endpoint. Never contains the body. */
export interface LoggedDelivery {
  readonly event_id: string
  readonly type: WebhookEventName
  readonly order_id: string | null
  readonly endpoint_id: string
  readonly state: 'pending' | 'delivered' | 'failed' | 'cancelled'
  readonly attempts: number
  readonly created_at: Date
  readonly next_at: Date
  readonly last_error: string | null
}

/** Newest first. */
export const listDeliveries = (db: Queryable, account_id: string, limit: number) =>
  db.many<LoggedDelivery>(sql`
    select e.id as event_id, e.type, e.order_id, d.endpoint_id, d.state, d.attempts, d.created_at, d.next_at,
           (select a.error
              from attempts_made a
             where a.account_id = d.account_id and a.endpoint_id = d.endpoint_id and a.event_id = d.event_id
             order by a.round desc, a.n desc
             limit 1) as last_error
      from events e
      join deliveries d on d.account_id = e.account_id and d.event_id = e.id
     where e.account_id = ${account_id}
     order by e.id desc
     limit ${limit}`)

export interface LoggedAttempt {
  readonly round: number
  readonly n: number
  readonly started_at: Date
  readonly ms: number
  readonly status: number | null
  readonly error: string | null
  readonly remote_address: string | null
}

export const listAttempts = (db: Queryable, account_id: string, event_id: string) =>
  db.many<LoggedAttempt>(sql`
    select round, n, started_at, (extract(epoch from finished_at - started_at) * 1000)::integer as ms, status, error,
           host(remote_address) as remote_address
      from attempts_made
     where account_id = ${account_id}
       and event_id = ${event_id}
     order by started_at, round, n`)

/** Sends one event again, accepted or not: the same id and bytes, to the current endpoint. */
export async function resendEvent(
  tx: Tx,
  account_id: string,
  event_id: string,
  nowMs: number,
): Promise<void> {
  const event = await tx.maybeOne(sql`
    select id
      from events
     where account_id = ${account_id}
       and id = ${event_id}`)
  const missing = () => refuse('not_found', `Account ${account_id} has no event ${event_id}.`)
  if (!event) throw missing()
  const endpoint = await lockEndpoint(tx, account_id)
  if (!endpoint) throw noEndpoint(account_id)
  // Retention may have removed it meanwhile.
  if ((await queueAgain(tx, endpoint, [event_id], nowMs, [])).length === 0) throw missing()
}

/** What became of events that were to be sent again; of those that are queued, an attempt is due or planned anyway. */
export type ResentEvents = Readonly<Record<'resent' | 'already_queued' | 'not_found', readonly string[]>>

/** Sends several events again, accepted or not, oldest first: the same ids and bytes, to the current endpoint, which cannot end meanwhile. */
export async function resendEvents(
  tx: Tx,
  account_id: string,
  event_ids: readonly string[],
  nowMs: number,
): Promise<ResentEvents> {
  const endpoint = await keepEndpoint(tx, account_id)
  if (!endpoint) throw noEndpoint(account_id)
  const resent = await queueAgain(tx, { account_id, id: endpoint.id }, event_ids, nowMs, ['pending'])
  const rest = event_ids.filter((id) => !resent.includes(id))
  const queued = await tx.many<{ event_id: string }>(sql`
    select event_id
      from deliveries
     where account_id = ${account_id}
       and endpoint_id = ${endpoint.id}
       and event_id = any(${rest})
     order by event_id`)
  const already_queued = queued.map(({ event_id }) => event_id)
  return { resent, already_queued, not_found: rest.filter((id) => !already_queued.includes(id)) }
}
