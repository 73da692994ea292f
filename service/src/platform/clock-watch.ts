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
  /** A monotonic clock. */
  monotonicMs(): number
}

const CHUNK = 1_000
/** Without a reading for this long the offset is not known, and is not exposed. */
const OFFSET_STALE_MS = 15_000
/** Further apart than this, requests that callers sign by a correct clock are refused by one side or the other. */
const APART_MS_MAX = 60_000

export interface ClockOffset {
  /** To be called every few seconds. */
  measure(): Promise<Reading>
  /** Why callers are refused though nothing else is wrong; undefined when the clocks agree or the offset is not known. */
  problem(): string | undefined
}

/** Measures how far the clock of the database is ahead of this process's clock, and exposes it while it is known. */
export function createClockOffset({
  db,
  metrics,
  clock,
  monotonicMs,
}: Omit<ClockWatchDeps, 'log'>): ClockOffset {
  let last: Reading | undefined
  const offsetMs = () => (last && monotonicMs() - last.atMs < OFFSET_STALE_MS ? last.offsetMs : undefined)
  metrics.databaseClockOffset.from(() => {
    const known = offsetMs()
    return known === undefined ? undefined : known / 1_000
  })
  return {
    problem() {
      const apartMs = offsetMs() ?? 0
      return Math.abs(apartMs) > APART_MS_MAX ? describeOffset(apartMs) : undefined
    },
    async measure() {
      last = await readClock(db, clock, monotonicMs)
      return last
    },
  }
}

/**
 * Compares the clock of the database, by which jobs are due and leases end, with a monotonic clock; to be called every few seconds.
 * A clock that was set back freezes due work without any error, so the step itself has to be noticed. What can only be the work of such a
 * step is made due again one lease after it, and one lease after the start, for steps that happened before.
 */
export function createClockWatch(deps: ClockWatchDeps): () => Promise<void> {
  const { db, log, metrics, monotonicMs } = deps
  const offset = createClockOffset(deps)
  let last: Reading | undefined
  /** By the monotonic clock. */
  let releaseAtMs = monotonicMs() + LEASE_MS

  return async () => {
    const reading = await offset.measure()
    const stepMs = last ? stepBetween(last, reading) : 0
    last = reading
    if (stepMs !== 0) {
      metrics.databaseClockSteps.inc({ direction: stepMs < 0 ? 'back' : 'forward' })
      log.error({ step_s: stepMs / 1_000, offset_s: reading.offsetMs / 1_000 }, describeStep(stepMs))
    }
    if (stepMs < 0) releaseAtMs = reading.atMs + LEASE_MS
    if (reading.atMs < releaseAtMs) return
    const released = await releaseAll(db)
    releaseAtMs = Number.POSITIVE_INFINITY
    if (released > 0) log.error({ jobs: released }, RELEASED)
  }
}

interface Reading {
  /** By the monotonic clock, in the middle of the query. */
  readonly atMs: number
  /** The database read its clock within this much of the middle. */
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

function describeOffset(offsetMs: number): string {
  const seconds = Math.round(Math.abs(offsetMs) / 1_000)
  return (
    `the clocks of this process and of the database are ${seconds} s apart (the database is ${offsetMs > 0 ? 'ahead' : 'behind'}): ` +
    'signed requests are refused, or nonces kept for too short a time. Check the time synchronisation of both machines ' +
    '(such as chronyc tracking) and correct the one that is wrong.'
  )
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
  'jobs with due times written by a database clock that ran ahead were made due. Nothing else has to be done for them; check the clock.'
