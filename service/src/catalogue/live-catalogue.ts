import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Db } from '../platform/db.ts'
import { Unavailable } from '../platform/trouble.ts'
import { selectItemsSince, selectRevision } from './queries.ts'
import { Snapshot } from './snapshot.ts'

/** The catalogue as this process serves it: within a second of the database, while there is one to follow. */
export interface LiveCatalogue {
  /** Ask for it anew for every request: a large change puts another in its place. */
  readonly snapshot: Snapshot
  /** The time by the database's clock, which decides when a sale ends. */
  nowMs(): number
  /** Reads all of it; from then on it follows by itself. */
  open(): Promise<void>
  close(): void
}

const LOOK_EVERY_MS = 400
const BATCH = 10_000

/**
 * After this time every process that reaches the database serves a change of fewer than `SERVED_AT_ONCE_MAX` items: its look
 * and the reading, with room to spare. A larger change takes as long as reading the whole catalogue.
 */
export const SERVED_WITHIN_MS = 1_000
export const SERVED_AT_ONCE_MAX = BATCH
/** Sorts behind every id. */
const LAST_ID = ':'

/**
 * Asks for the revision a few times a second; one row is all it costs. LISTEN would save that row and need a connection of
 * its own, which poolers do not give, and a timer beside it anyway.
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
    // What changes from here on carries a later revision and is read again at the next look.
    const changed = await selectItemsSince(db, { revision: snapshot.revision, id: LAST_ID }, BATCH)
    if (changed.length < BATCH) snapshot.apply(changed, revision)
    else snapshot = await load(db, revision)
    isLoaded = true
  }

  function lookAgain() {
    if (isClosed) return
    timer = setTimeout(() => void look().catch(onError).finally(lookAgain), LOOK_EVERY_MS).unref()
  }

  return {
    get snapshot() {
      // An empty shop would be a lie that callers act on.
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

/** A change of this size would hold up requests if it were applied at once: it is built aside, bit by bit. */
async function load(db: Db, revision: number): Promise<Snapshot> {
  const snapshot = new Snapshot()
  let batch = await selectItemsSince(db, { revision: 0, id: '' }, BATCH)
  for (;;) {
    const last = batch.at(-1)
    if (!last || batch.length < BATCH) break
    // The database reads the next ones while these are put in their places: a turn later, when it has been asked.
    const [next] = await Promise.all([
      selectItemsSince(db, last, BATCH),
      nextTurn().then(() => snapshot.apply(batch, revision)),
    ])
    batch = next
  }
  snapshot.apply(batch, revision)
  return snapshot
}
