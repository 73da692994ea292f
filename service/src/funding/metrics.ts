import { type MetricRegistry, WORKER } from '../platform/observability/metric-registry.ts'

export type FundingMetrics = ReturnType<typeof fundingMetrics>

export function fundingMetrics(registry: MetricRegistry) {
  return {
    paymentReviews: registry.reading(WORKER, {
      name: 'shopwire_payment_reviews',
      help: 'Payments on which provider and ledger disagree, and that only an operator can decide.',
      action: 'shopwire-admin topups list says why for each; see "Funding" in the documentation.',
    }),
    paymentProviderCalls: registry.counter(WORKER, {
      name: 'shopwire_payment_provider_calls_total',
      help: 'Requests to the payment provider: answered, or failed because it did not answer or refused our key.',
      action:
        'Failures alone: card money waits. Read the log of the workers, then the status page of the provider.',
      labels: { outcome: ['answered', 'failed'] },
    }),
    paymentsReconciled: registry.reading(WORKER, {
      name: 'shopwire_payments_reconciled_timestamp_seconds',
      help: 'When all card money was last compared with the payment provider; no series where no cards are taken.',
      action:
        'More than two days ago: the provider does not answer or refuses the key. Read the log of the workers.',
    }),
  }
}
