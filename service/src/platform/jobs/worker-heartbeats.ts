import { type Db, type Queryable, sql } from '../database/db.ts'
import type { WorkerMetrics } from './job-metrics.ts'

/** How often a worker reports; after three missed reports it counts as dead. */
export const HEARTBEAT_EVERY_MS = 3_000
const SILENT_S_MAX = 10
/** For this long after its last report a dead worker counts as missing; after that, as removed on purpose. */
const MISSED_FOR_S = 86_400

interface Heartbeat {
  /** Of the running workers, the one that started first reads and exposes the figures of the whole store. */
  readonly is_leader: boolean
}

/** The statement sees the table as it was before, so this worker is compared only with the others. */
export const recordHeartbeat = (db: Queryable, id: string) =>
  db.one<Heartbeat>(sql`
    with mine as (
      insert into worker_heartbeats (id, started_at, seen_at)
      values (${id}, clock_timestamp(), clock_timestamp())
          on conflict (id) do update
         set seen_at = excluded.seen_at
      returning id, started_at
    )
    select not exists (select
                         from worker_heartbeats w
                        where w.id <> mine.id
                          and w.stopped_at is null
                          and abs(extract(epoch from clock_timestamp() - w.seen_at)) < ${SILENT_S_MAX}::integer
                          and (w.started_at, w.id) < (mine.started_at, mine.id)) as is_leader
      from mine`)

export const recordWorkerStop = (db: Queryable, id: string) =>
  db.run(sql`
    update worker_heartbeats
       set stopped_at = clock_timestamp()
     where id = ${id}`)

/** Every start of a worker leaves a row. */
export const deleteOldHeartbeats = (db: Queryable) =>
  db.run(sql`
    delete from worker_heartbeats
     where seen_at < clock_timestamp() - ${MISSED_FOR_S}::integer * interval '1 s'`)

interface Workers {
  readonly alive: number
  /** Seconds since any worker reported; null when none is known. */
  readonly last_seen_s: number | null
  /** Workers ran within the last day and none does now: orders are accepted and not delivered. */
  readonly is_missing: boolean
}

export const readWorkers = (db: Queryable) =>
  db.one<Workers>(sql`
    select count(*) filter (where is_alive) as alive,
           extract(epoch from clock_timestamp() - max(seen_at))::float8 as last_seen_s,
           coalesce(not bool_or(is_alive)
                      and max(reported_at) < clock_timestamp() - ${SILENT_S_MAX}::integer * interval '1 s'
                      and max(reported_at) > clock_timestamp() - ${MISSED_FOR_S}::integer * interval '1 s', false) as is_missing
      from (select seen_at,
                   -- A worker that stopped in order may be starting again, so it counts as missing as late as a killed one.
                   greatest(seen_at, stopped_at) as reported_at,
                   -- A time in the future was written before the clock of the database was set back.
                   stopped_at is null
                     and abs(extract(epoch from clock_timestamp() - seen_at)) < ${SILENT_S_MAX}::integer as is_alive
              from worker_heartbeats) w`)

/** A reading older than this is not exposed. */
const STALE_MS = 15_000

/** For API processes: the metrics of a killed worker disappear with it. Call `look` every few seconds. */
export function watchWorkers(db: Db, metrics: Pick<WorkerMetrics, 'workersAlive' | 'workerLastSeen'>) {
  let known: { workers: Workers; lookedMs: number } | undefined
  const fresh = () => (known && performance.now() - known.lookedMs < STALE_MS ? known.workers : undefined)
  metrics.workersAlive.from(() => fresh()?.alive)
  metrics.workerLastSeen.from(() => fresh()?.last_seen_s ?? undefined)
  return {
    async look() {
      known = { workers: await readWorkers(db), lookedMs: performance.now() }
    },
    /** Why orders are accepted but not delivered; undefined when workers run, none ever did, or it is unknown. */
    problem: () =>
      fresh()?.is_missing
        ? 'no worker has reported for ten seconds: orders are accepted and not delivered. Start a worker, or read the end of its log'
        : undefined,
  }
}
