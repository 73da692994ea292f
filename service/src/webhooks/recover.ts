import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, statement, type Tx } from '../platform/database/db.ts'
import { wakeJob } from '../platform/jobs/jobs.ts'
import { idFloor } from '../platform/text/ids.ts'
import { type Refusal, refuse } from '../platform/trouble.ts'
import { DELIVER_QUEUE } from './deliver-queue.ts'
import type { DeliveryState } from './delivery-search.ts'
import { keepEndpoint } from './queries.ts'

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

/** `given up`: of all events that are kept, those that were attempted and given up. */
export type EventsToRecover = EventPeriod | 'given up'

export async function countRecoverable(
  db: Queryable,
  account_id: string,
  period: EventPeriod,
): Promise<Recoverable> {
  const lost = await countLost(db, account_id, period)
  const times = lost.flatMap(({ first_at, last_at }) => [Number(first_at), Number(last_at)])
  return {
    events: lost.reduce((sum, { events }) => sum + events, 0),
    first_at: times.length === 0 ? null : new Date(Math.min(...times)),
    last_at: times.length === 0 ? null : new Date(Math.max(...times)),
  }
}

/** By type and reason. */
export async function countLost(
  db: Queryable,
  account_id: string,
  wanted: EventsToRecover,
): Promise<LostEvents[]> {
  const text = `${LOST}
    select e.type, l.state, count(*) as events, min(e.created_at) as first_at, max(e.created_at) as last_at
      from lost l
     cross join lateral (select type, created_at
                           from events
                          where account_id = $1
                            and id = l.id
                         offset 0) e
     group by e.type, l.state
     order by e.type, l.state`
  return db.many<LostEvents>(statement(text, await lostValues(db, account_id, wanted)))
}

/**
 * Of the events of a period, those that no endpoint accepted and none is about to be sent. They are found by the deliveries that were
 * given up or cancelled, and among the events of the times without an endpoint: most events of a period are accepted, and are not
 * read. `offset 0` keeps the planner from joining whole tables: few events of many are lost.
 */
const LOST = `
    with candidates as materialized (
      select event_id as id, case when bool_or(state = 'failed') then 'failed' else 'cancelled' end as state
        from deliveries
       where account_id = $1
         and state in ('failed', 'cancelled')
         and (state = 'failed' or not $6)
         and event_id >= $2
         and event_id < $3
       group by event_id
      union all
      select e.id, 'unsent'
        from unnest($4::text[], $5::text[]) as gap (first_id, end_id)
       cross join lateral (select id
                             from events
                            where account_id = $1
                              and id >= gap.first_id collate "C"
                              and id < gap.end_id collate "C"
                           offset 0) e
       where not exists (select from deliveries d
                          where d.account_id = $1
                            and d.event_id = e.id
                         offset 0)
    ), lost as (
      select c.id, c.state
        from candidates c
       where not exists (select from deliveries d
                          where d.account_id = $1
                            and d.event_id = c.id
                            and d.state in ('delivered', 'pending')
                         offset 0)
    )`

async function lostValues(db: Queryable, account_id: string, wanted: EventsToRecover): Promise<unknown[]> {
  const isGivenUp = wanted === 'given up'
  const period = isGivenUp ? EVER : wanted
  const gaps = isGivenUp ? [] : gapsIn(period, await selectEndpointTimes(db, account_id))
  // Event ids sort by time, so the events of a period are a range of the primary key.
  const idAt = (ms: number) => idFloor('evt', ms)
  return [
    account_id,
    idAt(period.from.getTime()),
    idAt(period.until.getTime()),
    gaps.map(([start]) => idAt(start)),
    gaps.map(([, end]) => idAt(end)),
    isGivenUp,
  ]
}

const EVER: EventPeriod = { from: new Date(0), until: new Date('9999-12-31T00:00:00.000Z') }

