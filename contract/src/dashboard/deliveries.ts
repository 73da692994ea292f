import Type, { type Static } from 'typebox'
import { EVENT_ID_PATTERN, ORDER_ID_PATTERN } from '../ids.ts'
import { Count, closed, DateTime, idsText, nullable } from '../shapes.ts'
import { SELECTED_MAX } from './orders.ts'
import { builders, roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'
import { webhookEventNames } from './webhook.ts'

/** As people read it: `retrying` covers every delivery that is waiting for an attempt, the first one included. */
export const deliveryStates = ['accepted', 'retrying', 'failed', 'cancelled'] as const
export type DeliveryState = (typeof deliveryStates)[number]

/** How the last attempt ended. `connection`: no or a broken connection; `refused`: this store does not send to that address. */
export const codeClasses = [
  '2xx',
  '3xx',
  '4xx',
  '5xx',
  'timeout',
  'connection',
  'tls',
  'refused',
  'other',
] as const
export type CodeClass = (typeof codeClasses)[number]

export const DELIVERIES_LIMIT_MAX = 100
export const DELIVERIES_LIMIT_DEFAULT = 50
/** Rows of one CSV file. */
export const DELIVERY_EXPORT_MAX = 100_000
/** Of the period that one recovery covers, and of the events that it sends. */
export const RECOVER_DAYS_MAX = 7
export const RECOVER_EVENTS_MAX = 10_000

const State = Type.Enum(deliveryStates, { type: 'string' })
const EventType = Type.Enum(webhookEventNames, { type: 'string' })
const EventId = Type.String({ pattern: EVENT_ID_PATTERN })
/** Where a page ends: an event and the endpoint it was sent to. */
const Cursor = Type.String({ pattern: '^evt_[0-9a-z]{26}\\.whe_[0-9a-z]{26}$' })

export const DeliveryRow = closed({
  event_id: EventId,
  endpoint_id: Type.String(),
  type: EventType,
  order_id: nullable(Type.String()),
  /** Of the event. */
  created_at: DateTime,
  state: State,
  /** In the current round: it starts again when the event is sent again. */
  attempts: Count,
  round: Count,
  last_status: nullable(Count),
  /** Null when the last attempt was accepted, or there was none. */
  last_error: nullable(Type.String()),
  last_ms: nullable(Count),
  next_at: nullable(DateTime),
})
export type DeliveryRow = Static<typeof DeliveryRow>

const Bar = closed({ from: DateTime, accepted: Count, retrying: Count, failed: Count })

const Attempt = closed({
  endpoint_id: Type.String(),
  round: Count,
  n: Count,
  started_at: DateTime,
  ms: Count,
  status: nullable(Count),
  error: nullable(Type.String()),
  /** Null for what was not reached, or not measured. */
  connect_ms: nullable(Count),
  send_ms: nullable(Count),
  wait_ms: nullable(Count),
  /** As sent: names and values. */
  request_headers: Type.Array(Type.Tuple([Type.String(), Type.String()])),
  /** The start of the answer with links removed; null when there was none or it was not kept. */
  answer: nullable(
    closed({
      headers: Type.Array(Type.Tuple([Type.String(), Type.String()])),
      text: Type.String(),
      is_cut: Type.Boolean(),
    }),
  ),
})

const EndpointDelivery = closed({
  endpoint_id: Type.String(),
  url: Type.String(),
  is_current: Type.Boolean(),
  state: State,
  attempts: Count,
  round: Count,
  /** When this round began; its attempts are counted from here. */
  round_at: DateTime,
  next_at: nullable(DateTime),
  /** No attempt is made after this time. */
  gives_up_at: nullable(DateTime),
  done_at: nullable(DateTime),
})

export const DeliveryPage = closed({
  event: closed({
    id: EventId,
    type: EventType,
    order_id: nullable(Type.String()),
    created_at: DateTime,
  }),
  /** Null until it is first sent. */
  body: nullable(
    closed({
      /** As sent, except that every link is masked. */
      text: Type.String(),
      masked_links: Count,
      /** Of the bytes as sent, links included. */
      bytes: Count,
      sha256: Type.String(),
    }),
  ),
  /** One for each endpoint it was meant for, the current one first. */
  deliveries: Type.Array(EndpointDelivery),
  /** Newest first. */
  attempts: Type.Array(Attempt),
  schedule_s: Type.Array(Count),
})
export type DeliveryPage = Static<typeof DeliveryPage>

/** What became of one of several events that were to be sent again. `already_queued`: an attempt of it is due or planned anyway. */
export const resendOutcomes = ['resent', 'already_queued', 'not_found'] as const
export type ResendOutcome = (typeof resendOutcomes)[number]

/** Both, or neither for everything that was given up. */
const Range = closed({ from: Type.Optional(DateTime), to: Type.Optional(DateTime) })

/** Why an event was never accepted: given up, cancelled with its endpoint, or there was no endpoint. */
export const lostStates = ['failed', 'cancelled', 'unsent'] as const

const Recoverable = closed({
  total: Count,
  /** How many `recover` sends at once, oldest first. */
  sends_now: Count,
  first_at: nullable(DateTime),
  last_at: nullable(DateTime),
  counts: Type.Array(
    closed({ type: EventType, state: Type.Enum(lostStates, { type: 'string' }), events: Count }),
  ),
})

const filters = {
  state: Type.Optional(State),
  type: Type.Optional(EventType),
  code: Type.Optional(Type.Enum(codeClasses, { type: 'string' })),
  order_id: Type.Optional(Type.String({ pattern: ORDER_ID_PATTERN })),
  from: Type.Optional(DateTime),
  to: Type.Optional(DateTime),
}
export const DeliveryFilters = closed(filters)
export type DeliveryFilters = Static<typeof DeliveryFilters>

export const deliveriesRoutes = [
  {
    name: 'deliveryHours',
    method: 'GET',
    path: '/api/delivery-hours',
    access: roles,
    query: closed({ range: Type.Optional(Type.Enum(['24h', '7d'], { type: 'string' })) }),
    reply: closed({ bar_s: Count, bars: Type.Array(Bar) }),
  },
  {
    name: 'listDeliveries',
    method: 'GET',
    path: '/api/deliveries',
    access: roles,
    query: closed({
      ...filters,
      before: Type.Optional(Cursor),
      after: Type.Optional(Cursor),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: DELIVERIES_LIMIT_MAX })),
    }),
    reply: closed({
      deliveries: Type.Array(DeliveryRow),
      next: nullable(Cursor),
      previous: nullable(Cursor),
    }),
  },
  {
    name: 'exportDeliveries',
    method: 'GET',
    path: '/api/deliveries.csv',
    access: roles,
    /** `ids` are of events: only those of the deliveries that pass the filters. */
    query: closed({ ...filters, ids: Type.Optional(idsText(EVENT_ID_PATTERN, SELECTED_MAX)) }),
    reply: null,
    download: 'text/csv',
  },
  { name: 'getDelivery', method: 'GET', path: '/api/deliveries/{id}', access: roles, reply: DeliveryPage },
  {
    name: 'resendEvent',
    method: 'POST',
    path: '/api/deliveries/resend',
    access: builders,
    body: closed({ event_id: EventId }),
    reply: closed({ event_id: EventId }),
  },
  {
    name: 'resendEvents',
    method: 'POST',
    path: '/api/deliveries/resend-several',
    access: builders,
    body: closed({
      event_ids: Type.Array(EventId, { minItems: 1, maxItems: SELECTED_MAX, uniqueItems: true }),
      /** Made when the dialog asks. A repeat is answered like the first one and sends nothing. */
      attempt: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
    }),
    /** In the order of the request. */
    reply: closed({
      results: Type.Array(
        closed({ event_id: EventId, outcome: Type.Enum(resendOutcomes, { type: 'string' }) }),
      ),
    }),
  },
  {
    name: 'previewRecover',
    method: 'GET',
    path: '/api/recoverable-events',
    access: builders,
    query: Range,
    reply: Recoverable,
  },
  {
    name: 'recoverEvents',
    method: 'POST',
    path: '/api/deliveries/recover',
    access: builders,
    body: Range,
    reply: closed({ sent: Count, remaining: Count }),
  },
] as const satisfies readonly DashboardRoute[]
