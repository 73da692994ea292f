import { areas, type Dashboard, figure, lines, quantile, series } from './grafana.ts'
import { OBJECTIVES, ratioOf } from './slo.ts'

const HTTP = 'http_server_request_duration_seconds'
const budgetLeft = ({ name, budget, says }: (typeof OBJECTIVES)[number], title: string) =>
  figure(
    title,
    `1 - ${ratioOf(name, '30d')} / ${budget}`,
    `What is left of the error budget of 30 days. Objective: ${says}.`,
    { unit: 'percentunit', warnFrom: 0.5, badFrom: 0.1 },
  )
const [AVAILABILITY, DELIVERY, WEBHOOK_DELAY] = OBJECTIVES as [
  (typeof OBJECTIVES)[number],
  (typeof OBJECTIVES)[number],
  (typeof OBJECTIVES)[number],
]

const API: Dashboard = {
  slug: 'api',
  title: 'API',
  about: 'What callers get: answers, their times, refusals, and the processes behind them.',
  sections: [
    {
      title: 'Now',
      panels: [
        budgetLeft(AVAILABILITY, 'Error budget left'),
        figure(
          'Requests',
          `sum(rate(${HTTP}_count[$__rate_interval]))`,
          'Answers a second, of API and dashboard.',
          {
            unit: 'reqps',
          },
        ),
        figure(
          'Answers with 5xx',
          `sum(rate(${HTTP}_count{status=~"5.."}[$__rate_interval])) / sum(rate(${HTTP}_count[$__rate_interval]))`,
          'A 500 is a fault of ours; a 503 says that a part did not answer.',
          { unit: 'percentunit', warnFrom: 0.001, badFrom: 0.01 },
        ),
        figure('p99', quantile(0.99, HTTP), 'Time of an answer at p99, of all routes.', {
          unit: 's',
          warnFrom: 0.25,
          badFrom: 1,
        }),
        figure(
          'Processes ready',
          'sum(shopwire_ready)',
          'Processes that do their work. /readyz of the others says why they do not.',
          { unit: 'none' },
        ),
        figure(
          'Processes down',
          'sum(up{job="shopwire"} == bool 0)',
          'Targets that do not answer a scrape.',
          {
            unit: 'none',
            badFrom: 1,
          },
        ),
      ],
    },
    {
      title: 'Answers',
      panels: [
        areas(
          'Answers by status',
          [series('{{status}}', `sum by (status) (rate(${HTTP}_count[$__rate_interval]))`)],
          '499: the caller hung up. 429 is explained below.',
          { unit: 'reqps' },
        ),
        lines(
          'Time of an answer',
          [
            series('p50', quantile(0.5, HTTP), 'quiet'),
            series('p95', quantile(0.95, HTTP), 'main'),
            series('p99', quantile(0.99, HTTP), 'warn'),
          ],
          'From the end of the request headers to the end of the answer.',
          { unit: 's' },
        ),
        lines(
          'p99 by route',
          [series('{{route}}', quantile(0.99, HTTP, ['route']))],
          'One route apart: look at its statements. All of them: the database or the processor.',
          { unit: 's' },
        ),
        lines(
          'Answers with 5xx by route',
          [
            series(
              '{{route}} {{status}}',
              `sum by (route, status) (rate(${HTTP}_count{status=~"5.."}[$__rate_interval])) > 0`,
            ),
          ],
          'The warn and error lines "request" carry the cause.',
          { unit: 'reqps' },
        ),
      ],
    },
    {
      title: 'Refusals',
      panels: [
        lines(
          'Authentication',
          [
            series(
              '401, {{reason}}',
              'sum by (reason) (rate(shopwire_auth_failures_total[$__rate_interval]))',
            ),
            series('nonce used before', 'sum(rate(shopwire_nonce_replays_total[$__rate_interval]))', 'bad'),
          ],
          'Many with "signature": a caller signs wrongly, or somebody guesses.',
          { unit: 'reqps', width: 8 },
        ),
        lines(
          'Rate limits',
          [series('{{policy}}', 'sum by (policy) (rate(shopwire_rate_limited_total[$__rate_interval]))')],
          'Answers with 429 by the limit that was reached.',
          { unit: 'reqps', width: 8 },
        ),
        lines(
          'Unavailable parts and refused connections',
          [
            series('503, {{part}}', 'sum by (part) (rate(shopwire_unavailable_total[$__rate_interval]))'),
            series(
              '503, shed, {{reason}}',
              'sum by (reason) (rate(shopwire_requests_shed_total[$__rate_interval]))',
            ),
            series(
              'connection refused, {{limit}}',
              'sum by (limit) (rate(shopwire_connections_refused_total[$__rate_interval]))',
            ),
          ],
          'A part that does not answer, and requests and connections beyond the limits.',
          { unit: 'reqps', width: 8 },
        ),
      ],
    },
    {
      title: 'Processes',
      panels: [
        lines(
          'Delay of the event loop, p99',
          [series('{{instance}}', 'nodejs_eventloop_lag_p99_seconds{job="shopwire"}')],
          'Above 0.1 s for long: the process has too much to do. Start another one.',
          { unit: 's', width: 8, limit: 0.1 },
        ),
        lines(
          'Memory',
          [series('{{instance}}', 'process_resident_memory_bytes{job="shopwire"}')],
          'Resident memory of each process.',
          { unit: 'bytes', width: 8 },
        ),
        lines(
          'Processor',
          [series('{{instance}}', 'rate(process_cpu_seconds_total{job="shopwire"}[$__rate_interval])')],
          'Seconds of processor time a second; one process uses a little more than one core at most.',
          { unit: 'short', width: 8 },
        ),
        lines(
          'Admission',
          [series('p99, {{store}}', quantile(0.99, 'shopwire_admission_duration_seconds', ['store']))],
          'Time to check nonce and limits of one signed request.',
          { unit: 's' },
        ),
        lines(
          'Requests in one call of the database',
          [
            series(
              '{{call}}',
              'sum by (call) (rate(shopwire_batched_calls_total[$__rate_interval])) / sum by (call) (rate(shopwire_batches_total[$__rate_interval]))',
            ),
          ],
          '1 at rest, up to 16 or 32 when the process is busy.',
          { unit: 'short' },
        ),
      ],
    },
  ],
}

