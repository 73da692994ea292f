import { batched } from './batched.ts'
import { type Db, type Queryable, sql, type Tx } from './db.ts'
import { every } from './every.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { Unavailable } from './trouble.ts'

/**
 * Identifies the server and the timeline of a database. A different system identifier means another server (a restored dump,
 * pg_upgrade); a different timeline means a point-in-time restore or a promoted standby.
 */
export interface DatabaseIdentity {
  readonly system_identifier: string
  /** Null on a standby. */
  readonly timeline: number | null
}

export interface DatabaseState {
  /** As an operator last confirmed it, or as the migration recorded it. */
  readonly recorded: DatabaseIdentity
  readonly present: DatabaseIdentity
  readonly is_confirmed: boolean
  readonly confirmed_at: Date
  readonly confirmed_by: string
}

/** SQLSTATE operator_intervention, raised by the triggers of an unconfirmed database. */
export const UNCONFIRMED_CODE = '57000'

export async function readDatabaseState(db: Queryable): Promise<DatabaseState> {
  const row = await db.one<{
    recorded_system: string
    recorded_timeline: number
    present_system: string
    present_timeline: number | null
    confirmed_at: Date
    confirmed_by: string
  }>(sql`
    select i.system_identifier as recorded_system, i.timeline as recorded_timeline, i.confirmed_at, i.confirmed_by,
           c.system_identifier::text as present_system, present_timeline() as present_timeline
      from database_identity i, pg_control_system() c`)
  const { confirmed_at, confirmed_by } = row
  const recorded = { system_identifier: row.recorded_system, timeline: row.recorded_timeline }
  const present = { system_identifier: row.present_system, timeline: row.present_timeline }
  return {
    recorded,
    present,
    is_confirmed: nameIdentity(recorded) === nameIdentity(present),
    confirmed_at,
    confirmed_by,
  }
}

export const confirmDatabase = (
  tx: Tx,
  { system_identifier, timeline }: DatabaseIdentity,
  confirmed_by: string,
  nowMs: number,
) =>
  tx.run(sql`
    update database_identity
       set system_identifier = ${system_identifier},
           timeline = ${timeline},
           confirmed_at = ${new Date(nowMs)},
           confirmed_by = ${confirmed_by}`)

/** In the form an operator types: `7708505150732488277/2`. */
export function nameIdentity({ system_identifier, timeline }: DatabaseIdentity): string {
  return `${system_identifier}/${timeline ?? 'standby'}`
}

/**
 * Reports the identity in log, metric and readiness. It enforces nothing: the database itself refuses the statements that are
 * not allowed while it is unconfirmed.
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

const LOOK_EVERY_MS = 1_000
const REMIND_EVERY_MS = 60_000
const BATCH_MAX = 1_000

export function watchDatabaseIdentity(db: Db, log: Log, metrics: Metrics): IdentityWatch {
  let problem: string | undefined
  let loggedMs = Number.NEGATIVE_INFINITY

  async function look() {
    const state = await readDatabaseState(db)
    const before = problem
    problem = state.is_confirmed ? undefined : describeProblem(state)
    metrics.databaseUnconfirmed.set(problem === undefined ? 0 : 1)
    if (problem === undefined) {
      if (before !== undefined) log.info('the database was confirmed: deliveries, refunds and orders resume')
      return
    }
    if (problem === before && performance.now() - loggedMs < REMIND_EVERY_MS) return
    loggedMs = performance.now()
    const { recorded, present } = state
    log.error({ recorded: nameIdentity(recorded), present: nameIdentity(present) }, problem)
  }

  const looking = every(LOOK_EVERY_MS, look, (error) =>
    log.warn({ err: error }, 'the identity of the database could not be read'),
  )
  const isConfirmed = batched<void, boolean>(BATCH_MAX, async (asked) => {
    const { confirmed } = await db.one<{ confirmed: boolean }>(sql`
      select database_is_confirmed() as confirmed`)
    return asked.map(() => confirmed)
  })
  return {
    async start() {
      await look()
      looking.start()
    },
    stop: () => looking.stop(),
    problem: () => problem,
    async assertConfirmed() {
      if (!(await isConfirmed())) throw new Unavailable('database', new Error('not confirmed by an operator'))
    },
  }
}

function describeProblem({ recorded, present }: DatabaseState): string {
  return (
    `this database (${nameIdentity(present)}) is not the one the store last ran on (${nameIdentity(recorded)}): it was restored, ` +
    'failed over or upgraded. Nothing is delivered, sent, refunded or bought until an operator has compared it with what ' +
    'callers were given and has confirmed it: see "shopwire-admin database status"'
  )
}
