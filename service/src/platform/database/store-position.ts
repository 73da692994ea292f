import { type Queryable, sql } from './db.ts'

/**
 * How far a store has progressed: a counter that workers advance about once a second in the database and then record outside of it.
 * A database that is behind the outside record was restored to an earlier state, whatever its identity.
 */
export interface StorePosition {
  /** Takes precedence over the position: a database of an earlier generation is obsolete, however high its position. */
  readonly generation: number
  readonly position: number
  /** By the clock of the database. */
  readonly at: Date
  /** Whether commits waited for a standby when it was written. */
  readonly is_synchronous: boolean
}

export function isBehind(
  a: Pick<StorePosition, 'generation' | 'position'>,
  b: Pick<StorePosition, 'generation' | 'position'>,
): boolean {
  return a.generation < b.generation || (a.generation === b.generation && a.position < b.position)
}

/** The furthest position. */
export function newestOf(positions: readonly StorePosition[]): StorePosition | undefined {
  return positions.reduce<StorePosition | undefined>(
    (newest, one) => (newest === undefined || isBehind(newest, one) ? one : newest),
    undefined,
  )
}

/**
 * Advances the position unless another worker has just done so, and returns it. Undefined when the store is closed on this
 * database: its position must not change.
 */
export async function advancePosition(db: Queryable): Promise<StorePosition | undefined> {
  // A position in the future comes from a clock that was set back; the counter must not wait until then.
  const advanced = await db.maybeOne<StorePosition>(sql`
    update store_position p
       set position = p.position + 1,
           at = clock_timestamp()
      from database_identity i
     where database_is_confirmed()
       and (p.at < clock_timestamp() - interval '900 milliseconds' or p.at > clock_timestamp())
    returning i.generation, p.position, p.at, commits_wait_for_standby() as is_synchronous`)
  return (
    advanced ??
    db.maybeOne<StorePosition>(sql`
    select i.generation, p.position, p.at, commits_wait_for_standby() as is_synchronous
      from store_position p, database_identity i
     where database_is_confirmed()`)
  )
}

/** Closes the store on a database that lacks what the journal has recorded, until an operator opens it. */
export const markBehind = (db: Queryable, why: string) =>
  db.run(sql`
    update database_identity
       set behind_since = clock_timestamp(),
           behind_why = ${why}
     where behind_since is null`)

/**
 * Opens the store on a synchronous standby that was promoted, if an operator has allowed it and nothing is missing. Resolves to what is
 * in the way; null when the store is open.
 */
export const openAfterFailover = (db: Queryable, outside: StorePosition | undefined) =>
  db.one<{ obstacle: string | null }>(sql`
    select open_after_failover(${outside?.generation ?? null}, ${outside?.position ?? null}, ${outside?.at ?? null},
                               ${outside?.is_synchronous ?? null}) as obstacle`)

/** A worker has found nothing missing since this start of the server. Does nothing if it was restarted meanwhile. */
export const markCompared = (db: Queryable, start: string) =>
  db.run(sql`
    update database_identity
       set compared_start = ${start},
           journal_problem = null
     where database_start() = ${start}`)

/** From now on no order is delivered whose links are not in the journal. The caller has just compared the two. */
export const attachJournal = (db: Queryable, journal_id: string, start: string) =>
  db.run(sql`
    update database_identity
       set journal_id = ${journal_id},
           compared_start = ${start},
           journal_problem = null
     where journal_id is null
       and database_start() = ${start}`)

/** Records in the database why the store stays closed after this start of the server: only the worker can read the journal. */
export const noteJournalProblem = (db: Queryable, why: string) =>
  db.run(sql`
    update database_identity
       set journal_problem = ${why}
     where journal_problem is distinct from ${why}
       and compared_start is distinct from database_start()`)
