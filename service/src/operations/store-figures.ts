import type { AccessMetrics } from '../access/metrics.ts'
import type { FundingMetrics } from '../funding/metrics.ts'
import type { OrderMetrics } from '../orders/metrics.ts'
import { type Db, type Queryable, sql, timed } from '../platform/database/db.ts'
import { JOB_STATES, type JobMetrics, type JobState } from '../platform/jobs/job-metrics.ts'
import { MAIL_QUEUE } from '../platform/mail/mail-queue.ts'
import type { Log } from '../platform/observability/log.ts'
import type { OutboundMetrics } from '../platform/outbound/outbound-metrics.ts'
import { SUPPLIER_NAMES_MAX, type SupplyMetrics } from '../supply/metrics.ts'
import { DELIVER_QUEUE } from '../webhooks/deliver-queue.ts'
import type { WebhookMetrics } from '../webhooks/metrics.ts'
import { BEYOND_BOUNDS } from './actions/catalogue-actions.ts'
import { OPERATIONS_STATEMENTS, type OperationsMetrics, QUEUES } from './metrics.ts'
import { OPERATOR_TOKEN_DAYS_WARNED } from './operator-tokens.ts'

export const FIGURES_EVERY_MS = 5_000
const DAY_S = 86_400
/** Older figures are not exposed: a gauge that no longer changes would suggest that all is well. */
const STALE_MS = 15_000
/** The statement takes at most this share of the time, however large the store: it runs less often when it is slow. */
const SHARE_MAX = 0.05
/** The newest entries of the audit log that are read; operators do not act more often than this in five seconds. */
const ACTIONS_MAX = 500

export interface StoreFigures {
  /** Call it every few seconds. */
  refresh(): Promise<void>
  /** Whether this worker exposes the figures; the others expose none, so that sums are right. */
  lead(isLeader: boolean): void
  /** Logged once, by the leading worker. */
  warning(): string | undefined
}

/** Each module declares its own figures. */
type FigureMetrics = OperationsMetrics &
  Pick<AccessMetrics, 'nonces' | 'noncesBytes'> &
  Pick<FundingMetrics, 'paymentReviews' | 'paymentsReconciled'> &
  Pick<JobMetrics, 'queueJobs' | 'queueOldestDue'> &
  Pick<OrderMetrics, 'ordersWaiting' | 'ordersOldestWaiting' | 'ordersDeliveredByHand' | 'refunds'> &
  Pick<OutboundMetrics, 'mailOldestWaiting'> &
  Pick<SupplyMetrics, 'poolsLowNow' | 'poolsEmpty' | 'supplierUnsettled' | 'supplierOldestUnsettled'> &
  Pick<WebhookMetrics, 'webhookEndpointsFailing'>

