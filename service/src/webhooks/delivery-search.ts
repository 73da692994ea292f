import type { WebhookEventName } from '@shopwire/contract'
import { type Queryable, sql, statement } from '../platform/database/db.ts'
import { idFloor } from '../platform/text/ids.ts'

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
  /** Every other error, for the remaining class. */
  readonly errorsNot?: readonly string[]
  readonly order_id?: string
  readonly event_ids?: readonly string[]
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

/** Types that every order has: among the latest events there are always some. The others have an index. */
const FREQUENT: readonly WebhookEventName[] = ['order.accepted', 'order.delivered']

/**
 * Deliveries of an account, newest first; going `after` a place, the nearest come first. Event ids sort by time, so the primary keys
 * give this order. Each wanted state that is rare has an index, which is read in that order and merged. The list is read from the table
 * whose index leaves out most; `offset 0` keeps the planner from reading both side by side, which can mean all of them.
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
  const direction = 'after' in from ? 'asc' : 'desc'
  const ofDelivery = [`d.account_id = ${account}`, ...errorConditions(filter, value)]
  const ofEvent = [`e.account_id = ${account}`, ...eventConditions(filter, value)]
  const isByEvent =
    filter.order_id !== undefined || (filter.type !== undefined && !FREQUENT.includes(filter.type))
  const place = placeConditions(filter, from, isByEvent ? 'e.id' : 'd.event_id', value)
  const count = value(limit)
  const where = (conditions: readonly string[]) => conditions.join(' and ')
  const branch = (state?: DeliveryState) => {
    const wanted = state ? [...ofDelivery, `d.state = '${state}'`] : ofDelivery
    const events = (conditions: readonly string[]) => `
           select e.id, e.type, e.order_id, e.created_at from events e where ${where(conditions)}`
    const deliveries = (conditions: readonly string[]) => `
           select d.event_id, d.endpoint_id, d.state, d.attempts, d.round, d.next_at, d.last_error
             from deliveries d where ${where(conditions)}`
    const [driver, other] = isByEvent
      ? [events([...ofEvent, ...place]), deliveries([...wanted, 'd.event_id = e.id'])]
      : [deliveries([...wanted, ...place]), events([...ofEvent, 'e.id = d.event_id'])]
    const [first, second, id] = isByEvent ? ['e', 'd', 'e.id'] : ['d', 'e', 'd.event_id']
    return `
    (select e.id as event_id, d.endpoint_id, e.type, e.order_id, e.created_at as event_created_at, d.state, d.attempts, d.round,
            d.next_at, d.last_error
       from (${driver}) ${first}
      cross join lateral (${other} offset 0) ${second}
      ${isByEvent ? beyond(from, value) : ''}
      order by ${id} ${direction}, d.endpoint_id ${direction}
      limit ${count})`
  }
  const branches = (filter.states ?? [undefined]).map(branch).join('\n    union all')
  return db.many<FoundDelivery>(
    statement(
      `select f.event_id, f.endpoint_id, f.type, f.order_id, f.event_created_at, f.state, f.attempts, f.round, f.next_at, f.last_error,
       a.status as last_status, a.ms as last_ms
  from (select event_id, endpoint_id, type, order_id, event_created_at, state, attempts, round, next_at, last_error
          from (${branches}) merged
         order by event_id ${direction}, endpoint_id ${direction}
         limit ${count}) f
  left join lateral (select l.status, (extract(epoch from l.finished_at - l.started_at) * 1000)::integer as ms
                       from attempts_shown l
                      where l.account_id = ${account}
                        and l.event_id = f.event_id
                        and l.endpoint_id = f.endpoint_id
                      order by l.round desc, l.n desc
                      limit 1) a on true
 order by f.event_id ${direction}, f.endpoint_id ${direction}`,
      values,
    ),
  )
}

type Value = (of: unknown) => string

const eventConditions = ({ type, order_id }: DeliveryFilter, value: Value): string[] => [
  ...(type === undefined ? [] : [`e.type = ${value(type)}`]),
  ...(order_id === undefined ? [] : [`e.order_id = ${value(order_id)}`]),
]

const errorConditions = ({ errors, errorsNot }: DeliveryFilter, value: Value): string[] => [
  ...(errors === undefined ? [] : [`d.last_error like any (${value(errors)}::text[])`]),
  ...(errorsNot === undefined
    ? []
    : ['d.last_error is not null', `not d.last_error like any (${value(errorsNot)}::text[])`]),
]

/** On the table that the list is read from. */
function placeConditions(
  { event_ids, from, until }: DeliveryFilter,
  place: DeliveryFrom,
  id: 'e.id' | 'd.event_id',
  value: Value,
): string[] {
  const at = placeOf(place)
  const compare = 'before' in place ? '<' : '>'
  return [
    ...(event_ids === undefined ? [] : [`${id} = any(${value(event_ids)})`]),
    ...(from === undefined ? [] : [`${id} >= ${value(idFloor('evt', from.getTime()))}`]),
    ...(until === undefined ? [] : [`${id} < ${value(idFloor('evt', until.getTime()))}`]),
    ...(at === undefined
      ? []
      : id === 'd.event_id'
        ? [`(d.event_id, d.endpoint_id) ${compare} (${value(at.event_id)}, ${value(at.endpoint_id)})`]
        : [`e.id ${compare}= ${value(at.event_id)}`]),
  ]
}

/** Read from the events, a page may end between two deliveries of one event. */
function beyond(from: DeliveryFrom, value: Value): string {
  const at = placeOf(from)
  if (at === undefined) return ''
  const compare = 'before' in from ? '<' : '>'
  return `where (e.id, d.endpoint_id) ${compare} (${value(at.event_id)}, ${value(at.endpoint_id)})`
}

const placeOf = (from: DeliveryFrom): DeliveryPlace | undefined =>
  'before' in from ? from.before : 'after' in from ? from.after : undefined

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
