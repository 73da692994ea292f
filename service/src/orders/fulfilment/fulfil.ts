import type { Db, Tx } from '../../platform/database/db.ts'
import type { JobEnd } from '../../platform/jobs/job-runner.ts'
import { assertLease, finishJob, type Job, LeaseLostError } from '../../platform/jobs/jobs.ts'
import type { Log } from '../../platform/observability/log.ts'
import type { Span } from '../../platform/observability/tracing.ts'
import type { PoolPlace } from '../../supply/gift-link.ts'
import type { SupplyMetrics } from '../../supply/metrics.ts'
import type { ObtainFromSuppliers } from '../../supply/obtain.ts'
import { markPools, PoolUnreadable, returnToPool, takeFromPool } from '../../supply/pool.ts'
import { type ItemSupply, lockItemSupply, selectItemSupply } from '../../supply/queries.ts'
import { endRequest, type OverCost, recordReceived } from '../../supply/receive.ts'
import { type OrderRequestRow, takeOverRequests } from '../../supply/request-queries.ts'
import type { OrderMetrics } from '../metrics.ts'
import { countUnassigned, lockOrder, type OpenLine, selectOpenLines } from '../queries.ts'
import { createDeliverTogether, type DeliverTogetherDeps } from './deliver-together.ts'
import { finishDelivery, keepLinks } from './delivery.ts'
import { startWaiting, stopWaiting } from './waiting-lines.ts'

export interface FulfilDeps extends DeliverTogetherDeps {
  readonly log: Log
  readonly metrics: Pick<OrderMetrics, 'ordersDelivered' | 'orderDelivery'> &
    Pick<SupplyMetrics, 'poolsLow' | 'poolLinksSetAside' | 'poolsUnreadable' | 'supplierOverCost'>
  readonly obtain: ObtainFromSuppliers
}

const WAIT_MS_MIN = 1_000
const WAIT_MS_MAX = 300_000
/** Until an encryption key is corrected; every order of the item retries this often. */
const UNREADABLE_WAIT_MS = 60_000

/** Links that a supplier returned and that are not in the database yet. */
interface Received {
  readonly line: number
  readonly item_id: string
  readonly links: readonly string[]
  /** Their cost according to the supplier. */
  readonly said_cents: number | null
  readonly supplier: string
  readonly round: number | null
}

interface Settled {
  /** Lines that still lack links; none once the order has ended. */
  readonly open: readonly OpenLine[]
  /** Requests that were sent to suppliers and have no final answer, also of an order that has ended. */
  readonly requests: readonly OrderRequestRow[]
  /** How many of the received links this store had held before. */
  readonly soldBefore: number
  /** The supplier charged more for them than was expected. */
  readonly overCost: OverCost | undefined
  /** Pools that fell below their threshold. */
  readonly low: readonly { readonly item_id: string; readonly pool_left: number }[]
  /** Time from paid to delivered, when this transaction delivered the order. */
  readonly deliveredAfterMs: number | undefined
  /** Links in pools that could not be decrypted. */
  readonly setAside: readonly PoolPlace[]
}

/**
 * Fulfils paid orders. Those that need nothing but links of well-filled pools are delivered many at a time (deliver-together.ts).
 * For any other, links are taken from pools and, if none is missing then, it is delivered in the same transaction; suppliers are
 * called with no transaction open. Links already obtained stay with the order. An order that was cancelled, or delivered by hand,
 * keeps its job until its suppliers have answered: the links they return go to the pool.
 */
