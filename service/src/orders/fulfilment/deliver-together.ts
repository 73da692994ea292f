import { type BatchingMode, batched } from '../../platform/batching/batched.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Db, isRolledBack, sql, type Tx, timed } from '../../platform/database/db.ts'
import type { Job } from '../../platform/jobs/jobs.ts'
import { newId } from '../../platform/text/ids.ts'
import { Unavailable } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import type { Journal } from '../../supply/journal.ts'
import { ORDER_STATEMENTS } from '../metrics.ts'

export interface DeliverTogetherDeps {
  readonly db: Db
  readonly vault: LinkVault
  readonly clock: Clock
  readonly journal?: Journal | undefined
  readonly batching?: BatchingMode | undefined
}

/**
 * What became of one order. `busy`: another transaction holds the supply of one of its items. `alone`: it needs more than links of
 * well-filled pools, and nothing was done for it. `lost`: another worker has its job now.
 */
export type DeliveredTogether =
  | { readonly verdict: 'delivered'; readonly afterMs: number }
  | { readonly verdict: 'busy' | 'alone' | 'lost' }

export type DeliverTogether = (job: Job) => Promise<DeliveredTogether>

/** From one order in a call to this many the cost of each falls to a fifth; beyond, it hardly falls. */
const ORDERS_MAX = 32
const LANE_MS_MAX = 50

/**
 * Orders that are due at the same time are delivered in one transaction; an order that is due by itself is a batch of one and waits for
 * nobody. Those that found the supply of an item locked form a second line, which waits for it: a popular item then delays only its own orders,
 * and several workers share it in turn. An order that made its batch fail is answered with `alone`.
 */
export function createDeliverTogether(deps: DeliverTogetherDeps): DeliverTogether {
  const line = (mayWait: boolean) => {
    const deliver = batched<Job, DeliveredTogether>({
      part: 'database',
      sizeMax: ORDERS_MAX,
      laneMsMax: LANE_MS_MAX,
      runMany: (jobs) => deliverTogether(deps, jobs, { mayWait: mayWait || jobs.length === 1 }),
      isUndone,
      ...(deps.batching && { mode: deps.batching }),
    })
    return (job: Job) =>
      deliver(job).catch((error: unknown): DeliveredTogether => {
        if (!isUndone(error)) throw error
        return { verdict: 'alone' }
      })
  }
  const first = line(false)
  const patient = line(true)
  return async (job) => {
    const delivered = await first(job)
    return delivered.verdict === 'busy' ? patient(job) : delivered
  }
}

/** Only a commit may have done something although it failed. */
const isUndone = (error: unknown) => !(error instanceof Unavailable) || isRolledBack(error)

interface TakenRow {
  readonly place: number
  readonly verdict: 'taken' | 'busy' | 'alone' | 'lost'
  readonly created_at: Date
  readonly line: number
  readonly unit: number
  readonly item_id: string
  readonly id: string
  readonly link_sealed: Buffer
  readonly link_kek_id: string
}

/** A link on its way from a pool to the order that is `place`th of those to be delivered, counted from 1. */
interface Moved {
  readonly place: number
  readonly line: number
  readonly unit: number
  readonly item_id: string
  readonly link_sealed: Buffer
  readonly link_kek_id: string
  readonly link_hash: Buffer
}

/**
 * Delivers paid orders that need nothing but links of well-filled pools, in one transaction of two calls; between them the links are sealed
 * for their new rows. All or nothing: a link that does not open, or anything else unexpected, fails the call and leaves every order as it was.
 */
function deliverTogether(
  { db, vault, clock, journal }: DeliverTogetherDeps,
  jobs: readonly Job[],
  { mayWait }: { mayWait: boolean },
): Promise<DeliveredTogether[]> {
  return db.transaction(async (tx) => {
    const nowMs = clock.nowMs()
    const rows = await takeForOrders(tx, jobs, mayWait)
    const outcomes: DeliveredTogether[] = []
    const ready: Job[] = []
    const newPlace = new Map<number, number>()
    for (const { place, verdict, created_at } of rows) {
      if (verdict !== 'taken') outcomes[place - 1] = { verdict }
      else if (!newPlace.has(place)) {
        outcomes[place - 1] = { verdict: 'delivered', afterMs: Math.max(0, nowMs - created_at.getTime()) }
        newPlace.set(place, ready.push(jobs[place - 1] as Job))
      }
    }
    if (ready.length === 0) return outcomes
    const taken = rows.filter(({ verdict }) => verdict === 'taken')
    const moved = await Promise.all(
      taken.map((row) => move(vault, row, jobs[row.place - 1] as Job, newPlace.get(row.place) as number)),
    )
    const at = new Date(nowMs)
    // Before the endpoints are locked, so that nobody waits for the disk with us. From the commit on callers see the links.
    await journal?.append(
      moved.map(({ place, line, unit, item_id, link_hash }) => {
        const { account_id, subject: order_id } = ready[place - 1] as Job
        return { account_id, order_id, line, unit, item_id, source: 'pool', hash: link_hash, at }
      }),
    )
    await deliverOrders(tx, ready, moved, { at, mayWait, isJournalled: journal !== undefined })
    return outcomes
  })
}

async function move(
  vault: LinkVault,
  { line, unit, item_id, id, link_sealed }: TakenRow,
  { account_id, subject: order_id }: Job,
  place: number,
): Promise<Moved> {
  const link = await vault.openFromPool(link_sealed, { item_id, id })
  return {
    place,
    line,
    unit,
    item_id,
    ...(await vault.sealForOrder(link, { account_id, order_id, line, unit })),
  }
}

const takeForOrders = (tx: Tx, jobs: readonly Job[], mayWait: boolean) =>
  tx.many<TakenRow>(
    timed(
      ORDER_STATEMENTS.takeForOrders,
      sql`
    select place, verdict, created_at, line, unit, item_id, id, link_sealed, link_kek_id
      from take_for_orders(${mayWait}, ${jobs.map(({ account_id }) => account_id)}, ${jobs.map(({ subject }) => subject)},
                           ${jobs.map(({ attempts }) => attempts)})`,
    ),
  )

const deliverOrders = (
  tx: Tx,
  jobs: readonly Job[],
  links: readonly Moved[],
  { at, mayWait, isJournalled }: { at: Date; mayWait: boolean; isJournalled: boolean },
) =>
  tx.one(
    timed(
      ORDER_STATEMENTS.deliverOrders,
      sql`
    select deliver_orders(${mayWait}, ${isJournalled}, ${jobs.map(({ account_id }) => account_id)},
                          ${jobs.map(({ subject }) => subject)}, ${jobs.map(() => newId('evt', at.getTime()))},
                          ${jobs.map(({ attempts }) => attempts)}, ${at}, ${links.map(({ place }) => place)},
                          ${links.map(({ line }) => line)}, ${links.map(({ unit }) => unit)},
                          ${links.map(({ link_sealed }) => link_sealed)}, ${links.map(({ link_kek_id }) => link_kek_id)},
                          ${links.map(({ link_hash }) => link_hash)})`,
    ),
  )