const selectEndpointTimes = (db: Queryable, account_id: string) =>
  db.many<{ created_at: Date; ended_at: Date | null }>(sql`
    select created_at, ended_at
      from webhook_endpoints
     where account_id = ${account_id}
     order by created_at`)

/** More than two processes of a store may differ in time: events near the edge of a gap are looked at as well. */
const CLOCKS_APART_MS = 120_000

/** The times of a period in which there was no endpoint. At most one was live at a time. */
export function gapsIn(
  { from, until }: EventPeriod,
  endpoints: readonly { readonly created_at: Date; readonly ended_at: Date | null }[],
): [start: number, end: number][] {
  const gaps: [number, number][] = []
  let at = from.getTime()
  const end = until.getTime()
  for (const { created_at, ended_at } of endpoints) {
    const liveFrom = created_at.getTime() + CLOCKS_APART_MS
    const liveUntil = ended_at === null ? Number.POSITIVE_INFINITY : ended_at.getTime() - CLOCKS_APART_MS
    if (liveUntil <= liveFrom || liveUntil <= at || liveFrom >= end) continue
    if (liveFrom > at) gaps.push([at, liveFrom])
    at = liveUntil
  }
  if (at < end) gaps.push([at, end])
  return gaps
}

/**
 * Sends them to the current endpoint, oldest first, starting with the first attempt. Returns how many there were. The endpoint cannot
 * end meanwhile; sales and deliveries of the account go on.
 */
export async function recoverEvents(
  tx: Tx,
  account_id: string,
  wanted: EventsToRecover,
  nowMs: number,
  limit: number | null = null,
): Promise<number> {
  const endpoint = await keepEndpoint(tx, account_id)
  if (!endpoint) throw noEndpoint(account_id)
  const values = await lostValues(tx, account_id, wanted)
  const lost = await tx.many<{ id: string }>(
    statement(`${LOST} select l.id from lost l order by l.id limit $7`, [...values, limit]),
  )
  const ids = lost.map(({ id }) => id)
  const queued = await queueAgain(tx, { account_id, id: endpoint.id }, ids, nowMs, ['delivered', 'pending'])
  return queued.length
}

/** Of a recovered period, so that new events are sent in between and a receiver that is back is not flooded. */
const RECOVERED_PER_S = 20

/**
 * An existing delivery starts a new round, unless its state is one of `but`; a missing one is created. Returns the events that are queued
 * now by this.
 */
export async function queueAgain(
  tx: Tx,
  { account_id, id }: { readonly account_id: string; readonly id: string },
  event_ids: readonly string[],
  nowMs: number,
  but: readonly DeliveryState[],
): Promise<readonly string[]> {
  const now = new Date(nowMs)
  // Events are locked before their deliveries, in the order that retention uses.
  const kept = await tx.many<{ id: string }>(sql`
    select e.id
      from events e
     where e.account_id = ${account_id}
       and e.id = any(${event_ids})
     order by e.id
       for key share of e`)
  // The condition is checked on the row as it is once it is locked: two recoveries at once send an event once.
  const queued = await tx.many<{ event_id: string }>(sql`
    insert into deliveries as d (account_id, endpoint_id, event_id, created_at, next_at)
    select ${account_id}, ${id}, event_id, ${now}::timestamptz,
           ${now}::timestamptz + (place - 1) / ${RECOVERED_PER_S} * interval '1 second'
      from unnest(${kept.map((event) => event.id)}::text[]) with ordinality as k (event_id, place)
     order by place
        on conflict (account_id, event_id, endpoint_id) do update
       set state = 'pending', round = d.round + 1, attempts = 0, done_at = null, last_error = null,
           created_at = excluded.created_at, next_at = excluded.next_at
     where d.state <> all(${but})
    returning event_id`)
  if (queued.length > 0) await wakeJob(tx, account_id, DELIVER_QUEUE, id)
  return queued.map(({ event_id }) => event_id)
}

export function noEndpoint(account_id: string): Refusal {
  return refuse('webhook_not_configured', `Account ${account_id} has no webhook endpoint to send to.`)
}
