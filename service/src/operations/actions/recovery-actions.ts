import { requestReconciliation } from '../../funding/reconcile-queries.ts'
import { compareJournal, countSold, type JournalComparison } from '../../orders/journal/compare-journal.ts'
import { keepLostLinks, type LostLinksKept } from '../../orders/journal/keep-lost-links.ts'
import {
  CLOCKS_APART_MS,
  insertLostOrders,
  type LostAnswer,
  selectLostAnswers,
} from '../../orders/journal/lost-orders.ts'
import {
  confirmDatabase,
  type DatabaseState,
  type FailoverPolicy,
  isSameDatabase,
  nameIdentity,
  readDatabaseState,
  setFailoverPolicy,
} from '../../platform/database/database-identity.ts'
import { type Db, type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import { isBehind, type StorePosition } from '../../platform/database/store-position.ts'
import { newId } from '../../platform/text/ids.ts'
import { refuse } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import { type Journal, type JournalMark, KEY_CHECK_LINK } from '../../supply/journal.ts'
import type { Act } from './act.ts'

export interface RecoveryState {
  readonly database: DatabaseState
  readonly is_same_database: boolean
  /** The journal's mark; null: none is configured here, or it has not been started. */
  readonly journal: JournalMark | null
  /** The store's latest position according to the journal. */
  readonly outside: StorePosition | null
  /** The last comparison in this generation and on this server. */
  readonly compared: ComparisonRow | null
}

interface ComparisonRow {
  readonly id: string
  readonly at: Date
  readonly read_from: Date
  readonly links: number
  readonly outside_generation: number | null
  readonly outside_position: number | null
  readonly is_complete: boolean
}

export async function readRecovery(db: Db, journal: Journal | undefined): Promise<RecoveryState> {
  const outside = (await journal?.readPosition()) ?? null
  const mark = (await journal?.readMark()) ?? null
  const database = await readDatabaseState(db)
  const compared = (await selectComparison(db, database)) ?? null
  return { database, is_same_database: isSameDatabase(database), journal: mark, outside, compared }
}

export interface RecoveryComparison extends JournalComparison {
  /** Undefined without `apply`. */
  readonly kept: LostLinksKept | undefined
  /** Orders that API processes answered with 201 and that this database does not have. */
  readonly answered: readonly LostAnswer[]
  /** False: the journal begins after the start of the time that may be missing. */
  readonly is_complete: boolean
  readonly journal: JournalMark
}

export interface OpenOptions {
  /** As `recover status` prints it, so that an operator has seen the status before opening the store on a database. */
  readonly identity: string
  readonly withoutJournal: boolean
}

export interface Opened {
  readonly generation: number
  readonly identity: string
  readonly journal_id: string | null
}

/** What an operator does with a database that was restored or failed over. */
export function recoveryActions(db: Db, vault: LinkVault, actor: string, act: Act) {
  /** Compares what was sold with this database and, with `apply`, prevents lost links from being sold again. */
  async function compareWithJournal(
    journal: Journal | undefined,
    { from, apply }: { from: Date | undefined; apply: boolean },
  ): Promise<RecoveryComparison> {
    await vault.open()
    const mark = await checkedMark(vault, journal)
    const outside = await (journal as Journal).readPosition()
    const before = await readDatabaseState(db)
    if (apply && before.is_confirmed)
      throw refuse(
        'invalid_request',
        'The store is open on this database: there is nothing to recover. Leave out --apply for a report only.',
      )
    const since = from ?? before.position_at
    const read_from = from ?? new Date(since.getTime() - CLOCKS_APART_MS)
    const is_complete = mark.kept_since <= since
    const compared = await compareJournal(db, journal as Journal, read_from)
    const answered = await selectLostAnswers(db, read_from)
    const result = { ...compared, answered, is_complete, journal: mark, kept: undefined }
    if (!apply) return result
    return act('recover.compare', async (tx, nowMs) => {
      await insertLostOrders(tx, answered, new Date(nowMs))
      const kept = await keepLostLinks(tx, vault, compared.lost, nowMs)
      const identity = nameIdentity(before.present)
      const { links } = compared
      const row = {
        at: new Date(nowMs),
        actor,
        generation: before.generation,
        identity,
        journal_id: mark.journal_id,
      }
      await insertComparison(tx, newId('cmp', nowMs), {
        ...row,
        read_from,
        links,
        outside_generation: outside?.generation ?? null,
        outside_position: outside?.position ?? null,
        is_complete,
      })
      const details = {
        ...kept,
        links,
        lost: compared.lost.length,
        answered: answered.length,
        read_from: read_from.toISOString(),
        identity,
      }
      return { result: { ...result, kept }, target: 'database', details }
    })
  }

  /** Opens the store on this database, as the next generation. */
  async function openStore(journal: Journal | undefined, options: OpenOptions): Promise<Opened> {
    const { identity, withoutJournal } = options
    const {
      database,
      compared,
      outside,
      journal: mark,
    } = await readRecovery(db, withoutJournal ? undefined : journal)
    const present = nameIdentity(database.present)
    if (identity !== present)
      throw refuse(
        'invalid_request',
        `This database is ${present}, not ${identity}. Check "recover status", then open the database that it shows.`,
      )
    if (database.present.timeline === null)
      throw refuse('invalid_request', 'This server is a standby. Promote it, or point to its primary.')
    if (database.is_confirmed && !withoutJournal)
      throw refuse('idempotency_conflict', `The store is open on ${present} already; nothing was changed.`)
    if (!withoutJournal) await assertCompared(journal, { mark, compared, outside })
    const opened = await act('recover.open', async (tx, nowMs) => {
      const generation = Math.max(database.generation, outside?.generation ?? 0) + 1
      const journal_id = withoutJournal ? null : (mark?.journal_id ?? null)
      await confirmDatabase(tx, database.present, {
        generation,
        journal_id,
        confirmed_by: actor,
        at: new Date(nowMs),
      })
      // What the provider reported before the restore may be lost.
      await requestReconciliation(tx)
      const details = {
        before: nameIdentity(database.recorded),
        after: present,
        generation,
        without_journal: withoutJournal,
      }
      return { result: { generation, identity: present, journal_id }, target: 'database', details }
    })
    // Workers write it within a second as well; until then the old database could still look like the newest.
    if (!withoutJournal)
      await journal?.writePosition({
        generation: opened.generation,
        position: database.position,
        at: database.position_at,
        // This server may have taken over alone; workers find out within a second.
        is_synchronous: false,
      })
    return opened
  }

  const setFailover = (failover: FailoverPolicy) =>
    act('recover.policy', async (tx) => {
      await setFailoverPolicy(tx, failover)
      return { result: { failover }, target: 'database', details: { failover } }
    })

  return { compareWithJournal, openStore, setFailover }
}

/** The journal that this store's fingerprints can be compared with. */
async function checkedMark(vault: LinkVault, journal: Journal | undefined): Promise<JournalMark> {
  if (journal === undefined)
    throw refuse(
      'invalid_request',
      'There is no journal to compare with: set SHOPWIRE_JOURNAL, or give its folder with --journal.',
    )
  const mark = await journal.readMark()
  if (mark === undefined)
    throw refuse('invalid_request', 'The folder of the journal is empty: is its disk mounted?')
  if (mark.key_check !== vault.fingerprint(KEY_CHECK_LINK).toString('hex')) {
    throw refuse(
      'invalid_request',
      `The fingerprints in journal ${mark.journal_id} were made with another key than this database has: it belongs to another store, or ` +
        'the database is from before its first link. They cannot be compared.',
    )
  }
  return mark
}

async function assertCompared(
  journal: Journal | undefined,
  state: { mark: JournalMark | null; compared: ComparisonRow | null; outside: StorePosition | null },
): Promise<void> {
  const { mark, compared, outside } = state
  if (journal === undefined || mark === null || compared === null) {
    throw refuse(
      'invalid_request',
      'This database was not compared with the journal of sold links. First: shopwire-admin recover compare --apply. If there is no ' +
        'journal, --without-journal opens the store all the same: links may be sold a second time then.',
    )
  }
  if (!compared.is_complete) {
    throw refuse(
      'invalid_request',
      'The journal begins later than the time that may be missing, so links that were sold before it are not recorded there. Find them in other ' +
        'records and take them out of the pools, then open with --without-journal.',
    )
  }
  const { outside_generation: generation, outside_position: position } = compared
  const hasMoved =
    outside !== null && (generation === null || isBehind({ generation, position: position ?? 0 }, outside))
  const sold = (await countSold(journal, compared.read_from)) - compared.links
  if (hasMoved || sold > 0) {
    throw refuse(
      'idempotency_conflict',
      `The journal was written since the comparison (${Math.max(sold, 0)} links were sold): another database of this store is still in use. ` +
        'Stop everything that uses it, then run "recover compare --apply" again.',
    )
  }
}

const selectComparison = (db: Queryable, state: DatabaseState) =>
  db.maybeOne<ComparisonRow>(sql`
    select id, at, read_from, links, outside_generation, outside_position, is_complete
      from journal_comparisons
     where generation = ${state.generation}
       and identity = ${nameIdentity(state.present)}
     order by id desc
     limit 1`)

const insertComparison = (
  tx: Tx,
  id: string,
  row: Omit<ComparisonRow, 'id'> & {
    actor: string
    generation: number
    identity: string
    journal_id: string
  },
) =>
  tx.run(sql`
    insert into journal_comparisons (id, at, actor, generation, identity, journal_id, read_from, links, outside_generation,
                                     outside_position, is_complete)
    values (${id}, ${row.at}, ${row.actor}, ${row.generation}, ${row.identity}, ${row.journal_id}, ${row.read_from}, ${row.links},
            ${row.outside_generation}, ${row.outside_position}, ${row.is_complete})`)
