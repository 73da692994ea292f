import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import type { JobEnd } from '../platform/job-runner.ts'
import { assertLease, type Job, LeaseLostError } from '../platform/jobs.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { LinkVault, PoolPlace } from '../supply/gift-link.ts'
import type { ObtainFromSuppliers } from '../supply/obtain.ts'
import { markPools, PoolUnreadable, returnToPool, takeFromPool } from '../supply/pool.ts'
import {
  type ItemSupply,
  lockItemSupply,
  type OrderRequestRow,
  recordEnd,
  SOLD_BEFORE,
  selectItemSupply,
  takeOverRequests,
} from '../supply/queries.ts'
import { recordLinks } from '../supply/record-links.ts'
import { finishDelivery, keepLinks } from './delivery.ts'
import { lockOrder, type OpenLine, selectOpenLines } from './queries.ts'
import { finishOrderJob, wakeOrdersOf } from './waiting.ts'

export interface FulfilDeps {
  readonly db: Db
  readonly vault: LinkVault
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly obtain: ObtainFromSuppliers
}

const WAIT_MS_MIN = 1_000
const WAIT_MS_MAX = 300_000
/** Until an encryption key is put right; every order of the item tries as often. */
const UNREADABLE_WAIT_MS = 60_000

/** Links that came from outside and are in nobody's row yet. */
interface Brought {
  readonly line: number
  readonly item_id: string
  readonly links: readonly string[]
  readonly supplier: string
}

interface Settled {
  /** Lines that still lack links; none once the order is at its end. */
  readonly open: readonly OpenLine[]
  /** Requests that suppliers were sent and have not answered for good, also of an order that is at its end. */
  readonly requests: readonly OrderRequestRow[]
  /** Of what was brought, how many this store had held before. */
  readonly soldBefore: number
  /** Links in pools that could not be decrypted. */
  readonly setAside: readonly PoolPlace[]
}

/**
 * Brings one paid order to its links. What can be had from pools is taken and, if that is all, delivered in one
 * transaction; suppliers are asked with no transaction open. A part already obtained stays with the order. An order that has
 * ended otherwise keeps its job until its suppliers have answered: what they made is collected into the pool.
 */
export function createFulfilment(deps: FulfilDeps): (job: Job) => Promise<JobEnd> {
  const { db, log, metrics } = deps

  async function settleNow(job: Job, brought?: Brought): Promise<Settled> {
    const settled = await db.transaction((tx) => settle(deps, tx, job, brought))
    for (const { item_id, id } of settled.setAside) {
      metrics.poolLinksSetAside.inc()
      log.error(
        { item_id, pool_link: id },
        'a link cannot be decrypted and was set aside: see "shopwire-admin pool set-aside"',
      )
    }
    return settled
  }

  async function fulfil(job: Job): Promise<JobEnd> {
    const { account_id, subject: order_id, attempts: fencing_token } = job
    let state = await settleNow(job)
    const supplies = await suppliesOf(db, state.open)
    const notes: string[] = []

    /** One asking for a line, and what it brought settled; false when there is nothing more to do for the line now. */
    async function advance(n: number): Promise<boolean> {
      // Settling one line may have filled another, or found the order at its end.
      const line = state.open.find((still) => still.n === n)
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
      }
      const obtained = await deps.obtain(need)
      if (obtained.kind === 'not yet') {
        notes.push(`item ${item_id}: ${obtained.note}`)
        return false
      }
      const { links, supplier } = obtained
      state = await settleNow(job, { line: n, item_id, links, supplier })
      if (state.soldBefore > 0) {
        const what = `gave ${state.soldBefore} links that this store has held before`
        log.error({ order_id, supplier }, `a supplier ${what}`)
        notes.push(`item ${item_id}: supplier ${supplier} ${what}`)
      }
      return state.requests.some((request) => request.line === n)
    }

    const lines = new Set([...state.open.map(({ n }) => n), ...state.requests.map(({ line }) => line)])
    for (const n of [...lines].sort((a, b) => a - b)) while (await advance(n));
    // What was refused meanwhile is not open any more; then an order that has ended is done with.
    if (state.open.length === 0 && state.requests.length > 0) state = await settleNow(job)
    const { open, requests } = state
    if (open.length === 0 && requests.length === 0) return { kind: 'done' }
    const isSupplied = (line: OpenLine) => supplies.get(line.item_id)?.source === 'supplier'
    const stuck = open.filter((line) => !isSupplied(line))
    const why = [...notes, ...stuck.map((line) => describe(line, supplies.get(line.item_id)))].join('; ')
    if (stuck.length === open.length && requests.length === 0) return { kind: 'parked', note: why }
    const waitMs = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** (job.attempts - 1))
    log.info({ order_id, attempts: job.attempts, wait_ms: waitMs, why }, 'an order waits')
    return { kind: 'again', waitMs, note: why }
  }

  return async (job) => {
    try {
      return await fulfil(job)
    } catch (error) {
      if (!(error instanceof PoolUnreadable)) throw error
      metrics.poolsUnreadable.inc()
      log.error({ order_id: job.subject, item_id: error.item_id }, error.message)
      return { kind: 'again', waitMs: UNREADABLE_WAIT_MS, note: error.message }
    }
  }
}

