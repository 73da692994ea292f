import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Db } from '../platform/database/db.ts'
import { Unavailable } from '../platform/trouble.ts'
import { selectItemsSince, selectRevision } from './queries.ts'
import { Snapshot } from './snapshot.ts'

/** The catalogue as this process serves it: at most a second behind the database while that is reachable. */
export interface LiveCatalogue {
  /** Read it again for every request: a large change replaces the object. */
  readonly snapshot: Snapshot
  /** The database's time, which decides when a sale ends. */
  nowMs(): number
  /** Loads everything; after that it keeps up to date. */
  open(): Promise<void>
  close(): void
}

const POLL_EVERY_MS = 400
const BATCH = 10_000

/**
 * After this time every process that reaches the database serves a change of fewer than `SERVED_AT_ONCE_MAX` items: poll interval
 * plus reading, with a margin. A larger change takes as long as loading the whole catalogue.
 */
export const SERVED_WITHIN_MS = 1_000
export const SERVED_AT_ONCE_MAX = BATCH
/** Sorts after every id. */
const LAST_ID = ':'

/**
 * Polls the revision, one row, a few times a second. LISTEN would save that query but needs a dedicated connection, which
 * poolers do not offer, and a timer as well.
 */
export function liveCatalogue(db: Db, onError: (error: unknown) => void): LiveCatalogue {
  let snapshot = new Snapshot()
  let clockAheadMs = 0
  let timer: NodeJS.Timeout | undefined
  let isLoaded = false
  let isClosed = false

  async function look() {
    const askedMs = Date.now()
    const { revision, now } = await selectRevision(db)
    clockAheadMs = now.getTime() - (askedMs + Date.now()) / 2
    if (revision === snapshot.revision) return
    // A change made from here on has a later revision and is read by the next poll.
    const changed = await selectItemsSince(db, { revision: snapshot.revision, id: LAST_ID }, BATCH)
    if (changed.length < BATCH) snapshot.apply(changed, revision)
    else snapshot = await load(db, revision)
    isLoaded = true
  }

  function lookAgain() {
    if (isClosed) return
    timer = setTimeout(() => void look().catch(onError).finally(lookAgain), POLL_EVERY_MS).unref()
  }

  return {
    get snapshot() {
      // Serving an empty catalogue would make callers act on wrong data.
      if (!isLoaded) throw new Unavailable('catalogue', new Error('the catalogue has not been read yet'))
      return snapshot
    },
    nowMs: () => Date.now() + clockAheadMs,
    async open() {
      await look()
      if (timer === undefined) lookAgain()
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** Applying a change of this size at once would block requests: a new snapshot is built in steps instead. */
async function load(db: Db, revision: number): Promise<Snapshot> {
  const snapshot = new Snapshot()
  let batch = await selectItemsSince(db, { revision: 0, id: '' }, BATCH)
  for (;;) {
    const last = batch.at(-1)
    if (!last || batch.length < BATCH) break
    // The database reads the next batch while this one is applied; `nextTurn` lets the query be sent first.
    const [next] = await Promise.all([
      selectItemsSince(db, last, BATCH),
      nextTurn().then(() => snapshot.apply(batch, revision)),
    ])
    batch = next
  }
  snapshot.apply(batch, revision)
  return snapshot
}