const ORDERS: Dashboard = {
  slug: 'orders',
  title: 'Orders and money',
  about: 'Orders from the request to the links, refunds, stock, and whether the books add up.',
  sections: [
    {
      title: 'Now',
      panels: [
        budgetLeft(DELIVERY, 'Delivery budget left'),
        figure(
          'Orders waiting',
          'max(shopwire_orders_waiting)',
          'Paid and not delivered: shopwire-admin orders waiting.',
          {
            unit: 'none',
          },
        ),
        figure(
          'Oldest of them',
          'max(shopwire_orders_oldest_waiting_seconds)',
          'Above a minute: see the runbook ShopwireOrderWaiting.',
          { unit: 's', warnFrom: 30, badFrom: 60 },
        ),
        figure(
          'Pools empty',
          'max(shopwire_pools_empty)',
          'Items that are sold out: shopwire-admin pool levels --low.',
          {
            unit: 'none',
            warnFrom: 1,
          },
        ),
        figure(
          'Rules violated',
          'max(shopwire_verify_rules_violated)',
          'Found by the last shopwire-admin verify. Anything but 0: close the store and read the runbook.',
          { unit: 'none', badFrom: 1 },
        ),
        figure(
          'Last verify',
          'max(shopwire_verify_last_run_timestamp_seconds) * 1000',
          'When the rules were last checked.',
          { unit: 'dateTimeFromNow' },
        ),
      ],
    },
    {
      title: 'Buying',
      panels: [
        areas(
          'Orders by outcome',
          [
            series(
              '{{outcome}}',
              'sum by (outcome) (rate(shopwire_order_requests_total[$__rate_interval])) > 0',
            ),
          ],
          'Answers to POST /orders. "replayed": the idempotency key had bought before, nothing was charged.',
          { unit: 'reqps' },
        ),
        lines(
          'Orders placed and delivered',
          [
            series(
              'placed',
              'sum(rate(shopwire_order_requests_total{outcome="placed"}[$__rate_interval]))',
              'quiet',
            ),
            series(
              'delivered',
              'sum(rate(shopwire_orders_delivered_total[$__rate_interval])) + sum(rate(shopwire_orders_delivered_by_hand_total[$__rate_interval]))',
              'ok',
            ),
          ],
          'Delivered below placed for long: orders pile up.',
          { unit: 'ops' },
        ),
        lines(
          'From paid to delivered',
          [
            series('p50', quantile(0.5, 'shopwire_order_delivery_seconds'), 'quiet'),
            series('p95', quantile(0.95, 'shopwire_order_delivery_seconds'), 'main'),
            series('p99', quantile(0.99, 'shopwire_order_delivery_seconds'), 'warn'),
          ],
          'Of orders that a worker delivered.',
          { unit: 's' },
        ),
        lines(
          'Waiting orders',
          [series('orders', 'max(shopwire_orders_waiting)', 'main')],
          'Paid and not delivered.',
          { unit: 'short' },
        ),
      ],
    },
    {
      title: 'Money',
      panels: [
        lines(
          'Refunded orders',
          [series('{{cause}}', 'sum by (cause) (increase(shopwire_refunds_total[1h]))')],
          'Within an hour. "refund_rule": they could not be delivered in time.',
          { unit: 'short', width: 8 },
        ),
        lines(
          'Refund rule held',
          [series('held', 'max(shopwire_refund_rule_held)', 'bad')],
          '1: it reached its limit and waits for an operator.',
          { unit: 'none', width: 8 },
        ),
        lines(
          'Evidence lost',
          [series('lost', 'sum(increase(shopwire_evidence_lost_total[1h]))', 'bad')],
          'Requests to buy, or reads of links, that could not be recorded.',
          { unit: 'short', width: 8 },
        ),
      ],
    },
    {
      title: 'Stock and suppliers',
      panels: [
        lines(
          'Pools',
          [
            series('low', 'max(shopwire_pools_low)', 'warn'),
            series('empty', 'max(shopwire_pools_empty)', 'bad'),
          ],
          'shopwire-admin pool levels --low, then pool load.',
          { unit: 'none' },
        ),
        lines(
          'Links that cannot be decrypted',
          [
            series('set aside', 'sum(increase(shopwire_pool_links_set_aside_total[1h]))', 'bad'),
            series(
              'orders that met such a pool',
              'sum(increase(shopwire_pool_unreadable_total[1h]))',
              'warn',
            ),
          ],
          'A wrong or missing encryption key, or damaged rows.',
          { unit: 'short' },
        ),
        lines(
          'Calls of suppliers',
          [
            series(
              '{{supplier}} {{outcome}}',
              'sum by (supplier, outcome) (rate(shopwire_supplier_calls_total[$__rate_interval]))',
            ),
          ],
          'The lines "supplier call" name the error.',
          { unit: 'ops', width: 8 },
        ),
        lines(
          'Time of a supplier, p95',
          [series('{{supplier}}', quantile(0.95, 'shopwire_supplier_call_duration_seconds', ['supplier']))],
          'Its timeout is set with suppliers create.',
          { unit: 's', width: 8 },
        ),
        lines(
          'Unsettled requests',
          [series('{{supplier}}', 'max by (supplier) (shopwire_supplier_requests_unsettled)')],
          'Links that may have to be paid: shopwire-admin suppliers unsettled.',
          { unit: 'short', width: 8 },
        ),
      ],
    },
  ],
}

