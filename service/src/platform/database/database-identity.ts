import { batched } from '../batching/batched.ts'
import type { Log } from '../observability/log.ts'
import { createReminder } from '../observability/reminder.ts'
import { every } from '../process/every.ts'
import { Unavailable } from '../trouble.ts'
import type { DatabaseMetrics } from './database-metrics.ts'
import { type Db, type Queryable, sql, type Tx } from './db.ts'

/**
 * Identifies the server and the timeline of a database. A different system identifier means another server (a restored dump,
 * pg_upgrade); a different timeline means a point-in-time restore or a promoted standby.
 */
export interface DatabaseIdentity {
  readonly system_identifier: string
  /** Null on a standby. */
  readonly timeline: number | null
}

/** `ask`: an operator opens the store after every failover. */
export type FailoverPolicy = 'ask' | 'synchronous'

export interface DatabaseState {
  /** As an operator last confirmed it, or as the migration recorded it. */
  readonly recorded: DatabaseIdentity
  readonly present: DatabaseIdentity
  /** Whether a worker may open the store on a synchronous standby that was promoted; see functions/platform/open_after_failover.sql. */
  readonly failover: FailoverPolicy
  /** Whether the store sells, delivers and buys on it, as the database itself decides. */
  readonly is_confirmed: boolean
  readonly confirmed_at: Date
  readonly confirmed_by: string
  /** Rises each time an operator opens the store on another database, or on an earlier state of this one. */
  readonly generation: number
  /** Not null when this database is an earlier state of the store than the journal has recorded. */
  readonly behind_since: Date | null
  readonly behind_why: string | null
  /** The journal of sold links that workers write; null when there is none. */
  readonly journal_id: string | null
  /** Whether it is the copy of the data that was confirmed; see functions/platform/database_copy.sql. */
  readonly is_same_copy: boolean
  /** Whether it was compared with the journal since the server started. */
  readonly is_compared: boolean
  /** Why no worker could compare it, as reported by the last one that tried. */
  readonly journal_problem: string | null
  /** Identifies this start of the server; see functions/platform/database_start.sql. */
  readonly start: string
  /** The last position that workers wrote to it, and when: the latest time up to which its data is certainly complete. */
  readonly position: number
  readonly position_at: Date
}

/** SQLSTATE operator_intervention, raised by the triggers of an unconfirmed database. */
export const UNCONFIRMED_CODE = '57000'
/** Raised for a delivery that is not in the journal of a store that keeps one. */
export const UNJOURNALLED_CODE = '57S01'

type StateRow = Omit<DatabaseState, 'recorded' | 'present'> & {
  recorded_system: string
  recorded_timeline: number
  present_system: string
  present_timeline: number | null
}

export async function readDatabaseState(db: Queryable): Promise<DatabaseState> {
  const { recorded_system, recorded_timeline, present_system, present_timeline, ...rest } =
    await db.one<StateRow>(sql`
    select i.system_identifier as recorded_system, i.timeline as recorded_timeline, i.confirmed_at, i.confirmed_by,
           c.system_identifier::text as present_system, present_timeline() as present_timeline,
           database_is_confirmed() as is_confirmed, i.failover, i.generation, i.behind_since, i.behind_why, i.journal_id, i.journal_problem,
           i.copy = database_copy() as is_same_copy,
           i.compared_start is not distinct from database_start() as is_compared, database_start() as start,
           p.position, p.at as position_at
      from database_identity i, store_position p, pg_control_system() c`)
  return {
    recorded: { system_identifier: recorded_system, timeline: recorded_timeline },
    present: { system_identifier: present_system, timeline: present_timeline },
    ...rest,
  }
}

/**
 * Whether it is the database that was confirmed, whatever the state of its data. With a journal, a copy in the same server counts
 * as the same: comparing it with the journal shows which state it is.
 */
export const isSameDatabase = ({ recorded, present, journal_id, is_same_copy }: DatabaseState) =>
  nameIdentity(recorded) === nameIdentity(present) && (is_same_copy || journal_id !== null)

/** Opens the store on this database. */
export const confirmDatabase = (
  tx: Tx,
  { system_identifier, timeline }: DatabaseIdentity,
  opened: { generation: number; journal_id: string | null; confirmed_by: string; at: Date },
) =>
  tx.run(sql`
    update database_identity
       set system_identifier = ${system_identifier},
           timeline = ${timeline},
           confirmed_at = ${opened.at},
           confirmed_by = ${opened.confirmed_by},
           generation = ${opened.generation},
           behind_since = null,
           behind_why = null,
           journal_id = ${opened.journal_id},
           journal_problem = null,
           compared_start = database_start(),
           copy = database_copy()`)

