import {
  API,
  API_AND_DASHBOARD,
  BUCKETS,
  type MetricRegistry,
  WORKER,
} from '../platform/observability/metric-registry.ts'

export type AccessMetrics = ReturnType<typeof accessMetrics>

export const ACCESS_STATEMENTS = { admit: 'admit' } as const

export function accessMetrics(registry: MetricRegistry) {
  return {
    admissionDuration: registry.histogram(API, BUCKETS.milliseconds, {
      name: 'shopwire_admission_duration_seconds',
      help: 'Time to check and count one signed request in the admission store.',
      action: 'Check the load of that store. With PostgreSQL, consider Redis for admission.',
      labels: { store: 'as observed' },
    }),
    authFailures: registry.counter(API, {
      name: 'shopwire_auth_failures_total',
      help: 'Requests refused with 401, by what failed.',
      action:
        'Many with reason "signature": a caller signs incorrectly, or somebody is guessing. The log names the key id.',
      labels: { reason: ['key', 'signature', 'revoked'] },
    }),
    nonceReplays: registry.counter(API, {
      name: 'shopwire_nonce_replays_total',
      help: 'Validly signed requests refused because their nonce had been used.',
      action:
        'A caller retries without signing again, or somebody replays captured requests. The log names the key id.',
    }),
    /** For edge/ too: its families count `public`, `dashboard` and `tokens`. */
    rateLimited: registry.counter(API_AND_DASHBOARD, {
      name: 'shopwire_rate_limited_total',
      help: 'Requests refused with 429, by the limit that was reached.',
      action:
        'Find the account in the log; its limits are SHOPWIRE_REQUESTS_PER_MINUTE and SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE.',
      labels: { policy: ['req', 'orders', 'public', 'dashboard', 'tokens'] },
    }),
    admissionFailing: registry.reading(API, {
      name: 'shopwire_admission_failing',
      help: '1 while Redis does not answer, with admission in Redis: every signed request gets 503.',
      action:
        'Start Redis, or repair the connection to it. /readyz and the log of the process have the reason.',
    }),
    admissionMemoryLosses: registry.counter(API, {
      name: 'shopwire_admission_memory_losses_total',
      help: 'Times the admission store was found to have lost its data (crash, flush, failover).',
      action:
        'Without a restart or failover, another program may flush this Redis: give Shopwire a separate one.',
    }),
    nonces: registry.reading(WORKER, {
      name: 'shopwire_nonces',
      help: 'Nonces stored in PostgreSQL, as estimated by its statistics; close to 0 with admission in Redis.',
      action:
        'It follows the rate of signed requests of the last two minutes. If it only grows, no API process removes old ones.',
    }),
    noncesBytes: registry.reading(WORKER, {
      name: 'shopwire_nonces_bytes',
      help: 'Size on disk of the table of nonces, without its indexes.',
      action:
        'If it grows while shopwire_nonces does not, vacuum cannot keep up: look for a transaction that stays open.',
    }),
  }
}