const WEBHOOKS: Dashboard = {
  slug: 'webhooks',
  title: 'Webhooks and fulfilment',
  about: 'What workers do: events to callers, jobs of orders, mail.',
  sections: [
    {
      title: 'Now',
      panels: [
        budgetLeft(WEBHOOK_DELAY, 'Webhook budget left'),
        figure(
          'Workers',
          'min(shopwire_workers_alive)',
          'That reported within ten seconds, as API processes see them.',
          {
            unit: 'none',
            warnFrom: 1,
            badFrom: 0.5,
          },
        ),
        figure(
          'Endpoints failing',
          'max(shopwire_webhook_endpoints_failing)',
          'With events to deliver whose last attempt failed.',
          { unit: 'none', warnFrom: 1 },
        ),
        figure(
          'Accepted attempts',
          'sum(rate(shopwire_webhook_attempts_total{outcome="delivered"}[$__rate_interval])) / sum(rate(shopwire_webhook_attempts_total[$__rate_interval]))',
          'Share of the attempts that the receiver accepted.',
          { unit: 'percentunit', warnFrom: 0.95, badFrom: 0.5 },
        ),
        figure(
          'Dead letters',
          'sum(shopwire_queue_jobs{state="dead"})',
          'Jobs that were given up: shopwire-admin jobs dead.',
          {
            unit: 'none',
            badFrom: 1,
          },
        ),
        figure(
          'Oldest mail',
          'max(shopwire_mail_oldest_waiting_seconds)',
          'That is neither sent nor given up.',
          {
            unit: 's',
            warnFrom: 120,
            badFrom: 600,
          },
        ),
      ],
    },
    {
      title: 'Webhooks',
      panels: [
        areas(
          'Attempts by outcome',
          [
            series(
              '{{outcome}}',
              'sum by (outcome) (rate(shopwire_webhook_attempts_total[$__rate_interval])) > 0',
            ),
          ],
          'One account: tell its owner. All of them: the network, DNS or the egress proxy of the workers.',
          { unit: 'ops' },
        ),
        lines(
          'From an event to its first attempt',
          [
            series('p50', quantile(0.5, 'shopwire_webhook_first_attempt_delay_seconds'), 'quiet'),
            series('p99', quantile(0.99, 'shopwire_webhook_first_attempt_delay_seconds'), 'warn'),
          ],
          'More than a second or two: start workers, or raise SHOPWIRE_WORKER_ENDPOINTS.',
          { unit: 's', limit: 5 },
        ),
        lines(
          'Time of an attempt',
          [
            series('p50', quantile(0.5, 'shopwire_webhook_attempt_duration_seconds'), 'quiet'),
            series('p99', quantile(0.99, 'shopwire_webhook_attempt_duration_seconds'), 'warn'),
          ],
          'Slow receivers hold worker slots.',
          { unit: 's' },
        ),
        lines(
          'Ended deliveries',
          [
            series(
              'accepted',
              'sum(rate(shopwire_webhook_deliveries_total{outcome="delivered"}[$__rate_interval]))',
              'ok',
            ),
            series(
              'given up',
              'sum(rate(shopwire_webhook_deliveries_total{outcome="given_up"}[$__rate_interval]))',
              'bad',
            ),
          ],
          'Given up: shopwire-admin webhooks recover when the receiver works again.',
          { unit: 'ops' },
        ),
      ],
    },
    {
      title: 'Fulfilment',
      panels: [
        areas(
          'Jobs by how they ended',
          [
            series(
              '{{queue}} {{outcome}}',
              'sum by (queue, outcome) (rate(shopwire_jobs_ended_total[$__rate_interval])) > 0',
            ),
          ],
          '"failed" is a fault of ours, or of the mail server. "lease_lost": the worker did not run for ten seconds.',
          { unit: 'ops' },
        ),
        lines(
          'Worker slots in use',
          [
            series(
              '{{queue}}',
              'sum by (queue) (shopwire_worker_slots_in_use) / sum by (queue) (shopwire_worker_slots)',
            ),
          ],
          'Always full with jobs due: start another worker.',
          { unit: 'percentunit' },
        ),
        lines(
          'Writes to the journal of sold links',
          [
            series('p99', quantile(0.99, 'shopwire_journal_write_seconds'), 'warn'),
            series('failures', 'sum(increase(shopwire_journal_failures_total[$__rate_interval]))', 'bad'),
          ],
          'Every delivery waits for the disk of SHOPWIRE_JOURNAL.',
          { unit: 's', width: 8 },
        ),
        lines(
          'Jobs taken up',
          [series('{{queue}}', 'sum by (queue) (rate(shopwire_jobs_claimed_total[$__rate_interval]))')],
          'If it does not rise while jobs are due, look at the log of the worker.',
          { unit: 'ops', width: 8 },
        ),
        lines(
          'Mail',
          [series('{{state}}', 'max by (state) (shopwire_queue_jobs{queue="mail"})')],
          'What is neither sent nor given up, by the state of its job.',
          {
            unit: 'short',
            width: 8,
          },
        ),
      ],
    },
  ],
}

