import { API, BUCKETS, type MetricRegistry, WORKER } from '../platform/observability/metric-registry.ts'

export type OrderMetrics = ReturnType<typeof orderMetrics>

export const ORDER_STATEMENTS = {
  placeOrder: 'place_order',
  readOrder: 'read_order',
  listOrders: 'list_orders',
  takeForOrders: 'take_for_orders',
  deliverOrders: 'deliver_orders',
} as const

export function orderMetrics(registry: MetricRegistry) {
  return {
    evidenceLost: registry.counter(API, {
      name: 'shopwire_evidence_lost_total',
      help: 'Attempts to buy and reads of links that could not be recorded as evidence for disputes.',
      action:
        'Read the err field of the line "evidence of requests was lost": the database was unavailable or refused the insert.',
    }),
    ordersDelivered: registry.counter(WORKER, {
      name: 'shopwire_orders_delivered_total',
      help: 'Orders that this worker delivered.',
      action:
        'If it does not rise while shopwire_orders_waiting grows, read the log lines "fulfilment attempt".',
    }),
    ordersDeliveredByHand: registry.counter(WORKER, {
      name: 'shopwire_orders_delivered_by_hand_total',
      help: 'Orders that operators delivered, read from the audit log by one worker.',
      action: 'None: it completes the sum of delivered orders.',
    }),
    orderDelivery: registry
      .histogram(WORKER, BUCKETS.waits, {
        name: 'shopwire_order_delivery_seconds',
        help: 'Time from paid to delivered, for orders that a worker delivered.',
        action:
          'Check stock (shopwire_pools_empty), at suppliers, and at shopwire_queue_oldest_due_seconds{queue="fulfil"}.',
      })
      .labels({}),
    refunds: registry.counter(WORKER, {
      name: 'shopwire_refunds_total',
      help: 'Orders that were cancelled and refunded, by cause. Those by operators are read from the audit log by one worker.',
      action:
        'Cause "refund_rule": orders could not be delivered in time; see shopwire-admin orders waiting.',
      labels: { cause: ['operator', 'refund_rule'] },
    }),
    failovers: registry.counter(WORKER, {
      name: 'shopwire_database_failovers_total',
      help: 'Promoted standbys on which a worker opened the store by itself, or left it closed although the policy allows it.',
      action:
        'Opened: look why the primary was lost, and set up a new standby. Refused: recover status says what an operator does; the log has the reason.',
      labels: { outcome: ['opened', 'refused'] },
    }),
    refundRuleHeld: registry.gauge(WORKER, {
      name: 'shopwire_refund_rule_held',
      help: '1 while the refund rule has reached its limit and waits for an operator.',
      action: 'Check shopwire-admin orders waiting and the clocks, then run refunds release.',
    }),
    ordersWaiting: registry.reading(WORKER, {
      name: 'shopwire_orders_waiting',
      help: 'Orders that are paid and not delivered.',
      action: 'shopwire-admin orders waiting lists them with the reason.',
    }),
    ordersOldestWaiting: registry.reading(WORKER, {
      name: 'shopwire_orders_oldest_waiting_seconds',
      help: 'Age of the oldest order that is paid and not delivered; 0 when there is none.',
      action: 'shopwire-admin orders waiting lists it first, with the reason.',
    }),
  }
}
