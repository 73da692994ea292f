import type { DatabaseMetrics } from './database-metrics.ts'
import { type Db, type Queryable, sql } from './db.ts'

interface Standby {
  readonly standby: string
  readonly is_connected: boolean
  /** Positions in the WAL, in bytes; null when this role may not see them. */
  readonly replayed: number | null
  readonly written: number
}

/** A reading older than this is not exposed. */
const STALE_MS = 30_000
const POSITIONS_MAX = 4_000

/**
 * How far standbys are behind, in time. PostgreSQL's own `replay_lag` keeps its last value while a standby replays nothing, which
 * is exactly when it matters. So each position of the primary is recorded with the time at which it was first seen: a standby's lag
 * is the age of the first position that it has not replayed. Call it every few seconds.
 */
export function createReplicationWatch({
  db,
  metrics,
  isLeader,
  monotonicMs = () => performance.now(),
}: {
  readonly db: Db
  readonly metrics: Pick<DatabaseMetrics, 'replicationLag' | 'replicationConnected'>
  /** One worker reports for all. */
  isLeader(): boolean
  monotonicMs?(): number
}): () => Promise<void> {
  let positions: { written: number; seenMs: number }[] = []
  let known: { standbys: readonly Standby[]; readMs: number } | undefined
  const fresh = () =>
    isLeader() && known && monotonicMs() - known.readMs < STALE_MS ? known.standbys : undefined
  const lagSeconds = (replayed: number) => {
    const missing = positions.find(({ written }) => written > replayed)
    return missing && known ? (known.readMs - missing.seenMs) / 1_000 : 0
  }
  metrics.replicationConnected.from(() =>
    (fresh() ?? []).map(({ standby, is_connected }) => [{ standby }, is_connected ? 1 : 0] as const),
  )
  metrics.replicationLag.from(() =>
    (fresh() ?? []).flatMap(({ standby, replayed }) =>
      replayed === null ? [] : [[{ standby }, lagSeconds(replayed)] as const],
    ),
  )

  return async () => {
    if (!isLeader()) {
      known = undefined
      positions = []
      return
    }
    const standbys = await selectStandbys(db)
    known = { standbys, readMs: monotonicMs() }
    const { written } = standbys[0] ?? {}
    if (written === undefined) positions = []
    else if (written !== positions.at(-1)?.written) positions.push({ written, seenMs: known.readMs })
    // A standby is down for days: keeping every other position is precise enough.
    if (positions.length > POSITIONS_MAX) positions = positions.filter((_, index) => index % 2 === 0)
    const behind = standbys.flatMap(({ replayed }) => replayed ?? [])
    positions = positions.filter(({ written: at }) => at === written || at > Math.min(...behind))
  }
}

const selectStandbys = (db: Queryable) =>
  db.many<Standby>(sql`
    select standby, is_connected, replayed, written
      from replication_standbys()`)
