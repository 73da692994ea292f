import { Counter, collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client'
import { type ErrorType, type Route, routes } from '@shopwire/contract'
import { SHED_REASONS } from '../batching/load-shedding.ts'
import { Durations, type Timer } from './durations.ts'

/** Which process exposes a metric. Orders are taken by the API, fulfilled by workers, and watched in the dashboard. */
export type ProcessKind = 'api' | 'worker' | 'dashboard'

/** One row of docs/reference/metrics.md. */
export interface MetricDescription {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly processes: readonly ProcessKind[]
  readonly help: string
  /** What an operator does when it moves. */
  readonly action: string
}

export type Metrics = ReturnType<typeof createMetrics>

/** Every metric in the order in which it is exposed; those of the Node.js runtime come from the library and have no action. */
export function describeMetrics(): (Omit<MetricDescription, 'action'> & { action: string | null })[] {
  const { registry, reference } = createMetrics('')
  const known = new Map(reference.map((description) => [description.name, description]))
  const all = registry.getMetricsAsArray() as unknown as Pick<MetricDescription, 'name' | 'help' | 'type'>[]
  return all.map(
    ({ name, help, type }) =>
      known.get(name) ?? { name, type, labels: [], processes: ALL, help, action: null },
  )
}

/** Statements whose time is measured one by one; all others are "other". */
export const TIMED_STATEMENTS = [
  'admit',
  'read_key',
  'place_order',
  'read_order',
  'list_orders',
  'claim_jobs',
  'extend_leases',
  'postpone_job',
  'take_due_deliveries',
  'record_attempts',
  'store_figures',
  'commit',
  'other',
] as const
export type StatementLabel = (typeof TIMED_STATEMENTS)[number]

export const JOB_OUTCOMES = ['done', 'postponed', 'parked', 'interrupted', 'failed', 'lease_lost'] as const
export type JobOutcome = (typeof JOB_OUTCOMES)[number]

export const JOB_STATES = ['due', 'leased', 'scheduled', 'parked', 'dead'] as const

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

/** What is combined into batches, platform/batching/batched.ts. */
export const BATCHED_CALLS = ['admit', 'place_order'] as const
export type BatchedCall = (typeof BATCHED_CALLS)[number]

export const QUEUES = ['fulfil', 'deliver'] as const
const API: readonly ProcessKind[] = ['api']
const WORKER: readonly ProcessKind[] = ['worker']
const DASHBOARD: readonly ProcessKind[] = ['dashboard']
const HTTP: readonly ProcessKind[] = ['api', 'dashboard']
const CLOCKED: readonly ProcessKind[] = ['api', 'worker']
const ALL: readonly ProcessKind[] = ['api', 'worker', 'dashboard']
/** Beyond so many names of suppliers, further ones are counted as "other". */
export const SUPPLIER_NAMES_MAX = 50

const MILLISECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const CALLS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const WAITS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400]
const REQUESTS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const ORDER_ROUTE = (routes as readonly (Route & { name: string })[]).find(
  ({ name }) => name === 'postOrders',
)
export type OrderOutcome = 'placed' | 'replayed' | ErrorType
const ORDER_OUTCOMES: readonly OrderOutcome[] = ['placed', 'replayed', ...(ORDER_ROUTE?.errors ?? [])]

/** A label with its values, all of which are there from the start; without values they come with what is observed. */
type LabelValues = Readonly<Record<string, readonly string[] | 'as observed'>>

interface Spec<Labels extends LabelValues> extends Pick<MetricDescription, 'name' | 'help' | 'action'> {
  readonly labels?: Labels
}

/**
 * Every metric of the service. Those of the other process are made too, so that no part has to ask where it runs, and are
 * not exposed. Never an account or a key as a label: there may be a million of them.
 *
 * Counters and histograms begin at zero for all values of their labels: rate() sees the first event, and an alert that
 * compares with zero works from the first scrape. Gauges that come from the database are exposed only while they are fresh.
 */
