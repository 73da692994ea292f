import { BUCKETS, type MetricRegistry, WORKER } from '../platform/observability/metric-registry.ts'

export type SupplyMetrics = ReturnType<typeof supplyMetrics>

export const SUPPLIER_OUTCOMES = [
  'given',
  'out_of_stock',
  'unknown_sku',
  'being_made',
  'timeout',
  'connect',
  'tls',
  'proxy',
  'http_error',
  'bad_reply',
  'reply_too_large',
] as const
export type SupplierOutcome = (typeof SUPPLIER_OUTCOMES)[number]

/** Beyond so many names of suppliers, further ones are counted as "other". */
export const SUPPLIER_NAMES_MAX = 50

export function supplyMetrics(registry: MetricRegistry) {
  return { ...supplierMetrics(registry), ...poolMetrics(registry), ...journalMetrics(registry) }
}

function supplierMetrics(registry: MetricRegistry) {
  return {
    supplierCalls: registry.counter(WORKER, {
      name: 'shopwire_supplier_calls_total',
      help: `Calls of suppliers, by outcome; from the ${SUPPLIER_NAMES_MAX + 1}st name on the supplier is "other".`,
      action:
        'Read the log lines "supplier call". Pause a supplier that keeps failing, or choose another source.',
      labels: { supplier: 'as observed', outcome: 'as observed' },
    }),
    supplierCallDuration: registry.histogram(WORKER, BUCKETS.calls, {
      name: 'shopwire_supplier_call_duration_seconds',
      help: 'Time of one call of a supplier.',
      action: 'Ask the supplier; its timeout is set with suppliers create.',
      labels: { supplier: 'as observed' },
    }),
    supplierUnsettled: registry.readings(WORKER, {
      name: 'shopwire_supplier_requests_unsettled',
      help: 'Requests without a final answer of the supplier: links that may have to be paid for.',
      action: 'suppliers unsettled lists them. When a supplier is shut down permanently, suppliers give-up.',
      labels: { supplier: 'as observed' },
    }),
    supplierOldestUnsettled: registry.readings(WORKER, {
      name: 'shopwire_supplier_oldest_unsettled_seconds',
      help: 'Age of the oldest unsettled request of a supplier; 0 when there is none.',
      action: 'As for shopwire_supplier_requests_unsettled.',
      labels: { supplier: 'as observed' },
    }),
    supplierLimitWaits: registry.counter(WORKER, {
      name: 'shopwire_supplier_limit_waits_total',
      help: 'Times a line was not requested because its supplier had reached its hourly limit.',
      action:
        'suppliers list shows the limits. Is it a run on one item, or an error? Raise it with suppliers set.',
      labels: { supplier: 'as observed' },
    }),
    supplierOverCost: registry.counter(WORKER, {
      name: 'shopwire_supplier_over_cost_total',
      help: 'Deliveries for which the supplier charged more than the configured cost; they were accepted and booked as charged.',
      action: 'suppliers statement marks them. Ask the supplier, or correct the cost with supply set --cost.',
    }),
  }
}

function poolMetrics(registry: MetricRegistry) {
  return {
    poolsLow: registry.counter(WORKER, {
      name: 'shopwire_pool_low_warnings_total',
      help: 'Times a pool of links fell below its threshold.',
      action: 'pool levels --low, then pool load.',
    }),
    poolsLowNow: registry.reading(WORKER, {
      name: 'shopwire_pools_low',
      help: 'Pools with fewer links than their threshold (supply set --warn-below), empty ones included.',
      action: 'pool levels --low, then pool load.',
    }),
    poolsEmpty: registry.reading(WORKER, {
      name: 'shopwire_pools_empty',
      help: 'Items sold from a pool that has no link left.',
      action: 'pool levels --low, then pool load; the item is on sale again at once.',
    }),
    poolLinksSetAside: registry.counter(WORKER, {
      name: 'shopwire_pool_links_set_aside_total',
      help: 'Links in pools that could not be decrypted and are not sold.',
      action: 'pool set-aside names them; with the row repaired, pool restore.',
    }),
    poolsUnreadable: registry.counter(WORKER, {
      name: 'shopwire_pool_unreadable_total',
      help: 'Times an order had to wait because a pool could not be decrypted: a wrong or missing encryption key.',
      action: 'Put the encryption key back; for damage, pool check.',
    }),
  }
}

function journalMetrics(registry: MetricRegistry) {
  return {
    journalWrites: registry
      .histogram(WORKER, BUCKETS.milliseconds, {
        name: 'shopwire_journal_write_seconds',
        help: 'Time until the links of an order were on the disk of the journal of sold links.',
        action: 'Check the disk of SHOPWIRE_JOURNAL: every delivery waits for it.',
      })
      .labels({}),
    journalFailing: registry.reading(WORKER, {
      name: 'shopwire_journal_failing',
      help: "1 while this worker cannot read or write the journal of sold links, or it is another store's; no series without a journal.",
      action: 'Nothing is delivered meanwhile. /readyz says why; shopwire-admin doctor names the file.',
    }),
    journalFailures: registry.counter(WORKER, {
      name: 'shopwire_journal_failures_total',
      help: 'Times links could not be written to the journal of sold links; the orders were not delivered then and are tried again.',
      action:
        'Free or repair the disk of SHOPWIRE_JOURNAL; the err field of "job interrupted" has the reason.',
    }),
  }
}
