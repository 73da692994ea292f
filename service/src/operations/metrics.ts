import { FULFIL_QUEUE } from '../orders/fulfilment/fulfil-queue.ts'
import { type MetricRegistry, WORKER } from '../platform/observability/metric-registry.ts'
import { DELIVER_QUEUE } from '../webhooks/endpoint.ts'

export type OperationsMetrics = ReturnType<typeof operationsMetrics>

/** All queues that workers take jobs from. */
export const QUEUES = [FULFIL_QUEUE, DELIVER_QUEUE] as const

export const OPERATIONS_STATEMENTS = { storeFigures: 'store_figures' } as const

export function operationsMetrics(registry: MetricRegistry) {
  return {
    pricesBeyondBounds: registry.counter(WORKER, {
      name: 'shopwire_prices_beyond_bounds_total',
      help: 'Changes of the catalogue that needed --price-factor-max or --price-share-max, read from the audit log by one worker.',
      action: 'Ask whoever made it whether it was meant: shopwire-admin audit.',
    }),
    verifyLastRun: registry.reading(WORKER, {
      name: 'shopwire_verify_last_run_timestamp_seconds',
      help: 'When shopwire-admin verify last checked all rules; 0 when it never did.',
      action: 'Run verify, once a day by a schedule.',
    }),
    verifyRulesViolated: registry.reading(WORKER, {
      name: 'shopwire_verify_rules_violated',
      help: 'Rules that the last verify found violated; no series when it never ran.',
      action: 'Close the store and read "Invariants" in the documentation before you change anything.',
    }),
    sealLastRound: registry.reading(WORKER, {
      name: 'shopwire_seal_last_round_timestamp_seconds',
      help: 'When all transfers and audit rows there were had last been sealed.',
      action:
        'More than three hours ago: see why the leading worker does not seal. What is not sealed can be changed without a trace.',
    }),
    storeOpen: registry.reading(WORKER, {
      name: 'shopwire_store_open',
      help: '1 while the store takes orders, 0 while it is closed, by hand or by a planned window.',
      action: 'shopwire-admin store show says why it is closed.',
    }),
    operatorTokenEnds: registry.reading(WORKER, {
      name: 'shopwire_operator_token_expiry_timestamp_seconds',
      help: "When the first operator's last token ends, of those that can still be used; the last end when all have ended; no series when there was none.",
      action:
        'Less than a week ahead: shopwire-admin operators list says whose; operators add gives that person or job another one.',
    }),
    figuresAge: registry.reading(WORKER, {
      name: 'shopwire_store_figures_age_seconds',
      help: 'Age of the figures that this worker reads from the database for the whole store; no series at workers that do not.',
      action:
        'More than 15 s: the database does not answer, and the gauges that come from it are gone until it does.',
    }),
  }
}