export function createMetrics(version: string, processes: readonly ProcessKind[] = ALL) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const reference: MetricDescription[] = []

  function declare<Labels extends LabelValues>(
    type: MetricDescription['type'],
    on: readonly ProcessKind[],
    { name, help, action, labels }: Spec<Labels>,
  ) {
    const labelNames = Object.keys(labels ?? {}) as Extract<keyof Labels, string>[]
    reference.push({ name, type, labels: labelNames, processes: on, help, action })
    return {
      name,
      help,
      labelNames,
      registers: on.some((each) => processes.includes(each)) ? [registry] : [],
    }
  }
  function counter<const Labels extends LabelValues>(on: readonly ProcessKind[], spec: Spec<Labels>) {
    const made = new Counter<Extract<keyof Labels, string>>(declare('counter', on, spec))
    for (const labels of combinations(spec.labels)) made.inc(labels as never, 0)
    return made
  }
  function histogram<const Labels extends LabelValues>(
    on: readonly ProcessKind[],
    buckets: number[],
    spec: Spec<Labels>,
  ) {
    const { registers, ...declared } = declare('histogram', on, spec)
    const made = new Durations<Extract<keyof Labels, string>>({ ...declared, buckets })
    for (const register of registers) register.registerMetric(made.asMetric())
    for (const labels of combinations(spec.labels)) made.labels(labels as never)
    return made
  }
  function gauge(on: readonly ProcessKind[], spec: Spec<Record<never, never>>) {
    return new Gauge(declare('gauge', on, spec))
  }
  /** Read when somebody scrapes, from memory. There is no series while nothing is known. */
  function reading(on: readonly ProcessKind[], spec: Spec<Record<never, never>>) {
    let read: () => number | undefined = () => undefined
    new Gauge({
      ...declare('gauge', on, spec),
      collect() {
        const value = read()
        if (value === undefined) this.remove()
        else this.set(value)
      },
    })
    return {
      from(source: () => number | undefined) {
        read = source
      },
    }
  }
  function readings<const Labels extends LabelValues>(on: readonly ProcessKind[], spec: Spec<Labels>) {
    type Row = readonly [labels: Record<Extract<keyof Labels, string>, string>, value: number]
    let read: () => Iterable<Row> = () => []
    new Gauge<string>({
      ...declare('gauge', on, spec),
      collect() {
        this.reset()
        for (const [labels, value] of read()) this.set(labels, value)
      },
    })
    return {
      from(source: () => Iterable<Row>) {
        read = source
      },
    }
  }

  gauge(ALL, {
    name: 'shopwire_build_info',
    help: 'The running version, as a label; the value is always 1.',
    action: 'Compare the versions of all processes after a deployment.',
    labels: { version: 'as observed' } as never,
  }).set({ version } as never, 1)

  const statementDuration = histogram(ALL, MILLISECONDS, {
    name: 'shopwire_database_statement_duration_seconds',
    help: 'Time of database statements by name, with the wait for a free connection unless in a transaction.',
    action:
      'If all rise, look at the database server and at shopwire_database_connections_waiting. If one rises, look at its plan.',
    labels: { statement: TIMED_STATEMENTS },
  })
  const requestDuration = histogram(HTTP, REQUESTS, {
    name: 'http_server_request_duration_seconds',
    help: 'Time from the end of the request headers to the end of the answer; status 499: the caller hung up.',
    action:
      'For 5xx look at the warn and error lines of "request". For slow answers compare with the times of statements.',
    labels: { method: 'as observed', route: 'as observed', status: 'as observed' },
  })
  for (const { method, name, responses } of processes.includes('api') ? routes : []) {
    for (const status of [...Object.keys(responses), '500', '503'])
      requestDuration.labels({ method, route: name, status })
  }
  const admissionDuration = histogram(API, MILLISECONDS, {
    name: 'shopwire_admission_duration_seconds',
    help: 'Time to check and count one signed request in the admission store.',
    action: 'Look at the load of that store. With PostgreSQL, think of Redis for admission.',
    labels: { store: 'as observed' },
  })

  return {
    registry,
    reference,

    ready: reading(ALL, {
      name: 'shopwire_ready',
      help: '1 while this process does all of its work, 0 while /readyz says why it does not (degraded, or 503).',
      action: 'Read /readyz of the process: it names the reason.',
    }),

    // Requests.
    requestTimer: timersOf(requestDuration),
    authFailures: counter(API, {
      name: 'shopwire_auth_failures_total',
      help: 'Requests refused with 401, by what failed.',
      action:
        'Many with reason "signature": a caller signs wrongly, or somebody guesses. The log names the key id.',
      labels: { reason: ['key', 'signature', 'revoked'] },
    }),
    nonceReplays: counter(API, {
      name: 'shopwire_nonce_replays_total',
      help: 'Validly signed requests refused because their nonce had been used.',
      action:
        'A caller retries without signing again, or somebody replays what was captured. The log names the key id.',
    }),
    rateLimited: counter(HTTP, {
      name: 'shopwire_rate_limited_total',
      help: 'Requests refused with 429, by the policy that was full.',
      action:
        'Find the account in the log; its limits are SHOPWIRE_REQUESTS_PER_MINUTE and SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE.',
      labels: { policy: ['req', 'orders', 'public', 'dashboard', 'tokens'] },
    }),
    unavailable: counter(HTTP, {
      name: 'shopwire_unavailable_total',
      help: 'Requests refused with 503 because a part did not answer.',
      action: 'Look at the "err" of the warn lines of "request"; they carry PostgreSQL\'s code.',
      labels: { part: ['database', 'admission', 'catalogue'] },
    }),
    requestsShed: counter(HTTP, {
      name: 'shopwire_requests_shed_total',
      help: 'Requests refused with 503 before any work: their account had as many in flight as were free (account), a session or an address of the dashboard had too many at once (session, address), none was free (all), or the event loop was late (late).',
      action:
        'account: one caller floods; the log names it (why.account_id). session, address: one person or visitor floods the dashboard, and only they are refused. all, late: this process or its database is too slow for its load; start another process.',
      labels: { reason: SHED_REASONS },
    }),
    requestsInFlight: reading(API, {
      name: 'shopwire_requests_in_flight',
      help: 'Signed requests that this process works on.',
      action:
        'Close to SHOPWIRE_REQUESTS_IN_FLIGHT for long: look at the times of statements, then start another process.',
    }),
    connectionsRefused: counter(HTTP, {
      name: 'shopwire_connections_refused_total',
      help: 'Connections closed by a limit: of all, of one address, or because their address had the most while few were left (share).',
      action: 'Find who holds the sockets; start more API processes for more callers.',
      labels: { limit: ['all', 'address', 'share'] },
    }),
    admissionDuration,
    batches: counter(API, {
      name: 'shopwire_batches_total',
      help: 'Calls to the database or to Redis that carried one or more requests of callers.',
      action:
        'Divide shopwire_batched_calls_total by it: 1 at rest, up to 16 or 32 when this process is busy.',
      labels: { call: BATCHED_CALLS },
    }),
    batchedCalls: counter(API, {
      name: 'shopwire_batched_calls_total',
      help: 'Requests of callers that those calls carried.',
      action: 'None: see shopwire_batches_total.',
      labels: { call: BATCHED_CALLS },
    }),
    batchedCallsWaiting: counter(API, {
      name: 'shopwire_batched_calls_waiting_total',
      help: 'Requests that were taken out of a batch because they had to wait for something of their account.',
      action:
        'A large share means that one account is used by many processes at once, or that something holds its rows for long.',
      labels: { call: BATCHED_CALLS },
    }),
    liveStreams: reading(DASHBOARD, {
      name: 'shopwire_dashboard_live_streams',
      help: 'Pages of the dashboard that are open and told of changes.',
      action:
        'Near 4,000 in one process, start another one: further pages are not told, and have to be reloaded.',
    }),
    admissionFailing: reading(API, {
      name: 'shopwire_admission_failing',
      help: '1 while Redis does not answer, with admission in Redis: every signed request gets 503.',
      action: 'Start Redis, or repair the way to it. /readyz of the process and its log say what it sees.',
    }),
    admissionMemoryLosses: counter(API, {
      name: 'shopwire_admission_memory_losses_total',
      help: 'Times the admission store was found to have lost its data (crash, flush, failover).',
      action:
        'Without a restart or failover, another program may flush this Redis: give Shopwire one of its own.',
    }),

    // Orders.
    orderRequests: counter(API, {
      name: 'shopwire_order_requests_total',
      help: 'Answers to POST /orders: placed, replayed (the idempotency key had bought before), or the type of the error.',
      action:
        'For "internal_error" and "service_unavailable" look at the log. For "item_unavailable" look at the pools.',
      labels: { outcome: ORDER_OUTCOMES },
    }),
    evidenceLost: counter(API, {
      name: 'shopwire_evidence_lost_total',
      help: 'Attempts to buy and reads of links that could not be recorded as evidence for disputes.',
      action:
        'Read the err field of the line "evidence of requests was lost": the database was unavailable or refused the insert.',
    }),
    ordersDelivered: counter(WORKER, {
      name: 'shopwire_orders_delivered_total',
      help: 'Orders that this worker delivered.',
      action:
        'If it does not rise while shopwire_orders_waiting grows, look at the lines "fulfilment attempt".',
    }),
    ordersDeliveredByHand: counter(WORKER, {
      name: 'shopwire_orders_delivered_by_hand_total',
      help: 'Orders that operators delivered, read from the audit log by one worker.',
      action: 'None: it completes the sum of delivered orders.',
    }),
    orderDelivery: histogram(WORKER, WAITS, {
      name: 'shopwire_order_delivery_seconds',
      help: 'Time from paid to delivered, for orders that a worker delivered.',
      action:
        'Look at stock (shopwire_pools_empty), at suppliers, and at shopwire_queue_oldest_due_seconds{queue="fulfil"}.',
    }).labels({}),
    journalWrites: histogram(WORKER, MILLISECONDS, {
      name: 'shopwire_journal_write_seconds',
      help: 'Time until the links of an order were on the disk of the journal of sold links.',
      action: 'Look at the disk of SHOPWIRE_JOURNAL: every delivery waits for it.',
    }).labels({}),
    journalFailing: reading(WORKER, {
      name: 'shopwire_journal_failing',
      help: "1 while this worker cannot read or write the journal of sold links, or it is another store's; no series without a journal.",
      action: 'Nothing is delivered meanwhile. /readyz says why; shopwire-admin doctor names the file.',
    }),
    journalFailures: counter(WORKER, {
      name: 'shopwire_journal_failures_total',
      help: 'Times links could not be written to the journal of sold links; the orders were not delivered then and are tried again.',
      action:
        'Free or repair the disk of SHOPWIRE_JOURNAL; the err field of "job interrupted" has the reason.',
    }),
    refunds: counter(WORKER, {
      name: 'shopwire_refunds_total',
      help: 'Orders that were cancelled and refunded, by cause. Those of operators are read from the audit log by one worker.',
      action:
        'Cause "refund_rule": orders could not be delivered in time; see shopwire-admin orders waiting.',
      labels: { cause: ['operator', 'refund_rule'] },
    }),
    pricesBeyondBounds: counter(WORKER, {
      name: 'shopwire_prices_beyond_bounds_total',
      help: 'Changes of the catalogue that needed --price-factor-max or --price-share-max, read from the audit log by one worker.',
      action: 'Ask whoever made it whether it was meant: shopwire-admin audit.',
    }),
    refundRuleHeld: gauge(WORKER, {
      name: 'shopwire_refund_rule_held',
      help: '1 while the refund rule has reached its limit and waits for an operator.',
      action: 'Look at shopwire-admin orders waiting and at the clocks, then refunds release.',
    }),
    removalsHeld: readings(WORKER, {
      name: 'shopwire_removals_held',
      help: '1 while so much became too old within an hour that removing it has stopped and waits for an operator, by what it is.',
      action: 'Check the clocks and the settings for retention, then shopwire-admin removals release.',
      labels: { kind: ['links', 'events', 'evidence', 'journal'] },
    }),
    ordersWaiting: reading(WORKER, {
      name: 'shopwire_orders_waiting',
      help: 'Orders that are paid and not delivered.',
      action: 'shopwire-admin orders waiting lists them with the reason.',
    }),
    ordersOldestWaiting: reading(WORKER, {
      name: 'shopwire_orders_oldest_waiting_seconds',
      help: 'Age of the oldest order that is paid and not delivered; 0 when there is none.',
      action: 'shopwire-admin orders waiting lists it first, with the reason.',
    }),

    // Jobs.
    jobsClaimed: counter(WORKER, {
      name: 'shopwire_jobs_claimed_total',
      help: 'Jobs that this worker took from a queue.',
      action: 'If it does not rise while jobs are due, look at the log of the worker.',
      labels: { queue: QUEUES },
    }),
    jobsEnded: counter(WORKER, {
      name: 'shopwire_jobs_ended_total',
      help: 'Jobs that this worker ended, by how. lease_lost: another worker had taken the job over.',
      action:
        '"failed" is a fault of ours: look at the error lines. "lease_lost": the worker did not run for ten seconds (suspended or overloaded).',
      labels: { queue: QUEUES, outcome: JOB_OUTCOMES },
    }),
    deadLetters: counter(WORKER, {
      name: 'shopwire_dead_letters_total',
      help: 'Jobs that failed too often on our side and are not tried again.',
      action: 'shopwire-admin jobs dead lists them with the reason; jobs retry makes them due again.',
      labels: { queue: QUEUES },
    }),
    workerSlots: readings(WORKER, {
      name: 'shopwire_worker_slots',
      help: 'How many jobs of a queue this worker takes at a time.',
      action: 'Set by SHOPWIRE_WORKER_ORDERS and SHOPWIRE_WORKER_ENDPOINTS.',
      labels: { queue: QUEUES },
    }),
    workerSlotsInUse: readings(WORKER, {
      name: 'shopwire_worker_slots_in_use',
      help: 'How many jobs of a queue this worker has now.',
      action: 'Always at shopwire_worker_slots with jobs due: start another worker.',
      labels: { queue: QUEUES },
    }),
    queueJobs: readings(WORKER, {
      name: 'shopwire_queue_jobs',
      help: 'Jobs in the database: due, leased by a worker, scheduled for later, parked until something changes, or dead letters.',
      action:
        '"due" that grows: start workers, or look at what they do. "parked" orders wait for stock or for a person. "dead": shopwire-admin jobs dead.',
      labels: { queue: QUEUES, state: JOB_STATES },
    }),
    queueOldestDue: readings(WORKER, {
      name: 'shopwire_queue_oldest_due_seconds',
      help: 'For how long the oldest due job of a queue has been waiting for a worker; 0 when none is due.',
      action: 'More than a few seconds: too few workers or slots, or a database that is slow.',
      labels: { queue: QUEUES },
    }),

    oldestSnapshot: reading(WORKER, {
      name: 'shopwire_oldest_snapshot_seconds',
      help: 'For how long at least the oldest snapshot of the database has been held; 0 when none is older than a minute.',
      action:
        'Dead rows pile up until it ends. The log of the worker names the session ("a session holds an old snapshot"): end a forgotten one.',
    }),

    // Mail.
    mailGivenUp: counter(WORKER, {
      name: 'shopwire_mail_given_up_total',
      help: 'Mails that will not be sent: refused by the mail server for good, tried too often, or damaged.',
      action:
        'Read the lines "a mail … was given up". Whoever waits for such a mail has to ask for it again.',
    }),
    mailWaiting: reading(WORKER, {
      name: 'shopwire_mail_waiting',
      help: 'Mails that are neither sent nor given up.',
      action: 'If it grows, look at shopwire_mail_oldest_waiting_seconds.',
    }),
    mailOldestWaiting: reading(WORKER, {
      name: 'shopwire_mail_oldest_waiting_seconds',
      help: 'Age of the oldest mail that is neither sent nor given up; 0 when there is none.',
      action:
        'More than a few minutes: the mail server refuses or does not answer (the lines "a mail could not be sent"), or none is set. Nobody can be invited or reset a password meanwhile.',
    }),

    // Webhooks.
    webhookAttempts: counter(WORKER, {
      name: 'shopwire_webhook_attempts_total',
      help: 'Attempts to deliver an event, by outcome.',
      action:
        'One account: tell its owner (webhooks log). All of them: the network, DNS or the egress proxy of the workers.',
      labels: { outcome: WEBHOOK_OUTCOMES },
    }),
    webhookAttemptDuration: histogram(WORKER, CALLS, {
      name: 'shopwire_webhook_attempt_duration_seconds',
      help: 'Time of one attempt, from looking the name up to the end of the answer.',
      action: 'Slow receivers hold worker slots; see shopwire_worker_slots_in_use{queue="deliver"}.',
    }).labels({}),
    webhookFirstAttemptDelay: histogram(WORKER, WAITS, {
      name: 'shopwire_webhook_first_attempt_delay_seconds',
      help: 'Time from an event to the start of its first attempt.',
      action: 'More than a second or two: start workers, or raise SHOPWIRE_WORKER_ENDPOINTS.',
    }).labels({}),
    webhookDeliveries: counter(WORKER, {
      name: 'shopwire_webhook_deliveries_total',
      help: 'Deliveries that have ended: accepted by the receiver, or given up after the last attempt.',
      action:
        '"given_up": tell the owner of the account, then webhooks recover when the receiver works again.',
      labels: { outcome: ['delivered', 'given_up'] },
    }),
    webhookEndpointsFailing: reading(WORKER, {
      name: 'shopwire_webhook_endpoints_failing',
      help: 'Endpoints with events to deliver whose last attempt failed.',
      action:
        'shopwire-admin webhooks log names the error of each account. Many at once: our network, DNS or proxy.',
    }),

    // Suppliers and pools.
    supplierCalls: counter(WORKER, {
      name: 'shopwire_supplier_calls_total',
      help: `Calls of suppliers, by outcome; from the ${SUPPLIER_NAMES_MAX + 1}st name on the supplier is "other".`,
      action:
        'Look at the lines "supplier call". Pause a supplier that keeps failing, or choose another source.',
      labels: { supplier: 'as observed', outcome: 'as observed' },
    }),
    supplierCallDuration: histogram(WORKER, CALLS, {
      name: 'shopwire_supplier_call_duration_seconds',
      help: 'Time of one call of a supplier.',
      action: 'Ask the supplier; its timeout is set with suppliers create.',
      labels: { supplier: 'as observed' },
    }),
    supplierUnsettled: readings(WORKER, {
      name: 'shopwire_supplier_requests_unsettled',
      help: 'Requests that a supplier was sent and has not answered for good: links that may be paid for.',
      action: 'suppliers unsettled lists them. When a supplier is shut down permanently, suppliers give-up.',
      labels: { supplier: 'as observed' },
    }),
    supplierOldestUnsettled: readings(WORKER, {
      name: 'shopwire_supplier_oldest_unsettled_seconds',
      help: 'Age of the oldest unsettled request of a supplier; 0 when there is none.',
      action: 'As for shopwire_supplier_requests_unsettled.',
      labels: { supplier: 'as observed' },
    }),
    supplierLimitWaits: counter(WORKER, {
      name: 'shopwire_supplier_limit_waits_total',
      help: 'Times a line was not requested because its supplier had reached its hourly limit.',
      action:
        'suppliers list shows the limits. Is it a run on one item, or an error? Raise it with suppliers set.',
      labels: { supplier: 'as observed' },
    }),
    supplierOverCost: counter(WORKER, {
      name: 'shopwire_supplier_over_cost_total',
      help: 'Deliveries for which the supplier asked more than the configured cost; they were accepted and booked as asked.',
      action: 'suppliers statement marks them. Ask the supplier, or correct the cost with supply set --cost.',
    }),
    poolsLow: counter(WORKER, {
      name: 'shopwire_pool_low_warnings_total',
      help: 'Times a pool of links fell below its threshold.',
      action: 'pool levels --low, then pool load.',
    }),
    poolsLowNow: reading(WORKER, {
      name: 'shopwire_pools_low',
      help: 'Pools with fewer links than their threshold (supply set --warn-below), empty ones included.',
      action: 'pool levels --low, then pool load.',
    }),
    poolsEmpty: reading(WORKER, {
      name: 'shopwire_pools_empty',
      help: 'Items sold from a pool that has no link left.',
      action: 'pool levels --low, then pool load; the item is on sale again at once.',
    }),
    poolLinksSetAside: counter(WORKER, {
      name: 'shopwire_pool_links_set_aside_total',
      help: 'Links in pools that could not be decrypted and are not sold.',
      action: 'pool set-aside names them; with the row repaired, pool restore.',
    }),
    poolsUnreadable: counter(WORKER, {
      name: 'shopwire_pool_unreadable_total',
      help: 'Times an order had to wait because a pool could not be decrypted: a wrong or missing encryption key.',
      action: 'Put the encryption key back; for damage, pool check.',
    }),

    // The database, the clock, the processes.
    statementTimers: Object.fromEntries(
      TIMED_STATEMENTS.map((statement) => [statement, statementDuration.labels({ statement })]),
    ) as Readonly<Record<StatementLabel, Timer>>,
    databaseConnections: readings(ALL, {
      name: 'shopwire_database_connections',
      help: 'Connections of this process to the database.',
      action: 'in_use at SHOPWIRE_DATABASE_CONNECTIONS for long: slow statements, or too few connections.',
      labels: { state: ['in_use', 'idle'] },
    }),
    databaseConnectionsWaiting: reading(ALL, {
      name: 'shopwire_database_connections_waiting',
      help: 'Requests waiting for a database connection.',
      action: 'Above zero for long: slow statements, or too few connections.',
    }),
    databaseWritesFailing: reading(ALL, {
      name: 'shopwire_database_writes_failing',
      help: '1 while the database cannot write, such as on a full disk.',
      action: 'Free space on the volume of PostgreSQL, or enlarge it; never remove files from pg_wal.',
    }),
    databaseUnconfirmed: gauge(ALL, {
      name: 'shopwire_database_unconfirmed',
      help: '1 while the database is not the one an operator confirmed: nothing is delivered, sent or bought.',
      action:
        'Restored or failed over: see "Restores and failover" in the documentation, and recover status.',
    }),
    replicationLag: readings(WORKER, {
      name: 'shopwire_replication_lag_seconds',
      help: 'How far a standby of PostgreSQL is behind; no series when shopwire_maintenance lacks pg_read_all_stats.',
      action:
        'What it lacks is lost if it is promoted now. Look at its log, at its disk, and whether replay is paused there.',
      labels: { standby: 'as observed' },
    }),
    replicationConnected: readings(WORKER, {
      name: 'shopwire_replication_connected',
      help: '1 for a standby that follows PostgreSQL, 0 for a replication slot that nobody reads.',
      action:
        'Start the standby again, or drop its slot: the primary keeps WAL for it until the disk is full.',
      labels: { standby: 'as observed' },
    }),
    certificateExpiry: readings(WORKER, {
      name: 'shopwire_certificate_expiry_timestamp_seconds',
      help: 'When the certificate of a public address expires, as one worker sees it; none for addresses without https.',
      action: 'Less than ten days ahead: the proxy in front of the store did not renew it. Read its log.',
      labels: { address: ['api', 'dashboard'] },
    }),
    publicAddressReachable: readings(WORKER, {
      name: 'shopwire_public_address_reachable',
      help: '1 when a TLS connection to SHOPWIRE_API_URL or SHOPWIRE_DASHBOARD_ORIGIN could be made within the last minute, else 0.',
      action: 'Look at the proxy in front of the store and at DNS.',
      labels: { address: ['api', 'dashboard'] },
    }),
    databaseClockOffset: reading(CLOCKED, {
      name: 'shopwire_database_clock_offset_seconds',
      help: 'How far the clock of the database is ahead of the clock of this process.',
      action:
        'One process apart: set its clock. All of them: the clock of the database server. Beyond 60 s signed requests fail.',
    }),
    timeUntrusted: reading(WORKER, {
      name: 'shopwire_time_untrusted',
      help: '1 while this worker does no periodic or irreversible work because a clock is more than five minutes off.',
      action:
        'Its log says which clock. Set it right, or confirm the present time: see "A clock is wrong" in the documentation.',
    }),
    databaseClockSteps: counter(WORKER, {
      name: 'shopwire_database_clock_steps_total',
      help: 'Times the clock of the database was seen to step, by direction (back or forward).',
      action: 'Check the time synchronisation of the database server; let it slew the clock.',
      labels: { direction: ['back', 'forward'] },
    }),
    workersAlive: reading(API, {
      name: 'shopwire_workers_alive',
      help: 'Workers that reported to the database within the last ten seconds.',
      action:
        'Fewer than you started: look at the end of the log of the missing one. None: orders are taken and not delivered.',
    }),
    workerLastSeen: reading(API, {
      name: 'shopwire_worker_last_seen_seconds',
      help: 'How long ago the last worker reported to the database; no series when none ever did.',
      action: 'As for shopwire_workers_alive.',
    }),
    nonces: reading(WORKER, {
      name: 'shopwire_nonces',
      help: 'Nonces kept in PostgreSQL, as its statistics estimate them; close to 0 with admission in Redis.',
      action:
        'It follows the rate of signed requests of the last two minutes. If it only grows, no API process removes old ones.',
    }),
    noncesBytes: reading(WORKER, {
      name: 'shopwire_nonces_bytes',
      help: 'Size on disk of the table of nonces, without its indexes.',
      action:
        'If it grows while shopwire_nonces does not, vacuum cannot keep up: look for a transaction that stays open.',
    }),
    verifyLastRun: reading(WORKER, {
      name: 'shopwire_verify_last_run_timestamp_seconds',
      help: 'When shopwire-admin verify last checked all rules; 0 when it never did.',
      action: 'Run verify, once a day by a schedule.',
    }),
    verifyRulesViolated: reading(WORKER, {
      name: 'shopwire_verify_rules_violated',
      help: 'Rules that the last verify found violated; no series when it never ran.',
      action: 'Close the store and read "Invariants" in the documentation before you change anything.',
    }),
    sealLastRound: reading(WORKER, {
      name: 'shopwire_seal_last_round_timestamp_seconds',
      help: 'When all transfers and audit rows there were had last been sealed.',
      action:
        'More than three hours ago: see why the leading worker does not seal. What is not sealed can be changed without a trace.',
    }),
    paymentReviews: reading(WORKER, {
      name: 'shopwire_payment_reviews',
      help: 'Payments about which provider and ledger differ and only a person can decide.',
      action: 'shopwire-admin topups list says why for each; see "Funding" in the documentation.',
    }),
    paymentProviderCalls: counter(WORKER, {
      name: 'shopwire_payment_provider_calls_total',
      help: 'Questions to the payment provider: answered, or failed because it did not answer or refused our key.',
      action:
        'Failures alone: card money waits. Read the log of the workers, then the status page of the provider.',
      labels: { outcome: ['answered', 'failed'] },
    }),
    storeOpen: reading(WORKER, {
      name: 'shopwire_store_open',
      help: '1 while the store takes orders, 0 while it is closed, by hand or by a planned window.',
      action: 'shopwire-admin store show says why it is closed.',
    }),
    operatorTokenEnds: reading(WORKER, {
      name: 'shopwire_operator_token_expiry_timestamp_seconds',
      help: "When the first operator's last token ends, of those that can still be used; the last end when all have ended; no series when there was none.",
      action:
        'Less than a week ahead: shopwire-admin operators list says whose; operators add gives that person or job another one.',
    }),
    paymentsReconciled: reading(WORKER, {
      name: 'shopwire_payments_reconciled_timestamp_seconds',
      help: 'When all card money was last compared with the payment provider; no series where no cards are taken.',
      action:
        'More than two days ago: the provider does not answer or refuses the key. Read the log of the workers.',
    }),
    figuresAge: reading(WORKER, {
      name: 'shopwire_store_figures_age_seconds',
      help: 'Age of the figures that this worker reads from the database for the whole store; no series at workers that do not.',
      action:
        'More than 15 s: the database does not answer, and the gauges that come from it are gone until it does.',
    }),
  }
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

/** Every set of label values that is known beforehand; none when a label takes its values from what is observed. */
function combinations(labels: LabelValues | undefined): Record<string, string>[] {
  const names = Object.entries(labels ?? {})
  return names.reduce<Record<string, string>[]>(
    (all, [name, values]) =>
      values === 'as observed'
        ? []
        : all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
}
