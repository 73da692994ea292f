import { type Db, type Queryable, sql, timed } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import { type Metrics, SUPPLIER_NAMES_MAX } from '../platform/metrics.ts'

export const FIGURES_EVERY_MS = 5_000
/** Figures older than this are not exposed: a gauge that stands still says that all is well. */
const STALE_MS = 15_000
/** The statement takes at most this share of the time, however large the store: it is run less often when it is slow. */
const SHARE_MAX = 0.05
/** Newest entries of the audit log that are looked at; operators do not act more often than this in five seconds. */
const ACTIONS_MAX = 500

export interface StoreFigures {
  /** To be called every few seconds. */
  refresh(): Promise<void>
  /** Whether this worker is the one that exposes the figures; the others expose none, so that sums are right. */
  lead(isLeader: boolean): void
}

/** Reads what concerns the whole store from the database, by one statement on a timer, and never because somebody scrapes. */
export function exposeStoreFigures({
  db,
  log,
  metrics,
}: {
  db: Db
  log: Log
  metrics: Metrics
}): StoreFigures {
  let known: { figures: Figures; readMs: number } | undefined
  let isLeader = false
  let pauseUntilMs = 0
  let countedActions: ReadonlySet<string> | undefined
  const staleAfterMs = () => Math.max(STALE_MS, (pauseUntilMs - (known?.readMs ?? 0)) * 2)
  const ageMs = () => (known ? performance.now() - known.readMs : Number.POSITIVE_INFINITY)
  const fresh = () => (isLeader && ageMs() < staleAfterMs() ? known?.figures : undefined)

  metrics.figuresAge.from(() => (isLeader && known ? ageMs() / 1_000 : undefined))
  metrics.queueJobs.from(() =>
    (fresh()?.queues ?? []).flatMap(({ queue, due, leased, scheduled, parked }) =>
      Object.entries({ due, leased, scheduled, parked }).map(
        ([state, count]) => [{ queue, state }, count] as const,
      ),
    ),
  )
  metrics.queueOldestDue.from(() =>
    (fresh()?.queues ?? []).map(({ queue, oldest_due_s }) => [{ queue }, oldest_due_s] as const),
  )
  metrics.webhookEndpointsFailing.from(() => fresh()?.endpoints_failing)
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
  metrics.nonces.from(() => fresh()?.nonces)
  metrics.noncesBytes.from(() => fresh()?.nonces_bytes)
  metrics.verifyLastRun.from(() => fresh()?.verified_at_s)
  metrics.verifyRulesViolated.from(() => fresh()?.rules_violated ?? undefined)

  /** What operators did is counted by the leader alone; the others follow the log, to go on from there. */
  function countActions(actions: Figures['actions']) {
    const isNew = ({ id }: { id: string }) => countedActions !== undefined && !countedActions.has(id)
    for (const { action } of isLeader ? actions.filter(isNew) : []) {
      if (action === 'order.cancel') metrics.refunds.inc({ cause: 'operator' })
      else metrics.ordersDeliveredByHand.inc()
    }
    countedActions = new Set(actions.map(({ id }) => id))
  }

  return {
    async refresh() {
      const startedMs = performance.now()
      if (startedMs < pauseUntilMs) return
      const figures = await readFigures(db)
      const readMs = performance.now()
      known = { figures, readMs }
      pauseUntilMs = readMs + (readMs - startedMs) / SHARE_MAX - FIGURES_EVERY_MS
      countActions(figures.actions)
    },
    lead(now) {
      if (now !== isLeader) log.debug({ is_leader: now }, 'exposing the figures of the whole store')
      isLeader = now
    },
  }
}

interface QueueFigures {
  readonly queue: string
  readonly due: number
  readonly leased: number
  readonly scheduled: number
  readonly parked: number
  readonly oldest_due_s: number
}

interface SupplierFigures {
  readonly supplier: string
  readonly unsettled: number
  readonly oldest_s: number
}

