/** No sample: after five minutes there is no series any more. */
const NONE = '_'

/** A course of the input series in which an alert does not fire, then fires, then ends; samples every ten seconds. */
export interface AlertCase {
  readonly alert: string
  /** Series with its value while all is well and while it is not; a counter has its increase per sample instead. */
  readonly series: readonly (
    | { readonly name: string; readonly good: number; readonly bad: number | typeof NONE }
    | { readonly counter: string; readonly from?: number; readonly good: number; readonly bad: number }
  )[]
  /** Minutes that the fault lasts, and after which the alert has ended. */
  readonly faultMin?: number
  readonly clearMin?: number
  /** Minutes before the fault; five by default. */
  readonly goodMin?: number
  /** No fault for this alert: it has to stay silent. */
  readonly isSilent?: boolean
  /** Seconds between samples and between evaluations; ten by default. */
  readonly sampleS?: number
  /** One of several rules with this name. */
  readonly window?: string
}

const gauge = (
  alert: string,
  name: string,
  good: number,
  bad: number,
  more: Partial<AlertCase> = {},
): AlertCase => ({
  alert,
  series: [{ name, good, bad }],
  ...more,
})
/** Counted in a window: ends when the window has passed. */
const counter = (alert: string, name: string, more: Partial<AlertCase> = {}): AlertCase => ({
  alert,
  series: [{ counter: name, good: 0, bad: 1 }],
  ...more,
})
const DISK = '{instance="db1",mountpoint="/data"}'
const disk = (
  alert: string,
  availableGood: number,
  availableBad: number,
  more: Partial<AlertCase> = {},
): AlertCase => ({
  alert,
  series: [
    { name: `node_filesystem_avail_bytes${DISK}`, good: availableGood, bad: availableBad },
    { name: `node_filesystem_size_bytes${DISK}`, good: 100, bad: 100 },
    { name: `node_filesystem_readonly${DISK}`, good: 0, bad: 0 },
  ],
  ...more,
})
const DAY = 86_400
/** The clock of these tests begins at 0, so a time in the past is negative. */
const NOW_AND = 1e6

const PLACED = 'shopwire_order_requests_total{outcome="placed"}'
const orders = (good: number, bad: number, more: Partial<AlertCase> = {}): AlertCase => ({
  alert: 'ShopwireOrdersStopped',
  series: [{ counter: PLACED, good, bad }],
  // A week and two hours; every ten minutes.
  goodMin: 7 * 24 * 60 + 120,
  faultMin: 60,
  clearMin: 60,
  sampleS: 600,
  ...more,
})