export function createFulfilment(deps: FulfilDeps): (job: Job, span?: Span) => Promise<JobEnd> {
  const { db, log, metrics } = deps
  const deliver = createDeliverTogether(deps)

  function countDelivered({ account_id, subject: order_id }: Job, afterMs: number) {
    deps.journal?.acknowledge({ account_id, order_id, at: new Date(deps.clock.nowMs()) })
    metrics.ordersDelivered.inc()
    metrics.orderDelivery.observe(afterMs / 1000)
  }

  /** Counts and logs after the commit: a transaction may be rolled back and tried again. */
  async function settleNow(job: Job, received?: Received): Promise<Settled> {
    const settled = await db.transaction((tx) => settle(deps, tx, job, received))
    if (settled.deliveredAfterMs !== undefined) countDelivered(job, settled.deliveredAfterMs)
    for (const { item_id, pool_left } of settled.low) {
      metrics.poolsLow.inc()
      log.warn({ item_id, pool_left }, 'a pool is running low: load it with "shopwire-admin pool load"')
    }
    for (const { item_id, id } of settled.setAside) {
      metrics.poolLinksSetAside.inc()
      log.error(
        { item_id, pool_link: id },
        'a link cannot be decrypted and was set aside: see "shopwire-admin pool set-aside"',
      )
    }
    return settled
  }

  async function fulfil(job: Job, span: Span | undefined): Promise<Fulfilled> {
    const delivered = await deliver(job)
    if (delivered.verdict === 'lost') throw new LeaseLostError(`${job.queue} ${job.subject}`)
    if (delivered.verdict !== 'delivered') return fulfilAlone(job, span)
    countDelivered(job, delivered.afterMs)
    return { end: { kind: 'done' }, outcome: 'delivered', deliveredAfterMs: delivered.afterMs }
  }

  async function fulfilAlone(job: Job, span: Span | undefined): Promise<Fulfilled> {
    const { account_id, subject: order_id, attempts: fencing_token } = job
    let state = await settleNow(job)
    let { deliveredAfterMs } = state
    async function settleAgain(received?: Received) {
      state = await settleNow(job, received)
      deliveredAfterMs ??= state.deliveredAfterMs
    }
    const supplies = await suppliesOf(db, state.open)
    const notes: string[] = []

    /** Calls the supplier of a line once and stores the links it returned; false when nothing more can be done for the line now. */
    async function advance(n: number): Promise<boolean> {
      // Storing the links of one line may have filled another, or found that the order has ended.
      const line = state.open.find((still) => still.line === n)
      const requests = state.requests.filter((request) => request.line === n)
      const item_id = line?.item_id ?? requests[0]?.item_id
      const configured = line && supplies.get(line.item_id)
      const supply = configured?.source === 'supplier' ? configured : undefined
      if (item_id === undefined || (requests.length === 0 && !supply)) return false
      const need = {
        account_id,
        order_id,
        line: n,
        open: requests,
        supply,
        missing: line?.missing ?? 0,
        fencing_token,
        span,
        assertLease: (tx: Tx) => assertLease(tx, job),
      }
      const obtained = await deps.obtain(need)
      if (obtained.kind === 'not yet') {
        notes.push(`item ${item_id}: ${obtained.note}`)
        return false
      }
      const { links, said_cents, supplier, round } = obtained
      await settleAgain({ line: n, item_id, links, said_cents, supplier, round })
      if (state.overCost) {
        metrics.supplierOverCost.inc()
        log.warn(
          { account_id, order_id, line: n, supplier, ...state.overCost },
          'a supplier charges more than the configured cost',
        )
      }
      if (state.soldBefore > 0) {
        const what = `gave ${state.soldBefore} links that this store has held before`
        log.error({ account_id, order_id, supplier }, `a supplier ${what}`)
        notes.push(`item ${item_id}: supplier ${supplier} ${what}`)
      }
      return state.requests.some((request) => request.line === n)
    }

    const lines = new Set([...state.open.map(({ line }) => line), ...state.requests.map(({ line }) => line)])
    for (const n of [...lines].sort((a, b) => a - b)) while (await advance(n));
    // Requests that were refused meanwhile are closed now; without open requests, the job of an ended order is done.
    if (state.open.length === 0 && state.requests.length > 0) await settleAgain()
    const { open, requests } = state
    const missing = open.reduce((sum, line) => sum + line.missing, 0)
    if (open.length === 0 && requests.length === 0) {
      const outcome = deliveredAfterMs === undefined ? 'ended_before' : 'delivered'
      return { end: { kind: 'done' }, outcome, deliveredAfterMs, missing }
    }
    const isSupplied = (line: OpenLine) => supplies.get(line.item_id)?.source === 'supplier'
    const stuck = open.filter((line) => !isSupplied(line))
    const why = [...notes, ...stuck.map((line) => describe(line, supplies.get(line.item_id)))].join('; ')
    const isShort = stuck.some(({ item_id }) => supplies.get(item_id)?.source === 'pool')
    const parkedFor = isShort ? 'waiting_for_stock' : 'waiting_for_operator'
    if (stuck.length === open.length && requests.length === 0)
      return { end: { kind: 'parked', note: why }, outcome: parkedFor, deliveredAfterMs, missing }
    const waitMs = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** (job.attempts - 1))
    const end = { kind: 'again', waitMs, note: why } as const
    return { end, outcome: 'waiting_for_supplier', deliveredAfterMs, missing }
  }

  return async (job, span) => {
    const startedMs = performance.now()
    try {
      const fulfilled = await fulfil(job, span)
      logAttempt(log, job, fulfilled, startedMs, span)
      return fulfilled.end
    } catch (error) {
      if (!(error instanceof PoolUnreadable)) throw error
      metrics.poolsUnreadable.inc()
      const end = { kind: 'again', waitMs: UNREADABLE_WAIT_MS, note: error.message } as const
      logAttempt(log, job, { end, outcome: 'pool_unreadable', item_id: error.item_id }, startedMs, span)
      return end
    }
  }
}