interface Figures {
  readonly queues: readonly QueueFigures[]
  readonly endpoints_failing: number
  readonly orders_waiting: number
  readonly oldest_order_s: number
  readonly pools_low: number
  readonly pools_empty: number
  readonly suppliers: readonly SupplierFigures[]
  readonly nonces: number
  readonly nonces_bytes: number
  readonly verified_at_s: number
  readonly rules_violated: number | null
  readonly actions: readonly { readonly id: string; readonly action: string }[]
}

/** Beyond the first names, suppliers are one: operators choose the names, and a label must stay bounded. */
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

/**
 * Every part reads an index or a small table, except for `jobs` and `item_supply`, which are read as a whole: 200,000 jobs take some
 * 50 ms. Sizes of tables come from statistics.
 */
const readFigures = (db: Queryable) =>
  db.one<Figures>(
    timed(
      'store_figures',
      sql`
    with clock as materialized (
      select clock_timestamp() as now
    ), queued as materialized (
      select q.queue,
             count(j.queue) filter (where j.leased_until > c.now) as leased,
             count(j.queue) filter (where j.run_at <= c.now and j.leased_until > c.now is not true) as due,
             count(j.queue) filter (where j.run_at > c.now and j.run_at < 'infinity' and j.leased_until > c.now is not true)
               as scheduled,
             count(j.queue) filter (where j.run_at = 'infinity' and j.leased_until > c.now is not true) as parked,
             count(j.queue) filter (where j.is_failing) as failing,
             min(j.run_at) filter (where j.run_at <= c.now and j.leased_until > c.now is not true) as oldest_due_at
        from unnest('{fulfil,deliver}'::text[]) as q (queue)
       cross join clock c
        left join jobs j on j.queue = q.queue
       group by q.queue
    )
    select (select json_agg(json_build_object('queue', queue, 'due', due, 'leased', leased, 'scheduled', scheduled,
                                              'parked', parked, 'oldest_due_s',
                                              coalesce(extract(epoch from c.now - oldest_due_at), 0)) order by queue)
              from queued) as queues,
           (select failing from queued where queue = 'deliver') as endpoints_failing,
           o.orders_waiting, o.oldest_order_s, p.pools_low, p.pools_empty,
           coalesce((select json_agg(s order by s.supplier)
                       from (select u.name as supplier, count(r.supplier) as unsettled,
                                    coalesce(greatest(extract(epoch from c.now - min(r.first_at)), 0), 0) as oldest_s
                               from suppliers u
                               left join supplier_requests r on r.supplier = u.name and r.state = 'asked'
                              group by u.name) s), '[]') as suppliers,
           coalesce((select n_live_tup from pg_stat_user_tables where relid = 'spent_nonces'::regclass), 0) as nonces,
           pg_relation_size('spent_nonces') as nonces_bytes,
           coalesce(extract(epoch from v.finished_at), 0)::float8 as verified_at_s, v.violated as rules_violated,
           coalesce((select json_agg(json_build_object('id', a.id, 'action', a.action))
                       from (select id, action, details
                               from audit_log
                              order by id desc
                              limit ${ACTIONS_MAX}) a
                      where a.action in ('order.cancel', 'order.deliver')
                        and a.details @> '{"isNew": true}'), '[]') as actions
      from clock c
     cross join (select count(*) as orders_waiting,
                        coalesce(greatest(extract(epoch from clock_timestamp() - min(created_at)), 0), 0)::float8 as oldest_order_s
                   from orders
                  where status = 'paid') o
     cross join (select count(*) filter (where pool_left < warn_below) as pools_low,
                        count(*) filter (where pool_left = 0 and source = 'pool') as pools_empty
                   from item_supply
                  where source <> 'hand') p
      left join lateral (select finished_at, violated
                           from verify_runs
                          order by id desc
                          limit 1) v on true`,
    ),
  )
