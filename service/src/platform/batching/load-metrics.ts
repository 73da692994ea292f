import { API, API_AND_DASHBOARD, type MetricRegistry } from '../observability/metric-registry.ts'
import { SHED_REASONS } from './load-shedding.ts'

export type LoadMetrics = ReturnType<typeof loadMetrics>

/** `calls` are those that batched.ts combines. */
export function loadMetrics(registry: MetricRegistry, calls: readonly string[]) {
  return {
    requestsShed: registry.counter(API_AND_DASHBOARD, {
      name: 'shopwire_requests_shed_total',
      help: 'Requests refused with 503 before any work: their account had as many in flight as were free (account), a session or an address of the dashboard had too many at once (session, address), none was free (all), or the event loop was late (late).',
      action:
        'account: one caller floods; the log names it (why.account_id). session, address: one person or visitor floods the dashboard, and only they are refused. all, late: this process or its database is too slow for its load; start another process.',
      labels: { reason: SHED_REASONS },
    }),
    requestsInFlight: registry.reading(API, {
      name: 'shopwire_requests_in_flight',
      help: 'Signed requests that this process works on.',
      action:
        'Close to SHOPWIRE_REQUESTS_IN_FLIGHT for long: check the times of statements, then start another process.',
    }),
    batches: registry.counter(API, {
      name: 'shopwire_batches_total',
      help: 'Calls to the database or to Redis that carried one or more API requests.',
      action:
        'Divide shopwire_batched_calls_total by it: 1 at rest, up to 16 or 32 when this process is busy.',
      labels: { call: calls },
    }),
    batchedCalls: registry.counter(API, {
      name: 'shopwire_batched_calls_total',
      help: 'API requests that those calls carried.',
      action: 'None: see shopwire_batches_total.',
      labels: { call: calls },
    }),
    batchedCallsWaiting: registry.counter(API, {
      name: 'shopwire_batched_calls_waiting_total',
      help: 'Requests that were taken out of a batch because they had to wait for a lock of their account.',
      action:
        'A large share means that one account is used by many processes at once, or that something locks its rows for a long time.',
      labels: { call: calls },
    }),
  }
}
