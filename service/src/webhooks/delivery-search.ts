import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, statement } from '../platform/db.ts'
import { idFloor } from '../platform/ids.ts'

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'cancelled'

export interface FoundDelivery {
  readonly event_id: string
  readonly endpoint_id: string
  readonly type: WebhookEventName
  readonly order_id: string | null
  readonly event_created_at: Date
  readonly state: DeliveryState
  readonly attempts: number
  readonly round: number
  readonly next_at: Date
  readonly last_error: string | null
  readonly last_status: number | null
  readonly last_ms: number | null
}

export interface DeliveryFilter {
  readonly states?: readonly DeliveryState[]
  readonly type?: WebhookEventName
  /** Errors of the last attempt: exact ones, and `http_4%` for a class. */
  readonly errors?: readonly string[]
  /** No error of the above: for what is left over. */
  readonly errorsNot?: readonly string[]
  readonly order_id?: string
  readonly from?: Date
  readonly until?: Date
}

/** A place in the list. */
export interface DeliveryPlace {
  readonly event_id: string
  readonly endpoint_id: string
}

/** Towards older rows from here, or towards newer ones. */
export type DeliveryFrom =
  | { readonly before: DeliveryPlace }
  | { readonly after: DeliveryPlace }
  | Record<string, never>

/**
 * Deliveries of an account, newest first; going `after` a place, the nearest come first. Event ids sort by time, so the primary key gives
 * this order. Each wanted state that is rare has an index of its own, which is read in that order and merged.
 */
export async function searchDeliveries(
  db: Queryable,
  account_id: string,
  filter: DeliveryFilter,
  from: DeliveryFrom,
  limit: number,
): Promise<FoundDelivery[]> {
  if (filter.states?.length === 0) return []
  const values: unknown[] = []
  const value = (of: unknown) => `$${values.push(of)}`
  const account = value(account_id)
  const isForward = 'after' in from
  const direction = isForward ? 'asc' : 'desc'
  const conditions = [`d.account_id = ${account}`, ...conditionsOf(filter, value), ...placeOf(from, value)]
  const count = value(limit)
  const branch = (state?: DeliveryState) => `
    (select d.account_id, d.event_id, d.endpoint_id, e.type, e.order_id, e.created_at as event_created_at, d.state, d.attempts,
            d.round, d.next_at, d.last_error
       from deliveries d
       join events e on e.account_id = d.account_id and e.id = d.event_id
      where ${[...conditions, ...(state ? [`d.state = '${state}'`] : [])].join('\n        and ')}
      order by d.event_id ${direction}, d.endpoint_id ${direction}
      limit ${count})`
  const branches = (filter.states ?? [undefined]).map(branch).join('\n    union all')
  return db.many<FoundDelivery>(
    statement(
      `select f.event_id, f.endpoint_id, f.type, f.order_id, f.event_created_at, f.state, f.attempts, f.round, f.next_at, f.last_error,
       a.status as last_status, a.ms as last_ms
  from (select account_id, event_id, endpoint_id, type, order_id, event_created_at, state, attempts, round, next_at, last_error
          from (${branches}) merged
         order by event_id ${direction}, endpoint_id ${direction}
         limit ${count}) f
  left join lateral (select l.status, (extract(epoch from l.finished_at - l.started_at) * 1000)::integer as ms
                       from delivery_attempts l
                      where l.account_id = f.account_id
                        and l.event_id = f.event_id
                        and l.endpoint_id = f.endpoint_id
                      order by l.round desc, l.n desc
                      limit 1) a on true
 order by f.event_id ${direction}, f.endpoint_id ${direction}`,
      values,
    ),
  )
}

function conditionsOf(filter: DeliveryFilter, value: (of: unknown) => string): string[] {
  const { type, errors, errorsNot, order_id, from, until } = filter
  return [
    ...(type === undefined ? [] : [`e.type = ${value(type)}`]),
    ...(order_id === undefined ? [] : [`e.order_id = ${value(order_id)}`]),
    ...(errors === undefined ? [] : [`d.last_error like any (${value(errors)}::text[])`]),
    ...(errorsNot === undefined
      ? []
      : ['d.last_error is not null', `not d.last_error like any (${value(errorsNot)}::text[])`]),
    ...(from === undefined ? [] : bothIds('>=', value(idFloor('evt', from.getTime())))),
    ...(until === undefined ? [] : bothIds('<', value(idFloor('evt', until.getTime())))),
  ]
}

/** On both tables, whichever the list is read from. */
const bothIds = (compare: string, id: string) => [`d.event_id ${compare} ${id}`, `e.id ${compare} ${id}`]

function placeOf(from: DeliveryFrom, value: (of: unknown) => string): string[] {
  const place = 'before' in from ? from.before : 'after' in from ? from.after : undefined
  if (!place) return []
  const compare = 'before' in from ? '<' : '>'
  const event_id = value(place.event_id)
  return [
    `(d.event_id, d.endpoint_id) ${compare} (${event_id}, ${value(place.endpoint_id)})`,
    `e.id ${compare}= ${event_id}`,
  ]
}

export interface DeliveryCount {
  readonly place: number
  readonly accepted: number
  readonly retrying: number
  readonly failed: number
}

/** How the events of each period ended, by the time of the event. Periods are adjacent; `times` are their limits. */
export const countDeliveries = (db: Queryable, account_id: string, times: readonly Date[]) => {
  const ids = times.map((time) => idFloor('evt', time.getTime()))
  return db.many<DeliveryCount>(sql`
    select p.place, c.accepted, c.retrying, c.failed
      from unnest(${ids.slice(0, -1)}::text[], ${ids.slice(1)}::text[]) with ordinality as p (first_id, end_id, place)
     cross join lateral (select count(*) filter (where d.state = 'delivered') as accepted,
                                count(*) filter (where d.state = 'pending') as retrying,
                                count(*) filter (where d.state = 'failed') as failed
                           from deliveries d
                          where d.account_id = ${account_id}
                            and d.event_id >= p.first_id collate "C"
                            and d.event_id < p.end_id collate "C") c
     order by p.place`)
}