export const ALERT_CASES: readonly AlertCase[] = [
  orders(20, 0),
  // It sells a tenth of what it did; it sells little; it is new; it is closed.
  orders(20, 2, { isSilent: true }),
  orders(4, 0, { isSilent: true }),
  orders(20, 0, { isSilent: true, goodMin: 6 * 24 * 60 }),
  orders(20, 0, {
    isSilent: true,
    series: [
      { counter: PLACED, good: 20, bad: 0 },
      { name: 'shopwire_store_open', good: 1, bad: 0 },
    ],
  }),
  counter('ShopwirePaymentProviderFailing', 'shopwire_payment_provider_calls_total{outcome="failed"}', {
    clearMin: 15,
  }),
  gauge('ShopwireOperatorTokenEnding', 'shopwire_operator_token_expiry_timestamp_seconds', NOW_AND, 3 * DAY),
  gauge('ShopwireProxyWithoutServer', 'haproxy_backend_active_servers{job="haproxy",proxy="api"}', 2, 0),
  gauge('ShopwireExporterDown', 'up{job="postgres",instance="db1"}', 1, 0, { faultMin: 8 }),
  gauge('ShopwireExporterDown', 'pg_up{job="postgres",instance="db1"}', 1, 0, { faultMin: 8 }),
  counter('ShopwireArchivingFailing', 'pg_stat_archiver_failed_count{job="postgres",instance="db1"}', {
    clearMin: 20,
  }),
  {
    alert: 'ShopwirePostgresConnectionsLow',
    series: [
      { name: 'pg_stat_activity_count{job="postgres",instance="db1",state="idle"}', good: 20, bad: 95 },
      { name: 'pg_settings_max_connections{job="postgres",instance="db1"}', good: 100, bad: 100 },
    ],
  },
  gauge('ShopwireJournalFailing', 'shopwire_journal_failing', 0, 1),
  {
    alert: 'ShopwireFiguresMissing',
    series: [
      { name: 'shopwire_workers_alive', good: 1, bad: NONE },
      { name: 'shopwire_queue_oldest_due_seconds', good: 0, bad: NONE },
    ],
    faultMin: 8,
  },
  gauge('ShopwireProcessDown', 'up{job="shopwire",instance="worker"}', 1, 0),
  gauge('ShopwireNoWorker', 'shopwire_workers_alive{instance="api"}', 1, 0),
  gauge('ShopwireAdmissionFailing', 'shopwire_admission_failing{instance="api"}', 0, 1),
  gauge('ShopwireProcessNotReady', 'shopwire_ready{job="shopwire",instance="api"}', 1, 0),
  counter('ShopwireJobsFailing', 'shopwire_jobs_ended_total{queue="fulfil",outcome="failed"}'),
  gauge('ShopwireDeadLetters', 'shopwire_queue_jobs{queue="fulfil",state="dead"}', 0, 1),
  counter(
    'ShopwireInternalErrors',
    'http_server_request_duration_seconds_count{route="getPing",status="500"}',
  ),
  gauge(
    'ShopwireEventLoopBusy',
    'nodejs_eventloop_lag_p99_seconds{job="shopwire",instance="api"}',
    0.01,
    0.5,
    {
      faultMin: 15,
    },
  ),
  counter('ShopwireRequestsShed', 'shopwire_requests_shed_total{job="shopwire",instance="api",reason="all"}'),
  {
    alert: 'ShopwireFileDescriptorsLow',
    series: [
      { name: 'process_open_fds{job="shopwire",instance="api"}', good: 100, bad: 900 },
      { name: 'process_max_fds{job="shopwire",instance="api"}', good: 1_000, bad: 1_000 },
    ],
  },
  gauge('ShopwireOrderWaiting', 'shopwire_orders_oldest_waiting_seconds', 59, 61),
  gauge('ShopwireQueueNotTakenUp', 'shopwire_queue_oldest_due_seconds{queue="deliver"}', 10, 61),
  gauge('ShopwirePoolLow', 'shopwire_pools_low', 0, 1),
  gauge('ShopwirePoolEmpty', 'shopwire_pools_empty', 0, 2),
  counter('ShopwirePoolUnreadable', 'shopwire_pool_unreadable_total'),
  counter('ShopwirePoolUnreadable', 'shopwire_pool_links_set_aside_total'),
  gauge('ShopwireLedgerRuleBroken', 'shopwire_verify_rules_violated', 0, 1),
  gauge('ShopwireVerifyStale', 'shopwire_verify_last_run_timestamp_seconds', NOW_AND, -3 * DAY),
  gauge('ShopwireSealStale', 'shopwire_seal_last_round_timestamp_seconds', NOW_AND, -DAY),
  gauge('ShopwirePaymentReview', 'shopwire_payment_reviews', 0, 1),
  gauge('ShopwirePaymentsNotReconciled', 'shopwire_payments_reconciled_timestamp_seconds', NOW_AND, -3 * DAY),
  gauge('ShopwireRefundRuleHeld', 'shopwire_refund_rule_held', 0, 1),
  counter('ShopwirePricesBeyondBounds', 'shopwire_prices_beyond_bounds_total', { clearMin: 15 }),
  counter('ShopwireEvidenceLost', 'shopwire_evidence_lost_total', { clearMin: 15 }),
  {
    alert: 'ShopwireSupplierFailing',
    series: [
      { counter: 'shopwire_supplier_calls_total{supplier="acme",outcome="timeout"}', good: 0, bad: 3 },
      { counter: 'shopwire_supplier_calls_total{supplier="acme",outcome="given"}', good: 1, bad: 1 },
    ],
  },
  gauge(
    'ShopwireSupplierUnsettled',
    'shopwire_supplier_oldest_unsettled_seconds{supplier="acme"}',
    60,
    4_000,
  ),
  {
    alert: 'ShopwireWebhooksFailing',
    series: [
      { counter: 'shopwire_webhook_attempts_total{outcome="http_5xx"}', good: 0, bad: 3 },
      { counter: 'shopwire_webhook_attempts_total{outcome="delivered"}', good: 1, bad: 1 },
    ],
  },
  counter('ShopwireWebhooksGivenUp', 'shopwire_webhook_deliveries_total{outcome="given_up"}', {
    clearMin: 65,
  }),
  counter('ShopwireMailGivenUp', 'shopwire_mail_given_up_total', { clearMin: 65 }),
  gauge('ShopwireMailNotSent', 'shopwire_mail_oldest_waiting_seconds', 5, 700),
  gauge('ShopwireDatabaseWritesFailing', 'shopwire_database_writes_failing{instance="api"}', 0, 1),
  gauge('ShopwireDatabaseUnconfirmed', 'shopwire_database_unconfirmed{instance="api"}', 0, 1),
  counter('ShopwireFailedOver', 'shopwire_database_failovers_total{outcome="opened"}', { clearMin: 65 }),
  counter('ShopwireJournalFailing', 'shopwire_journal_failures_total'),
  gauge('ShopwireConnectionsExhausted', 'shopwire_database_connections_waiting{job="shopwire"}', 0, 4),
  gauge('ShopwireOldSnapshot', 'shopwire_oldest_snapshot_seconds', 0, 4_000),
  gauge('ShopwireReplicationLag', 'shopwire_replication_lag_seconds{standby="one"}', 2, 31),
  gauge('ShopwireStandbyMissing', 'shopwire_replication_connected{standby="one"}', 1, 0),
  gauge('ShopwireTimeUntrusted', 'shopwire_time_untrusted', 0, 1),
  gauge('ShopwireRemovalsHeld', 'shopwire_removals_held{kind="events"}', 0, 1),
  gauge('ShopwireClockOff', 'shopwire_database_clock_offset_seconds{job="shopwire"}', 0.2, -600),
  disk('ShopwireDiskFilling', 50, 8),
  disk('ShopwireDiskFull', 8, 1),
  {
    alert: 'ShopwireDiskWillFill',
    series: [
      { name: `node_filesystem_size_bytes${DISK}`, good: 1e4, bad: 1e4 },
      // Runs down from 3,900 of 10,000 by twelve a minute, for two hours, and would be gone in a day.
      { counter: `node_filesystem_avail_bytes${DISK}`, from: 3_900, good: 0, bad: -12 },
    ],
    faultMin: 120,
    clearMin: 400,
    sampleS: 60,
  },
  {
    alert: 'ShopwireHostClockNotSynchronised',
    series: [
      { name: 'node_timex_sync_status{instance="db1"}', good: 1, bad: 0 },
      { name: 'node_timex_maxerror_seconds{instance="db1"}', good: 0.1, bad: 16 },
    ],
    faultMin: 15,
  },
  gauge('ShopwireBackupStale', 'shopwire_backup_last_success_timestamp_seconds', NOW_AND, -2 * DAY),
  gauge(
    'ShopwireRestoreTestStale',
    'shopwire_restore_test_last_success_timestamp_seconds',
    NOW_AND,
    -8 * DAY,
  ),
  gauge(
    'ShopwireCertificateExpiring',
    'shopwire_certificate_expiry_timestamp_seconds{address="api"}',
    NOW_AND,
    9 * DAY,
  ),
  gauge(
    'ShopwireCertificateExpired',
    'shopwire_certificate_expiry_timestamp_seconds{address="api"}',
    NOW_AND,
    DAY,
  ),
  gauge('ShopwirePublicAddressUnreachable', 'shopwire_public_address_reachable{address="api"}', 1, 0),
]

