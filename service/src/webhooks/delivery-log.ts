import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, type Tx } from '../platform/db.ts'
import { idFloor } from '../platform/ids.ts'
import { wakeJob } from '../platform/jobs.ts'
import { refuse } from '../platform/trouble.ts'
import { DELIVER_QUEUE } from './endpoint.ts'
import { type EndpointRow, lockEndpoint } from './queries.ts'

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
              from delivery_attempts a
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
      from delivery_attempts
     where account_id = ${account_id}
       and event_id = ${event_id}
     order by started_at, round, n`)

/** Events of a period that no endpoint accepted, and how many deliveries sending them to the current endpoint would make. */
export interface Recoverable {
  readonly events: number
  readonly first_at: Date | null
  readonly last_at: Date | null
}

/** Why no endpoint accepted it: given up, cancelled with its endpoint, or there was no endpoint. */
export interface LostEvents extends Recoverable {
  readonly type: WebhookEventName
  readonly state: 'failed' | 'cancelled' | 'unsent'
}

export interface EventPeriod {
  readonly from: Date
  readonly until: Date
}

export async function countRecoverable(
  db: Queryable,
  account_id: string,
  period: EventPeriod,
): Promise<Recoverable> {
  const lost = await countLost(db, account_id, period)
  const times = lost.flatMap(({ first_at, last_at }) => [first_at?.getTime() ?? 0, last_at?.getTime() ?? 0])
  return {
    events: lost.reduce((sum, { events }) => sum + events, 0),
    first_at: times.length === 0 ? null : new Date(Math.min(...times)),
    last_at: times.length === 0 ? null : new Date(Math.max(...times)),
  }
}

/** By type and reason. */
export function countLost(db: Queryable, account_id: string, period: EventPeriod): Promise<LostEvents[]> {
  const [first, end] = idsOf(period)
  return db.many<LostEvents>(sql`
    select e.type, coalesce(d.state, 'unsent') as state, count(*) as events, min(e.created_at) as first_at,
           max(e.created_at) as last_at
      from events e
      left join (select event_id, bool_or(state in ('delivered', 'pending')) as is_fine,
                        case when bool_or(state = 'failed') then 'failed' else 'cancelled' end as state
                   from deliveries
                  where account_id = ${account_id}
                    and event_id >= ${first}
                    and event_id < ${end}
                  group by event_id) d on d.event_id = e.id
     where e.account_id = ${account_id}
       and e.id >= ${first}
       and e.id < ${end}
       and d.is_fine is not true
     group by 1, 2
     order by 1, 2`)
}

/** Event ids sort by time, so the events of a period are a range of the primary key. */
const idsOf = ({ from, until }: EventPeriod) =>
  [idFloor('evt', from.getTime()), idFloor('evt', until.getTime())] as const

/**
 * Sends them to the current endpoint, oldest first, starting with the first attempt. Returns how many there were. They are looked for
 * before the endpoint is locked, because sales of this account wait for that lock, and checked again afterwards.
 */
export async function recoverEvents(
  tx: Tx,
  account_id: string,
  period: EventPeriod,
  nowMs: number,
  limit: number | null = null,
): Promise<number> {
  const [first, end] = idsOf(period)
  const lost = await tx.many<{ id: string }>(sql`
    select e.id
      from events e
     where e.account_id = ${account_id}
       and e.id >= ${first}
       and e.id < ${end}
       and not exists (select from deliveries o
                        where o.account_id = e.account_id
                          and o.event_id = e.id
                          and o.state in ('delivered', 'pending'))
     order by e.id
     limit ${limit}`)
  const endpoint = await lockLive(tx, account_id)
  return queueAgain(
    tx,
    endpoint,
    lost.map(({ id }) => id),
    nowMs,
    true,
  )
}

/** Sends one event again, accepted or not: the same id and bytes, to the current endpoint. */
export async function resendEvent(
  tx: Tx,
  account_id: string,
  event_id: string,
  nowMs: number,
): Promise<void> {
  const endpoint = await lockLive(tx, account_id)
  const queued = await queueAgain(tx, endpoint, [event_id], nowMs, false)
  if (queued === 0) throw refuse('not_found', `Account ${account_id} has no event ${event_id}.`)
}

/** Of a recovered period, so that new events are sent in between and a receiver that is back is not flooded. */
const RECOVERED_PER_S = 20

/**
 * An existing delivery starts a new round; a missing one is created. Returns how many of the events exist and, of a recovered period,
 * were not accepted or queued meanwhile.
 */
async function queueAgain(
  tx: Tx,
  endpoint: EndpointRow,
  event_ids: readonly string[],
  nowMs: number,
  isOnlyLost: boolean,
): Promise<number> {
  const { account_id, id } = endpoint
  const now = new Date(nowMs)
  // Events are locked before their deliveries, in the order that retention uses.
  const kept = await tx.many<{ id: string }>(sql`
    select e.id
      from events e
     where e.account_id = ${account_id}
       and e.id = any(${event_ids})
       and not (${isOnlyLost} and exists (select from deliveries o
                                           where o.account_id = e.account_id
                                             and o.event_id = e.id
                                             and o.state in ('delivered', 'pending')))
     order by e.id
       for key share of e`)
  const queued = await tx.run(sql`
    insert into deliveries as d (account_id, endpoint_id, event_id, created_at, next_at)
    select ${account_id}, ${id}, event_id, ${now}::timestamptz,
           ${now}::timestamptz + (place - 1) / ${RECOVERED_PER_S} * interval '1 second'
      from unnest(${kept.map((event) => event.id)}::text[]) with ordinality as k (event_id, place)
        on conflict (account_id, event_id, endpoint_id) do update
       set state = 'pending', round = d.round + 1, attempts = 0, done_at = null, last_error = null,
           created_at = excluded.created_at, next_at = excluded.next_at`)
  if (queued > 0) await wakeJob(tx, account_id, DELIVER_QUEUE, id)
  return queued
}

async function lockLive(tx: Tx, account_id: string) {
  const endpoint = await lockEndpoint(tx, account_id)
  if (!endpoint)
    throw refuse('webhook_not_configured', `Account ${account_id} has no webhook endpoint to send to.`)
  return endpoint
}