const DATABASE: Dashboard = {
  slug: 'database',
  title: 'PostgreSQL and queue',
  about: 'Statements, connections, the job queue, standbys, backups, disks and clocks.',
  sections: [
    {
      title: 'Now',
      panels: [
        figure(
          'Writes failing',
          'max(shopwire_database_writes_failing)',
          '1: its disk is full, or it is read-only.',
          {
            unit: 'none',
            badFrom: 1,
          },
        ),
        figure(
          'Oldest due job',
          'max(shopwire_queue_oldest_due_seconds{queue!="mail"})',
          'For how long it has been waiting for a worker, mail aside.',
          { unit: 's', warnFrom: 5, badFrom: 60 },
        ),
        figure(
          'Fullest disk',
          '1 - min(node_filesystem_avail_bytes / node_filesystem_size_bytes)',
          'Of all machines.',
          {
            unit: 'percentunit',
            warnFrom: 0.8,
            badFrom: 0.9,
          },
        ),
        figure(
          'Standby behind',
          'max(shopwire_replication_lag_seconds)',
          'What would be lost if it were promoted now.',
          {
            unit: 's',
            warnFrom: 5,
            badFrom: 30,
          },
        ),
        figure(
          'Last backup',
          'max(shopwire_backup_last_success_timestamp_seconds) * 1000',
          'That ended well.',
          {
            unit: 'dateTimeFromNow',
          },
        ),
        figure(
          'Last restore test',
          'max(shopwire_restore_test_last_success_timestamp_seconds) * 1000',
          'A backup that was restored and passed verify.',
          { unit: 'dateTimeFromNow' },
        ),
      ],
    },
    {
      title: 'Statements',
      panels: [
        lines(
          'p99 by statement',
          [
            series(
              '{{statement}}',
              quantile(0.99, 'shopwire_database_statement_duration_seconds', ['statement']),
            ),
          ],
          'All rise: the server or too few connections. One rises: its plan.',
          { unit: 's' },
        ),
        lines(
          'Statements a second',
          [
            series(
              '{{statement}}',
              'sum by (statement) (rate(shopwire_database_statement_duration_seconds_count[$__rate_interval])) > 0',
            ),
          ],
          'By name.',
          { unit: 'ops' },
        ),
        lines(
          'Connections in use',
          [series('{{instance}}', 'shopwire_database_connections{state="in_use"}')],
          'At SHOPWIRE_DATABASE_CONNECTIONS for long: slow statements, or too few connections.',
          { unit: 'short' },
        ),
        lines(
          'Requests that wait for a connection',
          [series('{{instance}}', 'shopwire_database_connections_waiting')],
          'Above zero for long: slow statements, or too few connections.',
          { unit: 'short' },
        ),
      ],
    },
    {
      title: 'Queue',
      panels: [
        lines(
          'Jobs by state',
          [series('{{queue}} {{state}}', 'sum by (queue, state) (shopwire_queue_jobs)')],
          '"due" that grows: start workers. "parked" orders wait for stock or for a person.',
          { unit: 'short' },
        ),
        lines(
          'Oldest due job',
          [series('{{queue}}', 'max by (queue) (shopwire_queue_oldest_due_seconds)')],
          'More than a few seconds: too few workers or slots, or a database that is slow.',
          { unit: 's', limit: 60 },
        ),
      ],
    },
    {
      title: 'Storage, standbys, time',
      panels: [
        lines(
          'Disks',
          [
            series(
              '{{instance}} {{mountpoint}}',
              '1 - node_filesystem_avail_bytes / node_filesystem_size_bytes',
            ),
          ],
          'Used share of every file system.',
          { unit: 'percentunit', limit: 0.9 },
        ),
        lines(
          'Busy disks',
          [series('{{instance}} {{device}}', 'rate(node_disk_io_time_seconds_total[$__rate_interval])')],
          'Share of the time in which the disk had something to do.',
          { unit: 'percentunit' },
        ),
        lines(
          'Standbys',
          [
            series('{{standby}} behind', 'max by (standby) (shopwire_replication_lag_seconds)'),
            series('{{standby}} connected', 'max by (standby) (shopwire_replication_connected)', 'quiet'),
          ],
          'Seconds by which a standby is behind; connected is 1 or 0.',
          { unit: 's', width: 8 },
        ),
        lines(
          'Clocks',
          [series('{{instance}}', 'shopwire_database_clock_offset_seconds')],
          'How far the clock of the database is ahead of each process.',
          { unit: 's', width: 8 },
        ),
        lines(
          'Oldest snapshot',
          [series('held for', 'max(shopwire_oldest_snapshot_seconds)', 'warn')],
          'Dead rows pile up until it ends; the log of the worker names the session.',
          { unit: 's', width: 8 },
        ),
      ],
    },
  ],
}

export const DASHBOARDS: readonly Dashboard[] = [API, ORDERS, WEBHOOKS, DATABASE]