/** Of each objective: a share of bad events so large that the fastest alert fires within minutes, and ends with the short window. */
export const BUDGET_CASES: readonly AlertCase[] = [
  {
    alert: 'ShopwireApiBudgetBurning',
    series: [
      {
        counter: 'http_server_request_duration_seconds_count{route="getPing",status="503"}',
        good: 0,
        bad: 2,
      },
      {
        counter: 'http_server_request_duration_seconds_count{route="getPing",status="200"}',
        good: 10,
        bad: 8,
      },
    ],
    faultMin: 5,
    clearMin: 8,
    sampleS: 30,
    window: '1h',
  },
  {
    alert: 'ShopwireDeliveryBudgetBurning',
    series: [
      { counter: 'shopwire_order_delivery_seconds_count', good: 10, bad: 10 },
      { counter: 'shopwire_order_delivery_seconds_bucket{le="60"}', good: 10, bad: 5 },
    ],
    faultMin: 5,
    clearMin: 8,
    sampleS: 30,
    window: '1h',
  },
  {
    alert: 'ShopwireWebhookBudgetBurning',
    series: [
      { counter: 'shopwire_webhook_first_attempt_delay_seconds_count', good: 10, bad: 10 },
      { counter: 'shopwire_webhook_first_attempt_delay_seconds_bucket{le="5"}', good: 10, bad: 5 },
    ],
    faultMin: 5,
    clearMin: 8,
    sampleS: 30,
    window: '1h',
  },
]