interface Fulfilled {
  readonly end: JobEnd
  readonly outcome:
    | 'delivered'
    | 'ended_before'
    | 'waiting_for_stock'
    | 'waiting_for_operator'
    | 'waiting_for_supplier'
    | 'pool_unreadable'
  readonly missing?: number
  readonly deliveredAfterMs?: number | undefined
  readonly item_id?: string
}

/** One line per attempt that returns; the job runner logs an attempt that throws. Never a link. */
function logAttempt(log: Log, job: Job, fulfilled: Fulfilled, startedMs: number, span?: Span): void {
  const { end, outcome, missing, deliveredAfterMs, item_id } = fulfilled
  const line = {
    account_id: job.account_id,
    order_id: job.subject,
    attempt: job.attempts,
    outcome,
    duration_ms: Math.round(performance.now() - startedMs),
    ...(deliveredAfterMs !== undefined && { paid_to_delivered_ms: deliveredAfterMs }),
    ...(item_id !== undefined && { item_id }),
    ...(missing !== undefined && missing > 0 && { links_missing: missing }),
    next: end.kind === 'again' ? 'retry' : end.kind,
    ...(end.kind === 'again' && { retry_in_s: end.waitMs / 1000 }),
    ...(end.kind !== 'done' && { why: end.note }),
    ...span?.fields,
  }
  span?.set({ 'shopwire.outcome': outcome })
  if (outcome === 'pool_unreadable') log.error(line, 'fulfilment attempt')
  else log.info(line, 'fulfilment attempt')
}

/**
 * Assigns links to the order, as many as there are, and delivers it when none is missing. Locks in the order of LOCK_ORDER
 * (service/testing/lock-order.ts): the event after the pools, because it locks the account's webhook endpoint, and jobs last.
 */
async function settle(deps: FulfilDeps, tx: Tx, job: Job, received?: Received): Promise<Settled> {
  const { vault, clock } = deps
  const nowMs = clock.nowMs()
  const order = { account_id: job.account_id, order_id: job.subject }
  const locked = await lockOrder(tx, order.account_id, order.order_id)
  const isPaid = locked?.status === 'paid'
  // The worker that has the job now sends the same request and gets the same links; storing them here would make its links look
  // sold before.
  const isJobThere = await assertLease(tx, job)
  const owed = await takeOverRequests(tx, order.account_id, order.order_id, job.attempts)
  const answered =
    received &&
    owed.find(
      ({ line, supplier, round }) =>
        line === received.line && supplier === received.supplier && round === received.round,
    )
  // The worker that took the job over has stored these links already, and may have removed the job with it.
  if (received && received.round !== null && !answered)
    throw new LeaseLostError(`${job.queue} ${job.subject}`)
  const requests = owed.filter((request) => request !== answered && request.stage !== 'written_off')
  const open = isPaid ? await selectOpenLines(tx, order.account_id, order.order_id) : []
  const items = [...open, ...(received ? [received] : [])].map(({ item_id }) => item_id)
  // All of them at once and sorted: two orders with the same items do not deadlock.
  const supplies = await lockItemSupply(tx, items)
  const request = received && answered && { ...order, ...received, ...answered, fencing_token: job.attempts }
  const isNew = received ? await recordReceived(tx, vault, request, received.links, nowMs) : []
  const soldBefore = (received?.links.length ?? 0) - isNew.length
  // Another supplier may have been called since an operator wrote the request off: the links go to the pool, which serves
  // whoever needs them.
  const forLine = answered?.stage === 'written_off' ? undefined : received?.line

  const filled = await fillLines(deps, tx, { order, open, supplies, received, forLine, fresh: isNew, nowMs })
  const { still, fresh } = filled
  // The line was filled, or the order ended, while the supplier was working. The links it returned go to the pool.
  const refilled = received && fresh.length > 0 ? [received.item_id] : []
  if (received) await returnToPool(tx, vault, received.item_id, fresh, nowMs)
  const stored = { isNew: isNew.length, pooled: fresh.length }
  const ended = request && (await endRequest(tx, request, stored, nowMs))
  await markPools(tx, [...filled.changedPools, ...refilled], nowMs)
  const isDelivered = isPaid && still.length === 0
  if (isDelivered) await finishDelivery(tx, deps.journal, order, nowMs)
  // The transaction that ended the order may have removed the job already.
  const isDone = still.length === 0 && requests.length === 0 && (isPaid || isJobThere)
  // A job in its first run has not waited yet.
  if (job.attempts > 1) await stopWaiting(tx, order)
  await startWaiting(tx, order, still)
  if (isDone) await finishJob(tx, job)
  await countUnassigned(tx, filled.assigned)
  const deliveredAfterMs =
    isDelivered && locked ? Math.max(0, nowMs - locked.created_at.getTime()) : undefined
  const { setAside, low } = filled
  return { open: still, requests, soldBefore, overCost: ended?.overCost, setAside, low, deliveredAfterMs }
}