/** The leading worker reads what concerns the whole store in one statement on a timer; a scrape never reads the database. */
export function exposeStoreFigures({
  db,
  log,
  metrics,
}: {
  db: Db
  log: Log
  metrics: FigureMetrics
}): StoreFigures {
  let known: { figures: Figures; readMs: number } | undefined
  let isLeader = false
  let pauseUntilMs = 0
  let countedActions: ReadonlySet<string> | undefined
  const staleAfterMs = () => Math.max(STALE_MS, (pauseUntilMs - (known?.readMs ?? 0)) * 2)
  const ageMs = () => (known ? performance.now() - known.readMs : Number.POSITIVE_INFINITY)
  const fresh = () => (isLeader && ageMs() < staleAfterMs() ? known?.figures : undefined)

  metrics.figuresAge.from(() => (isLeader && known ? ageMs() / 1_000 : undefined))
  metrics.queueJobs.from(() => {
    const jobs = fresh()?.jobs
    return (jobs ? QUEUES : []).flatMap((queue) =>
      JOB_STATES.map((state) => {
        const those = jobs?.filter((each) => each.queue === queue && each.state === state) ?? []
        return [{ queue, state }, sum(those)] as const
      }),
    )
  })
  metrics.queueOldestDue.from(() => {
    const jobs = fresh()?.jobs
    return (jobs ? QUEUES : []).map((queue) => {
      const those = jobs?.filter((each) => each.queue === queue) ?? []
      return [{ queue }, Math.max(0, ...those.map(({ oldest_s }) => oldest_s))] as const
    })
  })
  metrics.webhookEndpointsFailing.from(() => {
    const jobs = fresh()?.jobs
    return jobs && sum(jobs.filter(({ queue, is_failing }) => queue === DELIVER_QUEUE && is_failing))
  })
  metrics.ordersWaiting.from(() => fresh()?.orders_waiting)
  metrics.ordersOldestWaiting.from(() => fresh()?.oldest_order_s)
  metrics.poolsLowNow.from(() => fresh()?.pools_low)
  metrics.poolsEmpty.from(() => fresh()?.pools_empty)
  metrics.supplierUnsettled.from(() =>
    suppliersOf(fresh()).map(({ supplier, unsettled }) => [{ supplier }, unsettled] as const),
  )
  metrics.supplierOldestUnsettled.from(() =>
    suppliersOf(fresh()).map(({ supplier, oldest_s }) => [{ supplier }, oldest_s] as const),
  )
  metrics.mailOldestWaiting.from(() => fresh()?.oldest_mail_s)
  metrics.nonces.from(() => fresh()?.nonces)
  metrics.noncesBytes.from(() => fresh()?.nonces_bytes)
  metrics.verifyLastRun.from(() => fresh()?.verified_at_s)
  metrics.sealLastRound.from(() => fresh()?.sealed_at_s)
  metrics.paymentReviews.from(() => fresh()?.payment_reviews)
  metrics.paymentsReconciled.from(() => fresh()?.reconciled_at_s ?? undefined)
  metrics.storeOpen.from(() => {
    const isOpen = fresh()?.is_open
    return isOpen === undefined ? undefined : Number(isOpen)
  })
  metrics.operatorTokenEnds.from(() => fresh()?.token_ends_at_s ?? undefined)
  metrics.verifyRulesViolated.from(() => fresh()?.rules_violated ?? undefined)

  /** Operators' actions are counted by the leader alone; the others follow the log, so that they can take over. */
  function countActions(actions: readonly OperatorAction[]) {
    const isNew = ({ id }: { id: string }) => countedActions !== undefined && !countedActions.has(id)
    for (const { action } of isLeader ? actions.filter(isNew) : []) {
      if (action === 'order.cancel') metrics.refunds.inc({ cause: 'operator' })
      else if (action === 'order.deliver') metrics.ordersDeliveredByHand.inc()
      else metrics.pricesBeyondBounds.inc()
    }
    countedActions = new Set(actions.map(({ id }) => id))
  }

  return {
    async refresh() {
      countActions(await readActions(db))
      const startedMs = performance.now()
      if (!isLeader || startedMs < pauseUntilMs) return
      try {
        const figures = await readFigures(db)
        known = { figures, readMs: performance.now() }
      } finally {
        // After a failure too: a statement that runs into its timeout is the slowest of all.
        const endedMs = performance.now()
        pauseUntilMs = endedMs + (endedMs - startedMs) / SHARE_MAX - FIGURES_EVERY_MS
      }
    },
    warning() {
      const { token_ends_at_s: endsAtS, now_s } = fresh() ?? {}
      if (endsAtS == null || now_s === undefined || endsAtS - now_s > OPERATOR_TOKEN_DAYS_WARNED * DAY_S)
        return undefined
      const [day] = new Date(endsAtS * 1_000).toISOString().split('T')
      return `a token of an operator ends on ${day}: shopwire-admin operators list`
    },
    lead(now) {
      if (now !== isLeader) log.debug({ is_leader: now }, 'exposing the figures of the whole store')
      isLeader = now
    },
  }
}

interface JobFigures {
  readonly queue: string
  readonly state: JobState
  readonly is_failing: boolean
  readonly count: number
  /** How long the oldest has been due; 0 for jobs that are not due. */
  readonly oldest_s: number
}

interface SupplierFigures {
  readonly supplier: string
  readonly unsettled: number
  readonly oldest_s: number
}

interface Figures {
  readonly jobs: readonly JobFigures[]
  readonly orders_waiting: number
  readonly oldest_order_s: number
  readonly pools_low: number
  readonly pools_empty: number
  readonly suppliers: readonly SupplierFigures[]
  readonly oldest_mail_s: number
  readonly nonces: number
  readonly nonces_bytes: number
  readonly verified_at_s: number
  readonly rules_violated: number | null
  readonly sealed_at_s: number
  readonly payment_reviews: number
  readonly reconciled_at_s: number | null
  readonly token_ends_at_s: number | null
  /** By the database's clock. */
  readonly now_s: number
  readonly is_open: boolean
}

interface OperatorAction {
  readonly id: string
  readonly action: string
}

const sum = (figures: readonly { count: number }[]) => figures.reduce((all, { count }) => all + count, 0)

