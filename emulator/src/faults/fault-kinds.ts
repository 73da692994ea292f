import type { FaultName } from '../types.ts'

/** The point at which a fault can take effect. */
export type Stage = 'request' | 'condition' | 'order' | 'event'

interface Kind {
  readonly title: string
  readonly stage: Stage
  /** Its parameters besides `times`, `on` and `account_id`, with their defaults. */
  readonly params: Readonly<Record<string, Param>>
  /** Active until it is disarmed, unless `times` is given. */
  readonly lasts?: true
  /** Affects orders only. */
  readonly onlyOrders?: true
}

export type Param =
  | { readonly type: 'integer'; readonly min: number; readonly max: number; readonly fallback: number }
  | { readonly type: 'boolean'; readonly fallback: boolean }
  | { readonly type: 'text'; readonly values: readonly string[]; readonly fallback: string }

const DAY_MS = 86_400_000
const milliseconds = (fallback: number, max = 600_000): Param => ({ type: 'integer', min: 0, max, fallback })
const afterCommit: Param = { type: 'boolean', fallback: false }
const events = ['*', 'order.accepted', 'order.delivered', 'order.cancelled', 'catalogue.changed', 'test']
const whichEvent: Param = { type: 'text', values: events, fallback: '*' }

/** All faults that can be injected. */
export const faultKinds: Readonly<Record<FaultName, Kind>> = {
  lost_answer: {
    title: 'The request is executed, and its answer is lost',
    stage: 'request',
    params: {},
  },
  dropped_connection: {
    title: 'The connection breaks before the request is processed',
    stage: 'request',
    params: {},
  },
  slow_body: { title: 'The body does not arrive in time: 408', stage: 'request', params: {} },
  rate_limited: {
    title: 'Too many requests: 429',
    stage: 'request',
    params: {
      bucket: { type: 'text', values: ['req', 'orders'], fallback: 'req' },
      retry_after_s: { type: 'integer', min: 1, max: 60, fallback: 1 },
    },
  },
  overloaded: {
    title: 'The store has more requests than it can answer in time, and refuses this one: 503',
    stage: 'request',
    params: {},
  },
  unavailable: {
    title: 'The store cannot say whether the request was executed: 503',
    stage: 'request',
    params: { after_commit: afterCommit },
  },
  server_error: {
    title: 'Internal error of the store: 500',
    stage: 'request',
    params: { after_commit: afterCommit },
  },
  bad_gateway: {
    title: 'A proxy answers for the store: 502 without a body',
    stage: 'request',
    params: { after_commit: afterCommit },
  },
  slow_answer: { title: 'The answer is delayed', stage: 'request', params: { ms: milliseconds(1_000) } },
  clock_skew: {
    title: 'The clock of the store is wrong',
    stage: 'condition',
    lasts: true,
    params: { ms: { type: 'integer', min: -DAY_MS, max: DAY_MS, fallback: 90_000 } },
  },
  store_closed: { title: 'The store takes no orders: 503', stage: 'condition', lasts: true, params: {} },
  price_change: {
    title: 'A price changes just before the order',
    stage: 'request',
    onlyOrders: true,
    params: { by_cents: { type: 'integer', min: -100_000, max: 100_000, fallback: 50 } },
  },
  sold_out: {
    title: 'An item is sold out just before the order',
    stage: 'request',
    onlyOrders: true,
    params: {},
  },
  supplier_failure: {
    title: 'The order cannot be fulfilled; it is cancelled and refunded',
    stage: 'order',
    onlyOrders: true,
    params: {},
  },
  slow_fulfilment: {
    title: 'The order stays paid for a while',
    stage: 'order',
    onlyOrders: true,
    params: { ms: milliseconds(5_000, DAY_MS) },
  },
  duplicate_event: {
    title: 'An event is sent more than once',
    stage: 'event',
    params: { copies: { type: 'integer', min: 2, max: 10, fallback: 2 }, event: whichEvent },
  },
  late_event: {
    title: 'An event is delayed',
    stage: 'event',
    params: { ms: milliseconds(5_000), event: whichEvent },
  },
  out_of_order_events: {
    title: 'An event arrives after the next one of its order',
    stage: 'event',
    params: {},
  },
  lost_event: {
    title: 'An event does not arrive; the store tries again later',
    stage: 'event',
    params: { event: whichEvent },
  },
}

export const kindOf = (name: FaultName): Kind => faultKinds[name]

export function isFaultName(name: unknown): name is FaultName {
  return typeof name === 'string' && Object.hasOwn(faultKinds, name)
}
