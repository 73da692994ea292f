import { type ErrorType, type Route, routes } from '@shopwire/contract'
import type { Durations, Timer } from '../platform/observability/durations.ts'
import {
  API,
  API_AND_DASHBOARD,
  BUCKETS,
  type MetricRegistry,
} from '../platform/observability/metric-registry.ts'

export type EdgeMetrics = ReturnType<typeof edgeMetrics>

const ORDER_ROUTE = (routes as readonly (Route & { name: string })[]).find(
  ({ name }) => name === 'postOrders',
)
type OrderOutcome = 'placed' | 'replayed' | ErrorType
const ORDER_OUTCOMES: readonly OrderOutcome[] = ['placed', 'replayed', ...(ORDER_ROUTE?.errors ?? [])]

export function edgeMetrics(registry: MetricRegistry) {
  return {
    requestTimer: timersOf(requestDuration(registry)),
    unavailable: registry.counter(API_AND_DASHBOARD, {
      name: 'shopwire_unavailable_total',
      help: 'Requests refused with 503 because a dependency did not answer.',
      action: 'Read the "err" of the warn lines of "request"; they carry PostgreSQL\'s code.',
      labels: { part: ['database', 'admission', 'catalogue'] },
    }),
    connectionsRefused: registry.counter(API_AND_DASHBOARD, {
      name: 'shopwire_connections_refused_total',
      help: 'Connections closed by a limit: of all, of one address, or because their address had the most while few were left (share).',
      action: 'Find out who holds the sockets; start more API processes for more callers.',
      labels: { limit: ['all', 'address', 'share'] },
    }),
    orderRequests: registry.counter(API, {
      name: 'shopwire_order_requests_total',
      help: 'Answers to POST /orders: placed, replayed (the idempotency key had bought before), or the type of the error.',
      action:
        'For "internal_error" and "service_unavailable" read the log. For "item_unavailable" check the pools.',
      labels: { outcome: ORDER_OUTCOMES },
    }),
  }
}

/** Starts at zero for every status that the contract lists. Series of other routes and statuses are created when observed. */
function requestDuration(registry: MetricRegistry) {
  const duration = registry.histogram(API_AND_DASHBOARD, BUCKETS.requests, {
    name: 'http_server_request_duration_seconds',
    help: 'Time from the end of the request headers to the end of the answer; status 499: the caller closed the connection.',
    action:
      'For 5xx read the warn and error lines of "request". For slow answers compare with the times of statements.',
    labels: { method: 'as observed', route: 'as observed', status: 'as observed' },
  })
  for (const { method, name, responses } of registry.processes.includes('api') ? routes : []) {
    for (const status of [...Object.keys(responses), '500', '503'])
      duration.labels({ method, route: name, status })
  }
  return duration
}

/** The series of a histogram, found without making an object or a string per request. */
function timersOf(durations: Durations<'method' | 'route' | 'status'>) {
  const timers = new Map<string, Map<string, Map<number, Timer>>>()
  return (method: string, route: string, status: number): Timer => {
    const known = timers.get(route)?.get(method)?.get(status)
    if (known) return known
    const timer = durations.labels({ method, route, status: String(status) })
    const byMethod = timers.get(route) ?? new Map<string, Map<number, Timer>>()
    const byStatus = byMethod.get(method) ?? new Map<number, Timer>()
    timers.set(route, byMethod.set(method, byStatus.set(status, timer)))
    return timer
  }
}
