import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import type { JobEnd } from '../platform/job-runner.ts'
import { dropJob, finishJob, type Job } from '../platform/jobs.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import type { ObtainFromSuppliers } from '../supply/obtain.ts'
import { returnToPool, takeFromPool } from '../supply/pool.ts'
import { type ItemSupply, insertFingerprints, lockItemSupply, selectItemSupply } from '../supply/queries.ts'
import { finishDelivery, keepLinks } from './delivery.ts'
import { lockPaidOrder, type OpenLine, selectOpenLines } from './queries.ts'

export const FULFIL_QUEUE = 'fulfil'

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

/** Links that came from outside and are in nobody's row yet. */
interface Brought {
  readonly line: OpenLine
  readonly links: readonly string[]
  readonly source: string
}

/**
 * Brings one paid order to its links. What can be had from pools is taken and, if that is all, delivered in one
 * transaction; suppliers are asked with no transaction open. A part already obtained stays with the order.
 */
export function createFulfilment(deps: FulfilDeps): (job: Job) => Promise<JobEnd> {
  const { db } = deps
  return async (job) => {
    let open = await db.transaction((tx) => settle(deps, tx, job))
    const supplies = await suppliesOf(db, open)
    const notes: string[] = []
    for (const line of open) {
      const supply = supplies.get(line.item_id)
      if (supply?.source !== 'supplier') continue
      const obtained = await deps.obtain({
        account_id: job.account_id,
        order_id: job.subject,
        line: line.n,
        supply,
        missing: line.missing,
      })
      if (obtained.kind === 'not yet') {
        notes.push(`item ${line.item_id}: ${obtained.note}`)
        continue
      }
      const brought = { line, links: obtained.links, source: obtained.supplier }
      try {
        open = await db.transaction((tx) => settle(deps, tx, job, brought))
      } catch (error) {
        if (!(error instanceof SoldBefore)) throw error
        deps.log.error({ order_id: job.subject, supplier: obtained.supplier }, error.message)
        notes.push(`item ${line.item_id}: supplier ${obtained.supplier}: ${error.message}`)
      }
    }
    if (open.length === 0) return { kind: 'done' }
    const [stuck, waiting] = split(open, (line) => supplies.get(line.item_id)?.source === 'supplier')
    const why = [...notes, ...stuck.map((line) => describe(line, supplies.get(line.item_id)))].join('; ')
    if (waiting.length === 0) return { kind: 'parked', note: why }
    const waitMs = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** (job.attempts - 1))
    deps.log.info({ order_id: job.subject, attempts: job.attempts, wait_ms: waitMs, why }, 'an order waits')
    return { kind: 'again', waitMs, note: why }
  }
}

/** Puts links to the order, as many as there are, and delivers it when none is missing. Answers with what is. */
async function settle(deps: FulfilDeps, tx: Tx, job: Job, brought?: Brought): Promise<OpenLine[]> {
  const { vault, clock, metrics } = deps
  const nowMs = clock.nowMs()
  const order = { account_id: job.account_id, order_id: job.subject }
  const isPaid = await lockPaidOrder(tx, order.account_id, order.order_id)
  if (!isPaid) {
    // Cancelled or delivered by somebody else. What a supplier gave us meanwhile is ours to sell.
    if (brought) {
      await rememberNew(vault, tx, brought.links, nowMs)
      await returnToPool(tx, vault, brought.line.item_id, brought.links, nowMs)
    }
    // Whoever ended the order may have removed the job already; nobody needs it now.
    await dropJob(tx, job.account_id, job.queue, job.subject)
    return []
  }
  const open = await selectOpenLines(tx, order.account_id, order.order_id)
  // All of them at once and sorted: two orders with the same items never wait for each other in a circle.
  const supplies = await lockItemSupply(
    tx,
    open.map(({ item_id }) => item_id),
  )
  const still: OpenLine[] = []
  for (const line of open) {
    let { held, missing } = line
    if (brought?.line.n === line.n) {
      await rememberNew(vault, tx, brought.links, nowMs)
      const kept = brought.links.slice(0, missing)
      await keepLinks(tx, vault, { ...order, line: line.n }, held, kept, brought.source, nowMs)
      await returnToPool(tx, vault, line.item_id, brought.links.slice(missing), nowMs)
      held += kept.length
      missing -= kept.length
    }
    const supply = supplies.find(({ item_id }) => item_id === line.item_id)
    if (missing > 0 && supply && supply.source !== 'hand') {
      const taken = await takeFromPool(tx, vault, supply, missing, nowMs)
      if (taken.isLow) warnOfPool(deps, line.item_id, taken.pool_left)
      await keepLinks(tx, vault, { ...order, line: line.n }, held, taken.links, 'pool', nowMs)
      held += taken.links.length
      missing -= taken.links.length
    }
    if (missing > 0) still.push({ ...line, held, missing })
  }
  if (still.length === 0) {
    await finishJob(tx, job)
    await finishDelivery(tx, order, nowMs)
    metrics.ordersDelivered.inc()
  }
  return still
}

/** A supplier that gives a link twice has given nothing: the order waits, and an operator reads why. */
class SoldBefore extends Error {
  override readonly name = 'SoldBefore'
}

async function rememberNew(vault: LinkVault, tx: Tx, links: readonly string[], nowMs: number) {
  const hashes = await Promise.all(links.map((link) => vault.fingerprint(link)))
  const fresh = await insertFingerprints(tx, hashes, new Date(nowMs))
  if (fresh.length < links.length) throw new SoldBefore('gave a link that this store has held before')
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

function split<Value>(values: readonly Value[], isSecond: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter((value) => !isSecond(value)), values.filter(isSecond)]
}
