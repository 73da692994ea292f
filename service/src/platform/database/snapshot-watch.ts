import type { Log } from '../observability/log.ts'
import { createReminder } from '../observability/reminder.ts'
import type { DatabaseMetrics } from './database-metrics.ts'
import { type Db, type Queryable, sql } from './db.ts'

/** What keeps dead rows from being removed: a session, a prepared transaction or a replication slot. */
interface Holder {
  readonly kind: 'session' | 'prepared transaction' | 'replication slot'
  /** The pid of a session, the name of the others. */
  readonly name: string
  readonly application_name: string | null
  readonly role: string | null
  readonly state: string | null
  /** The oldest transaction whose rows may still be visible to it. */
  readonly horizon: string
}

const OLD_MS = 60_000
const REMIND_EVERY_MS = 300_000

/**
 * Warns when the same snapshot has been held for a minute, and names the session. Every row that is deleted or updated meanwhile
 * stays in its table and indexes: orders continue, but everything slows down until the session ends. Call it every few seconds.
 */
export function createSnapshotWatch({
  db,
  log,
  metrics,
  isLeader,
  monotonicMs = () => performance.now(),
}: {
  readonly db: Db
  readonly log: Log
  readonly metrics: Pick<DatabaseMetrics, 'oldestSnapshot'>
  /** One worker reports for all. */
  isLeader(): boolean
  monotonicMs?(): number
}): () => Promise<void> {
  const reminder = createReminder(REMIND_EVERY_MS, monotonicMs)
  let seen: { id: string; sinceMs: number } | undefined
  let heldMs = 0
  metrics.oldestSnapshot.from(() => (isLeader() ? heldMs / 1_000 : undefined))

  return async () => {
    if (!isLeader()) {
      seen = undefined
      return
    }
    const holder = await selectOldestHolder(db)
    const nowMs = monotonicMs()
    const id = holder && `${holder.kind} ${holder.name} ${holder.horizon}`
    if (id === undefined || seen?.id !== id) {
      reminder.reset()
      seen = id === undefined ? undefined : { id, sinceMs: nowMs }
    }
    const ageMs = seen ? nowMs - seen.sinceMs : 0
    heldMs = ageMs >= OLD_MS ? ageMs : 0
    if (!holder || !seen || heldMs === 0 || !reminder.isDue(seen.id)) return
    const { kind, name, application_name, role, state } = holder
    log.warn(
      { holder: kind, name, application_name, role, state, held_s: Math.round(ageMs / 1_000) },
      'a session holds an old snapshot: rows that were deleted or changed since cannot be removed. A backup ends on its own; ' +
        'end a forgotten session with pg_terminate_backend, a prepared transaction with rollback prepared, an unused slot with ' +
        'pg_drop_replication_slot',
    )
  }
}

const selectOldestHolder = (db: Queryable) =>
  db.maybeOne<Holder>(sql`
    select kind, name, application_name, role, state, horizon
      from oldest_snapshot()`)
