import type { Db, Tx } from '../../platform/database/db.ts'
import {
  lockRestocked,
  markRestocked,
  moveBack,
  type Restocked,
  unmarkRestocked,
} from '../../supply/restocked.ts'
import { readBacklogLane, selectOverlooked, wakeWaiting } from './waiting-lines.ts'

const CHUNK = 100
/** Items per run. */
const ITEMS_MAX = 8

/**
 * One run: for each restocked item, wakes a chunk of the orders that its links can serve, so that a small item does not wait for a
 * large one. Nothing is woken while an earlier chunk still waits for workers, so few jobs are due however many links came in. One
 * transaction per item, because each locks jobs. Returns whether it woke any.
 */
export async function wakeRestocked(db: Db): Promise<boolean> {
  const { due, now } = await readBacklogLane(db, CHUNK)
  if (due >= CHUNK) return false
  for (let n = 0; n < ITEMS_MAX; n += 1) if (!(await wakeNext(db, now))) return n > 0
  return true
}

const wakeNext = (db: Db, upTo: string) =>
  db.transaction(async (tx) => {
    const item = await lockRestocked(tx, upTo)
    if (!item) return false
    const isDone = await wakeOrdersOf(tx, item)
    if (isDone) await unmarkRestocked(tx, item.item_id)
    else await moveBack(tx, item.item_id)
    return true
  })

/** False when more waiting orders can be served than were woken now. */
async function wakeOrdersOf(tx: Tx, item: Restocked): Promise<boolean> {
  const fromPool = item.source === null || item.source === 'hand' ? 0 : (item.pool_left ?? 0)
  const links = item.is_source_changed ? Number.MAX_SAFE_INTEGER : fromPool
  if (links === 0) return true
  const { lines, missing } = await wakeWaiting(tx, item.item_id, links, CHUNK)
  return lines < CHUNK || missing >= links
}

/**
 * Marks items that have links for waiting orders although no job is about to sell them: an order was woken for the links and
 * failed, or ended. Returns how many items it marked.
 */
export async function markOverlooked(db: Db): Promise<number> {
  const overlooked = await selectOverlooked(db)
  const items = overlooked.map(({ item_id }) => item_id)
  if (items.length > 0) await db.transaction((tx) => markRestocked(tx, items))
  return items.length
}