/** After the first few names, all suppliers share one label: operators choose the names, and a label must stay bounded. */
function suppliersOf(figures: Figures | undefined): SupplierFigures[] {
  const all = figures?.suppliers ?? []
  const rest = all.slice(SUPPLIER_NAMES_MAX)
  if (rest.length === 0) return [...all]
  return [
    ...all.slice(0, SUPPLIER_NAMES_MAX),
    {
      supplier: 'other',
      unsettled: rest.reduce((sum, { unsettled }) => sum + unsettled, 0),
      oldest_s: Math.max(...rest.map(({ oldest_s }) => oldest_s)),
    },
  ]
}

const readActions = (db: Queryable) =>
  db.many<OperatorAction>(sql`
    select a.id, a.action
      from (select id, action, details
              from audit_log
             order by id desc
             limit ${ACTIONS_MAX}) a
     where a.action in ('order.cancel', 'order.deliver')
       and a.details @> '{"isNew": true}'
        or a.details @> ${JSON.stringify(BEYOND_BOUNDS)}::jsonb`)

/**
 * Every part reads an index or a small table, except for `jobs` and `item_supply`, which are read entirely: 200,000 jobs and
 * 100,000 items take about 0.1 s. Sizes of tables come from statistics.
 */
export const readFigures = (db: Queryable) =>
  db.one<Figures>(
    timed(
      OPERATIONS_STATEMENTS.storeFigures,
      sql`
    with clock as materialized (
      select clock_timestamp() as now
    ), grouped as materialized (
      select queue, state, is_failing, count(*) as count, min(run_at) as oldest_at
        from (select queue, is_failing, run_at,
                     case
                       when leased_until > (select now from clock) then 'leased'
                       when run_at <= (select now from clock) then 'due'
                       when run_at = 'infinity' and dead_at is not null then 'dead'
                       when run_at = 'infinity' then 'parked'
                       else 'scheduled'
                     end as state
                from jobs) j
       group by queue, state, is_failing
    )
    select coalesce((select json_agg(json_build_object('queue', g.queue, 'state', g.state, 'is_failing', g.is_failing,
                                                       'count', g.count, 'oldest_s', case
                                                         when g.state = 'due' then extract(epoch from c.now - g.oldest_at)
                                                         else 0
                                                       end))
                       from grouped g), '[]') as jobs,
           o.orders_waiting, o.oldest_order_s, p.pools_low, p.pools_empty, m.oldest_mail_s,
           coalesce((select json_agg(s order by s.supplier)
                       from (select u.name as supplier, coalesce(r.unsettled, 0) as unsettled,
                                    coalesce(greatest(extract(epoch from c.now - r.oldest_at), 0), 0) as oldest_s
                               from suppliers u
                               left join (select supplier, count(*) as unsettled, min(first_at) as oldest_at
                                            from supplier_requests
                                           where ended_at is null
                                           group by supplier) r on r.supplier = u.name) s), '[]') as suppliers,
           coalesce((select n_live_tup from pg_stat_user_tables where relid = 'spent_nonces'::regclass), 0) as nonces,
           pg_relation_size('spent_nonces') as nonces_bytes,
           coalesce(extract(epoch from v.finished_at), 0)::float8 as verified_at_s, v.violated as rules_violated,
           (select extract(epoch from finished_at)::float8 from seal_progress) as sealed_at_s,
           (select count(*) from payment_reviews where decided_at is null and gone_at is null) as payment_reviews,
           -- Before the first reconciliation has finished: the time since which one could have.
           (select extract(epoch from coalesce(min(finished_at), min(compared_until)))::float8
              from payment_reconciliations) as reconciled_at_s,
           (select extract(epoch from coalesce(min(t.ends_at) filter (where t.ends_at > clock_timestamp()), max(t.ends_at)))::float8
              from (select max(expires_at) as ends_at
                      from operator_tokens
                     where revoked_at is null
                     group by email) t) as token_ends_at_s,
           extract(epoch from c.now)::float8 as now_s,
           store_is_open() as is_open
      from clock c
     cross join (select count(*) as orders_waiting,
                        coalesce(greatest(extract(epoch from clock_timestamp() - min(created_at)), 0), 0)::float8 as oldest_order_s
                   from paid_orders) o
     cross join (select count(*) filter (where pool_left < warn_below) as pools_low,
                        count(*) filter (where pool_left = 0 and source = 'pool') as pools_empty
                   from item_supply
                  where source <> 'hand') p
     cross join (select coalesce(greatest(extract(epoch from clock_timestamp() - min(created_at)), 0), 0)::float8 as oldest_mail_s
                   from jobs
                  where queue = ${MAIL_QUEUE}
                    and dead_at is null) m
      left join lateral (select finished_at, violated
                           from verify_runs
                          order by id desc
                          limit 1) v on true`,
    ),
  )
