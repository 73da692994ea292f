import { FULFIL_QUEUE } from '../orders/fulfilment/fulfil-queue.ts'
import { MAIL_QUEUE } from '../platform/mail/mail-queue.ts'
import { type MetricRegistry, WORKER } from '../platform/observability/metric-registry.ts'
import { DELIVER_QUEUE } from '../webhooks/deliver-queue.ts'

export type OperationsMetrics = ReturnType<typeof operationsMetrics>

/** All queues that workers take jobs from. */
export const QUEUES = [FULFIL_QUEUE, DELIVER_QUEUE, MAIL_QUEUE] as const

export const OPERATIONS_STATEMENTS = { storeFigures: 'store_figures' } as const

export function operationsMetrics(registry: MetricRegistry) {
  return {
    pricesBeyondBounds: registry.counter(WORKER, {
      name: 'shopwire_prices_beyond_bounds_total',
      help: 'Changes of the catalogue that needed --price-factor-max or --price-share-max, read from the audit log by one worker.',
      action: 'Ask the operator who made it whether it was intended: see shopwire-admin audit.',
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
      help: 'When all existing transfers and audit rows were last sealed.',
      action:
        'More than three hours ago: find out why the leading worker does not seal. Unsealed rows can be changed without a trace.',
    }),
    storeOpen: registry.reading(WORKER, {
      name: 'shopwire_store_open',
      help: '1 while the store takes orders, 0 while it is closed, by hand or by a planned window.',
      action: 'shopwire-admin store show says why it is closed.',
    }),
    operatorTokenEnds: registry.reading(WORKER, {
      name: 'shopwire_operator_token_expiry_timestamp_seconds',
      help: "The earliest time at which an operator's last valid token expires; the latest expiry when all have expired; no series without tokens.",
      action:
        'Less than a week ahead: shopwire-admin operators list shows whose it is; operators add issues another one.',
    }),
    figuresAge: registry.reading(WORKER, {
      name: 'shopwire_store_figures_age_seconds',
      help: 'Age of the figures that this worker reads from the database for the whole store; no series on other workers.',
      action:
        'More than 15 s: the database does not answer, and the gauges that come from it are missing until it does.',
    }),
  }
}