export const setFailoverPolicy = (tx: Tx, failover: FailoverPolicy) =>
  tx.run(sql`
    update database_identity
       set failover = ${failover}`)

/** In the form an operator types: `7708505150732488277/2`. */
export function nameIdentity({ system_identifier, timeline }: DatabaseIdentity): string {
  return `${system_identifier}/${timeline ?? 'standby'}`
}

/**
 * Reports the identity in log, metric and readiness. It enforces nothing: while the database is unconfirmed, the database itself
 * refuses the statements that are not allowed. `follow` gets every state that is read.
 */
export interface IdentityWatch {
  /** Checks once, then every second. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Why nothing is delivered, sent or bought; undefined when the database is confirmed. */
  problem(): string | undefined
  /** Queries the database now; fails with Unavailable when it is not confirmed. */
  assertConfirmed(): Promise<void>
}

const POLL_EVERY_MS = 1_000
const BATCH_MAX = 1_000

export function watchDatabaseIdentity(
  db: Db,
  log: Log,
  metrics: Pick<DatabaseMetrics, 'databaseUnconfirmed'>,
  follow?: (state: DatabaseState) => Promise<void>,
): IdentityWatch {
  let problem: string | undefined
  const reminder = createReminder()

  async function poll() {
    const state = await readDatabaseState(db)
    const before = problem
    problem = state.is_confirmed ? undefined : describeProblem(state)
    metrics.databaseUnconfirmed.set(problem === undefined ? 0 : 1)
    await follow?.(state)
    if (problem === undefined) {
      reminder.reset()
      if (before !== undefined)
        log.info('the store is open on this database: deliveries, refunds and orders resume')
      return
    }
    if (!reminder.isDue(problem)) return
    const { recorded, present } = state
    const facts = { recorded: nameIdentity(recorded), present: nameIdentity(present) }
    // A worker does this within a second or two of every start of the server.
    if (isAwaitingComparison(state)) log.warn(facts, problem)
    else log.error(facts, problem)
  }

  const polling = every(POLL_EVERY_MS, poll, (error) =>
    log.warn({ err: error }, 'the identity of the database could not be read'),
  )
  const isConfirmed = batched<void, boolean>({
    part: 'database',
    sizeMax: BATCH_MAX,
    async runMany(asked) {
      const { confirmed } = await db.one<{ confirmed: boolean }>(sql`
        select database_is_confirmed() as confirmed`)
      return asked.map(() => confirmed)
    },
  })
  return {
    async start() {
      await poll()
      polling.start()
    },
    stop: () => polling.stop(),
    problem: () => problem,
    async assertConfirmed() {
      if (!(await isConfirmed())) throw new Unavailable('database', new Error('not confirmed by an operator'))
    },
  }
}

/** The server was restarted, and no worker has compared the database with the journal yet. */
function isAwaitingComparison(state: DatabaseState): boolean {
  return (
    isSameDatabase(state) && state.behind_since === null && state.journal_id !== null && !state.is_compared
  )
}

function describeProblem(state: DatabaseState): string {
  const { recorded, present, behind_why } = state
  if (isAwaitingComparison(state)) {
    const why = state.journal_problem === null ? '' : ` because ${state.journal_problem}`
    return (
      `the database server was started and no worker has compared it with the journal of sold links yet${why}. Nothing is sold, ` +
      'delivered or bought until a worker with SHOPWIRE_JOURNAL has: see "shopwire-admin recover status"'
    )
  }
  const isCopy = nameIdentity(recorded) === nameIdentity(present)
  const what = isSameDatabase(state)
    ? `this database (${nameIdentity(present)}) is an earlier state of the store than its journal has seen: ${behind_why}. It was restored`
    : isCopy
      ? `this database (${nameIdentity(present)}) is another copy of the one the store last ran on: a dump was restored into its server`
      : `this database (${nameIdentity(present)}) is not the one the store last ran on (${nameIdentity(recorded)}): it was restored, ` +
        'failed over or upgraded'
  return (
    `${what}. Nothing is delivered, sent, refunded or bought until an operator has compared it with what ` +
    'was sold and has opened the store: see "shopwire-admin recover status"'
  )
}
