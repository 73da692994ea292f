import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'

export type Metrics = ReturnType<typeof createMetrics>

/** Never an account or a key as a label: there may be a million of them. */
export function createMetrics(version: string) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  new Gauge({
    name: 'shopwire_build_info',
    help: 'The running version, as a label; the value is always 1.',
    labelNames: ['version'],
    registers,
  }).set({ version }, 1)
  return {
    registry,
    requestDuration: new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Time from the end of the request headers to the end of the answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    authFailures: new Counter({
      name: 'shopwire_auth_failures_total',
      help: 'Requests refused with 401, by what failed.',
      labelNames: ['reason'],
      registers,
    }),
    nonceReplays: new Counter({
      name: 'shopwire_nonce_replays_total',
      help: 'Validly signed requests refused because their nonce had been used.',
      registers,
    }),
    rateLimited: new Counter({
      name: 'shopwire_rate_limited_total',
      help: 'Requests refused with 429, by the policy that was full.',
      labelNames: ['policy'],
      registers,
    }),
    admissionMemoryLosses: new Counter({
      name: 'shopwire_admission_memory_losses_total',
      help: 'Times the nonce store was found to have lost its memory (crash, flush, failover).',
      registers,
    }),
    unavailable: new Counter({
      name: 'shopwire_unavailable_total',
      help: 'Requests refused with 503 because a part did not answer.',
      labelNames: ['part'],
      registers,
    }),
    connectionsRefused: new Counter({
      name: 'shopwire_connections_refused_total',
      help: 'Connections closed at once, by the limit that was reached.',
      labelNames: ['limit'],
      registers,
    }),
    evidenceLost: new Counter({
      name: 'shopwire_evidence_lost_total',
      help: 'Attempts to buy and reads of links that could not be recorded as evidence.',
      registers,
    }),
    ordersDelivered: new Counter({
      name: 'shopwire_orders_delivered_total',
      help: 'Orders whose links all arrived.',
      registers,
    }),
    poolsLow: new Counter({
      name: 'shopwire_pool_low_warnings_total',
      help: 'Times a pool of links fell below its warning mark.',
      registers,
    }),
    refundRuleHeld: new Gauge({
      name: 'shopwire_refund_rule_held',
      help: '1 while the refund rule has reached its limit and waits for an operator.',
      registers,
    }),
    databaseUnconfirmed: new Gauge({
      name: 'shopwire_database_unconfirmed',
      help: '1 while the database is not the one an operator confirmed: nothing is delivered, sent or bought.',
      registers,
    }),
    databaseClockSteps: new Counter({
      name: 'shopwire_database_clock_steps_total',
      help: 'Times the clock of the database was seen to step, by direction (back or forward).',
      labelNames: ['direction'],
      registers,
    }),
    poolLinksSetAside: new Counter({
      name: 'shopwire_pool_links_set_aside_total',
      help: 'Links in pools that could not be decrypted and are not sold.',
      registers,
    }),
    poolsUnreadable: new Counter({
      name: 'shopwire_pool_unreadable_total',
      help: 'Times an order had to wait because a pool could not be decrypted: a wrong or missing encryption key.',
      registers,
    }),
    gauge(name: string, help: string, read: () => number) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    },
  }
}
