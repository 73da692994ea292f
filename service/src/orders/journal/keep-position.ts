import {
  type DatabaseState,
  isSameDatabase,
  nameIdentity,
  readDatabaseState,
} from '../../platform/database/database-identity.ts'
import type { Db } from '../../platform/database/db.ts'
import {
  advancePosition,
  attachJournal,
  isBehind,
  markBehind,
  markCompared,
  noteJournalProblem,
  openAfterFailover,
  type StorePosition,
} from '../../platform/database/store-position.ts'
import type { Log } from '../../platform/observability/log.ts'
import { newId } from '../../platform/text/ids.ts'
import { refuse, Unavailable } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import { type Journal, type JournalMark, KEY_CHECK_LINK } from '../../supply/journal.ts'
import type { OrderMetrics } from '../metrics.ts'
import { countLostOrders } from './lost-orders.ts'

/** What is wrong with the journal, for the operator; undefined when the cause is elsewhere. */
export function journalProblemOf(error: unknown): string | undefined {
  if (error instanceof JournalMismatch) return error.message
  if (!(error instanceof Unavailable) || error.part !== 'journal') return undefined
  return `the journal of sold links cannot be read or written: ${error.reason}`
}

/** The folder is not the journal of this store. The message is for the operator who starts the process. */
export class JournalMismatch extends Error {
  override readonly name = 'JournalMismatch'
}

export interface PositionKeeperDeps {
  readonly db: Db
  readonly vault: LinkVault
  readonly journal: Journal | undefined
  readonly log: Log
  readonly metrics: Pick<OrderMetrics, 'failovers'>
  nowMs(): number
}

/**
 * Advances the store's position, in the database first and then outside it, closes the store when the database turns out to be
 * behind, and opens it on a promoted standby when that is allowed and safe. After each start of the server nothing is sold until this
 * has run once. Call it once a second; fails with JournalMismatch when the journal is not the one of this store.
 */
export function createPositionKeeper(deps: PositionKeeperDeps): () => Promise<void> {
  const { db, journal, log, metrics } = deps
  /** The server on which the store was last not opened: counted and logged once. */
  let refused: string | undefined
  return async () => {
    try {
      await keep()
    } catch (error) {
      const why = journalProblemOf(error)
      // API processes and operators read it from the database; if it cannot be written there, it is in the log.
      if (why !== undefined) await noteJournalProblem(db, why).catch(() => {})
      throw error
    }
  }

  async function keep(): Promise<void> {
    if (journal === undefined) {
      const { journal_id } = await readDatabaseState(db)
      if (journal_id !== null) throw new JournalMismatch(describeUnset(journal_id))
      await advancePosition(db)
      return
    }
    // Read before the database: a position recorded outside was committed in the database first.
    const outside = await journal.readPosition()
    const state = await readDatabaseState(db)
    const mark = await checkMark(deps, journal, state)
    const why = await findWhyBehind(db, journal, state, outside)
    if (why !== undefined) {
      if (state.behind_since === null && state.present.timeline !== null) {
        await markBehind(db, why)
        log.error(
          { why },
          'this database is an earlier state of the store: it sells, delivers and buys nothing',
        )
      }
      return
    }
    if (state.behind_since !== null) return
    if (!isSameDatabase(state)) return openIfNothingIsMissing(journal, state, outside)
    if (state.journal_id === null) await attachJournal(db, mark.journal_id, state.start)
    else if (!state.is_compared) await markCompared(db, state.start)
    const position = await advancePosition(db)
    if (position) await journal.writePosition(position)
  }

  /** The store goes on with the next call. */
  async function openIfNothingIsMissing(kept: Journal, state: DatabaseState, outside?: StorePosition) {
    if (state.failover === 'ask' || state.present.timeline === null) return
    const obstacle = await findObstacle(db, kept, state, outside)
    const known = nameIdentity(state.present)
    if (obstacle === undefined) {
      metrics.failovers.inc({ outcome: 'opened' })
      log.warn(
        { identity: known },
        'a synchronous standby was promoted and lacks nothing: the store is open on it',
      )
    } else if (refused !== known) {
      refused = known
      metrics.failovers.inc({ outcome: 'refused' })
      log.error({ identity: known, obstacle }, 'the store does not open by itself after this failover')
    }
  }
}