/**
 * Puts links to the order, as many as there are, and delivers it when none is missing. Locks in the order of ARCHITECTURE.md:
 * the event only when the pools are done with, because it holds the account's webhook endpoint, and jobs last.
 */
async function settle(deps: FulfilDeps, tx: Tx, job: Job, brought?: Brought): Promise<Settled> {
  const { vault, clock, metrics } = deps
  const nowMs = clock.nowMs()
  const order = { account_id: job.account_id, order_id: job.subject }
  const isPaid = (await lockOrder(tx, order.account_id, order.order_id))?.status === 'paid'
  // Whoever has the job now asks the same and gets the same; what we bring would look like links sold before.
  const isJobThere = await assertLease(tx, job)
  const asked = await takeOverRequests(tx, order.account_id, order.order_id, job.attempts)
  const isBrought = (line: number, supplier: string) =>
    brought?.line === line && brought.supplier === supplier
  // The worker that took over has brought these links already, and the job may have gone with them.
  if (asked.some(({ state, line, supplier }) => state === 'given' && isBrought(line, supplier)))
    throw new LeaseLostError(`${job.queue} ${job.subject}`)
  const requests = asked.filter(
    ({ state, line, supplier }) => state === 'asked' && !isBrought(line, supplier),
  )
  const open = isPaid ? await selectOpenLines(tx, order.account_id, order.order_id) : []
  const items = [...open, ...(brought ? [brought] : [])].map(({ item_id }) => item_id)
  // All of them at once and sorted: two orders with the same items never wait for each other in a circle.
  const supplies = await lockItemSupply(tx, items)
  let fresh = brought ? await takeIn(tx, vault, job, brought, nowMs) : []
  const soldBefore = (brought?.links.length ?? 0) - fresh.length

  const still: OpenLine[] = []
  const changedPools: string[] = []
  const setAside: PoolPlace[] = []
  for (const line of open) {
    let { held, missing } = line
    const place = { ...order, line: line.n }
    if (brought?.line === line.n) {
      const kept = fresh.slice(0, missing)
      await keepLinks(tx, vault, place, held, kept, brought.supplier, nowMs)
      fresh = fresh.slice(kept.length)
      held += kept.length
      missing -= kept.length
    }
    const supply = supplies.find(({ item_id }) => item_id === line.item_id)
    if (missing > 0 && supply && supply.source !== 'hand') {
      const taken = await takeFromPool(tx, vault, supply, missing, nowMs)
      setAside.push(...taken.setAside)
      if (taken.isLow) warnOfPool(deps, line.item_id, taken.pool_left)
      await keepLinks(tx, vault, place, held, taken.links, 'pool', nowMs)
      held += taken.links.length
      missing -= taken.links.length
      changedPools.push(line.item_id)
    }
    if (missing > 0) still.push({ ...line, held, missing })
  }
  // The line was filled, or the order has come to its end, while the supplier was at work. What it made is ours to sell.
  const refilled = brought && fresh.length > 0 ? [brought.item_id] : []
  if (brought) await returnToPool(tx, vault, brought.item_id, fresh, nowMs)
  await markPools(tx, [...changedPools, ...refilled], nowMs)
  if (isPaid && still.length === 0) {
    await finishDelivery(tx, order, nowMs)
    metrics.ordersDelivered.inc()
  }
  // Whoever ended the order may have removed the job already.
  const isDone = still.length === 0 && requests.length === 0 && (isPaid || isJobThere)
  if (isDone) await finishOrderJob(tx, job, refilled)
  else await wakeOrdersOf(tx, refilled)
  return { open: still, requests, soldBefore, setAside }
}

/** Of what a supplier gave, the links that are new to this store; the request has come to its end with them. */
async function takeIn(
  tx: Tx,
  vault: LinkVault,
  { account_id, subject: order_id, attempts: fencing_token }: Job,
  { line, links, supplier }: Brought,
  nowMs: number,
): Promise<string[]> {
  const hashes = links.map((link) => vault.fingerprint(link))
  const isNew = await recordLinks(tx, hashes, nowMs)
  const fresh = links.filter((_, n) => isNew[n])
  const isWhole = fresh.length === links.length
  const request = { account_id, order_id, line, supplier, fencing_token }
  await recordEnd(tx, request, isWhole ? 'given' : 'refused', isWhole ? null : SOLD_BEFORE)
  return fresh
}

function warnOfPool({ log, metrics }: FulfilDeps, item_id: string, pool_left: number) {
  metrics.poolsLow.inc()
  log.warn({ item_id, pool_left }, 'a pool runs low: load it with "shopwire-admin pool load"')
}

async function suppliesOf(db: Db, open: readonly OpenLine[]): Promise<Map<string, ItemSupply>> {
  if (open.length === 0) return new Map()
  const rows = await selectItemSupply(
    db,
    open.map(({ item_id }) => item_id),
  )
  return new Map(rows.map((row) => [row.item_id, row]))
}

function describe({ item_id, missing }: OpenLine, supply: ItemSupply | undefined): string {
  return supply?.source === 'pool'
    ? `item ${item_id}: the pool is ${missing} short`
    : `item ${item_id}: ${missing} to be delivered by hand`
}
