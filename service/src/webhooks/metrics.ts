import { BUCKETS, type MetricRegistry, WORKER } from '../platform/observability/metric-registry.ts'

export type WebhookMetrics = ReturnType<typeof webhookMetrics>

export const WEBHOOK_STATEMENTS = {
  takeDueDeliveries: 'take_due_deliveries',
  recordAttempts: 'record_attempts',
  endDeliverJobs: 'end_deliver_jobs',
} as const

/** A 3xx, 4xx or 5xx is counted by its class: receivers choose their status, and a label must stay bounded. */
export const WEBHOOK_OUTCOMES = [
  'delivered',
  'http_3xx',
  'http_4xx',
  'http_5xx',
  'http_other',
  'dns',
  'blocked',
  'connect',
  'tls',
  'timeout',
  'reset',
  'bad_response',
  'internal',
] as const
export type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number]

export function webhookMetrics(registry: MetricRegistry) {
  return {
    webhookAttempts: registry.counter(WORKER, {
      name: 'shopwire_webhook_attempts_total',
      help: 'Attempts to deliver an event, by outcome.',
      action:
        'One account: tell its owner (webhooks log). All of them: the network, DNS or the egress proxy of the workers.',
      labels: { outcome: WEBHOOK_OUTCOMES },
    }),
    webhookAttemptDuration: registry
      .histogram(WORKER, BUCKETS.calls, {
        name: 'shopwire_webhook_attempt_duration_seconds',
        help: 'Time of one attempt, from looking the name up to the end of the answer.',
        action: 'Slow receivers hold worker slots; see shopwire_worker_slots_in_use{queue="deliver"}.',
      })
      .labels({}),
    webhookFirstAttemptDelay: registry
      .histogram(WORKER, BUCKETS.waits, {
        name: 'shopwire_webhook_first_attempt_delay_seconds',
        help: 'Time from an event to the start of its first attempt.',
        action: 'More than a second or two: start workers, or raise SHOPWIRE_WORKER_ENDPOINTS.',
      })
      .labels({}),
    webhookDeliveries: registry.counter(WORKER, {
      name: 'shopwire_webhook_deliveries_total',
      help: 'Deliveries that have ended: accepted by the receiver, or given up after the last attempt.',
      action:
        '"given_up": tell the owner of the account, then webhooks recover when the receiver works again.',
      labels: { outcome: ['delivered', 'given_up'] },
    }),
    webhookEndpointsFailing: registry.reading(WORKER, {
      name: 'shopwire_webhook_endpoints_failing',
      help: 'Endpoints with events to deliver whose last attempt failed.',
      action:
        'shopwire-admin webhooks log names the error of each account. Many at once: our network, DNS or proxy.',
    }),
  }
}