/** Why an operator has to look after a failover; undefined when the store is open. */
async function findObstacle(
  db: Db,
  journal: Journal,
  state: DatabaseState,
  outside: StorePosition | undefined,
): Promise<string | undefined> {
  // What was delivered after the last position. A worker is trusted with it: it delivers.
  const lost = await countLostOrders(db, journal, state.position_at)
  if (lost > 0) return describeLost(lost)
  return (await openAfterFailover(db, outside)).obstacle ?? undefined
}

/** For a program that delivers without advancing the position: its folder must be the journal of this store. */
export async function assertOwnJournal(db: Db, journal: Journal | undefined): Promise<void> {
  const { journal_id } = await readDatabaseState(db)
  if (journal === undefined || journal_id === null) return
  const mark = await journal.readMark()
  if (mark === undefined) throw refuse('invalid_request', describeEmpty(journal_id))
  if (mark.journal_id !== journal_id)
    throw refuse('invalid_request', describeOther(mark.journal_id, journal_id))
}

/** Undefined when nothing is missing, as far as the record outside shows. */
async function findWhyBehind(
  db: Db,
  journal: Journal,
  state: DatabaseState,
  outside: StorePosition | undefined,
): Promise<string | undefined> {
  if (outside && isBehind(state, outside)) {
    const { generation, position, position_at } = state
    return (
      `it is at position ${position} of generation ${generation} (${position_at.toISOString()}), the journal at ` +
      `${outside.position} of ${outside.generation} (${outside.at.toISOString()})`
    )
  }
  // On another server an operator decides in any case.
  if (state.is_compared || state.behind_since !== null || !isSameDatabase(state)) return undefined
  // The position has a resolution of one second. An order that was delivered after it is in the journal, too.
  const lost = await countLostOrders(db, journal, state.position_at)
  return lost > 0 ? describeLost(lost) : undefined
}

const describeLost = (lost: number) =>
  `${lost} orders that were delivered according to the journal are not delivered in it`

/** Fails when the folder belongs to another store, or is empty although this store keeps a journal. */
async function checkMark(
  { vault, nowMs }: PositionKeeperDeps,
  journal: Journal,
  { journal_id }: DatabaseState,
): Promise<JournalMark> {
  const key_check = vault.fingerprint(KEY_CHECK_LINK).toString('hex')
  const found = await journal.readMark()
  if (found === undefined && journal_id !== null) throw new JournalMismatch(describeEmpty(journal_id))
  const mark =
    found ??
    (await journal.begin({ journal_id: newId('jrn', nowMs()), kept_since: new Date(nowMs()), key_check }))
  if (journal_id !== null && mark.journal_id !== journal_id)
    throw new JournalMismatch(describeOther(mark.journal_id, journal_id))
  if (mark.key_check !== key_check) throw new JournalMismatch(describeOtherKey(mark.journal_id))
  return mark
}

const WITHOUT =
  'If that journal is lost, "shopwire-admin recover open --without-journal" lets the store continue without it'

const describeUnset = (journal_id: string) =>
  `This store keeps a journal of sold links (${journal_id}) and SHOPWIRE_JOURNAL is not set here: set it to the folder of the ` +
  `other workers. ${WITHOUT}.`

const describeEmpty = (journal_id: string) =>
  `SHOPWIRE_JOURNAL is an empty folder, and this store keeps a journal of sold links (${journal_id}): is its disk mounted? ` +
  `${WITHOUT} and begins a new one.`

const describeOther = (found: string, journal_id: string) =>
  `SHOPWIRE_JOURNAL is the journal ${found}, and this store keeps ${journal_id}: set it to the folder of the other workers. ` +
  `${WITHOUT}; a new one needs an empty folder.`

const describeOtherKey = (found: string) =>
  `SHOPWIRE_JOURNAL is the journal ${found}, whose fingerprints were made with another key than this database has: it belongs to ` +
  'another store, or the database is from before its first link. Set it to an empty folder to begin a new journal.'
