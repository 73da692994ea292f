import type { Clock } from './clock.ts'
import { type Db, sql } from './db.ts'
import { CLOCK_STEP_MS_MIN, LEASE_MS, releaseFrozenJobs } from './jobs.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface ClockWatchDeps {
  readonly db: Db
  readonly log: Log
  readonly metrics: Metrics
  /** This process's idea of the time of day. */
  readonly clock: Clock
  /** A clock that nobody sets. */
  monotonicMs(): number
}

const CHUNK = 1_000

/**
 * Compares the clock of the database, by which jobs are due and leases end, with one that nobody sets; to be called every few seconds.
 * A clock that was set back freezes due work without any error, so the step itself has to be noticed. What can only be the work of such a
 * step is made due again one lease after it, and one lease after the start, for steps that nobody saw.
 */
export function createClockWatch({
  db,
  log,
  metrics,
  clock,
  monotonicMs,
}: ClockWatchDeps): () => Promise<void> {
  let last: Reading | undefined
  let offsetMs = 0
  /** By the monotonic clock. */
  let releaseAtMs = monotonicMs() + LEASE_MS
  metrics.gauge(
    'shopwire_database_clock_offset_seconds',
    'How far the clock of the database is ahead of the clock of this process.',
    () => offsetMs / 1_000,
  )

  return async () => {
    const reading = await readClock(db, clock, monotonicMs)
    offsetMs = reading.offsetMs
    const stepMs = last ? stepBetween(last, reading) : 0
    last = reading
    if (stepMs !== 0) {
      metrics.databaseClockSteps.inc({ direction: stepMs < 0 ? 'back' : 'forward' })
      log.error({ step_s: stepMs / 1_000, offset_s: offsetMs / 1_000 }, describeStep(stepMs))
    }
    if (stepMs < 0) releaseAtMs = reading.atMs + LEASE_MS
    if (reading.atMs < releaseAtMs) return
    const released = await releaseAll(db)
    releaseAtMs = Number.POSITIVE_INFINITY
    if (released > 0) log.error({ jobs: released }, RELEASED)
  }
}

interface Reading {
  /** By the monotonic clock, in the middle of asking. */
  readonly atMs: number
  /** The answer was given somewhere within this much of the middle. */
  readonly doubtMs: number
  readonly databaseMs: number
  /** Ahead of this process. */
  readonly offsetMs: number
}

async function readClock(db: Db, clock: Clock, monotonicMs: () => number): Promise<Reading> {
  const askedMs = monotonicMs()
  const { now_ms } = await db.one<{ now_ms: number }>(
    sql`select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms`,
  )
  const doubtMs = (monotonicMs() - askedMs) / 2
  return {
    atMs: askedMs + doubtMs,
    doubtMs,
    databaseMs: now_ms,
    offsetMs: now_ms - (clock.nowMs() - doubtMs),
  }
}

/** Zero unless the clock went further, or less far, than slow answers could explain. */
function stepBetween(before: Reading, after: Reading): number {
  const stepMs = after.databaseMs - before.databaseMs - (after.atMs - before.atMs)
  return Math.abs(stepMs) - before.doubtMs - after.doubtMs > CLOCK_STEP_MS_MIN ? Math.round(stepMs) : 0
}

async function releaseAll(db: Db): Promise<number> {
  let released = 0
  for (;;) {
    const chunk = await releaseFrozenJobs(db, CHUNK)
    released += chunk
    if (chunk < CHUNK) return released
  }
}

function describeStep(stepMs: number): string {
  const seconds = (Math.abs(stepMs) / 1_000).toFixed(1)
  if (stepMs < 0) {
    return (
      `the clock of the database stepped back by ${seconds} s: retries and deliveries that were due wait that much longer. ` +
      `Jobs that are certainly overdue are made due in ${LEASE_MS / 1_000} s. Check the time synchronisation of the database server ` +
      '(such as chronyc tracking), or whether another server has taken over; let it slew the clock instead of setting it.'
    )
  }
  return (
    `the clock of the database stepped forward by ${seconds} s: leases ended early, and retries, refunds and closing times ` +
    'come that much sooner. Check the time synchronisation of the database server (such as chronyc tracking), or whether ' +
    'another server has taken over. A machine that was suspended sees this once when it wakes up.'
  )
}

const RELEASED =
  'jobs dated by a database clock that ran ahead were made due. Nothing else has to be done for them; check the clock.'