/**
 * Gives open lines the links a supplier just sent, and links from the pools. Returns what is still missing, and what was taken from
 * where.
 */
async function fillLines(
  { vault }: FulfilDeps,
  tx: Tx,
  { order, open, supplies, received, forLine, nowMs, ...given }: ToFill,
) {
  let fresh = given.fresh
  const still: OpenLine[] = []
  const assigned: { item_id: string; units: number }[] = []
  const changedPools: string[] = []
  const setAside: PoolPlace[] = []
  const low: { item_id: string; pool_left: number }[] = []
  for (const line of open) {
    let { held, missing } = line
    const place = { ...order, line: line.line }
    if (received && forLine === line.line) {
      const kept = fresh.slice(0, missing)
      await keepLinks(tx, vault, place, held, kept, received.supplier, nowMs)
      fresh = fresh.slice(kept.length)
      held += kept.length
      missing -= kept.length
    }
    const supply = supplies.find(({ item_id }) => item_id === line.item_id)
    if (missing > 0 && supply && supply.source !== 'hand') {
      const taken = await takeFromPool(tx, vault, supply, missing, nowMs)
      setAside.push(...taken.setAside)
      if (taken.isLow) low.push({ item_id: line.item_id, pool_left: taken.pool_left })
      await keepLinks(tx, vault, place, held, taken.links, 'pool', nowMs)
      held += taken.links.length
      missing -= taken.links.length
      changedPools.push(line.item_id)
    }
    if (missing > 0) still.push({ ...line, held, missing })
    if (missing < line.missing) assigned.push({ item_id: line.item_id, units: missing - line.missing })
  }
  return { still, assigned, changedPools, setAside, low, fresh }
}

interface ToFill {
  readonly order: { readonly account_id: string; readonly order_id: string }
  readonly open: readonly OpenLine[]
  readonly supplies: Awaited<ReturnType<typeof lockItemSupply>>
  readonly received: Received | undefined
  /** The line that the received links are for; undefined when they go to the pool. */
  readonly forLine: number | undefined
  /** The received links that were not sold before. */
  readonly fresh: Awaited<ReturnType<typeof recordReceived>>
  readonly nowMs: number
}

async function suppliesOf(db: Db, open: readonly OpenLine[]): Promise<Map<string, ItemSupply>> {
  if (open.length === 0) return new Map()
  const items = open.map(({ item_id }) => item_id)
  const rows = await selectItemSupply(db, items)
  return new Map(rows.map((row) => [row.item_id, row]))
}

function describe({ item_id, missing }: OpenLine, supply: ItemSupply | undefined): string {
  return supply?.source === 'pool'
    ? `item ${item_id}: the pool is ${missing} short`
    : `item ${item_id}: ${missing} to be delivered by hand`
}
