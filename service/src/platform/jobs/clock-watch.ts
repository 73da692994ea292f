import type { Clock } from '../clock.ts'
import { type Db, type Queryable, sql } from '../database/db.ts'
import type { Log } from '../observability/log.ts'
import type { WorkerMetrics } from './job-metrics.ts'
import { CLOCK_STEP_MS_MIN, LEASE_MS, releaseFrozenJobs } from './jobs.ts'

export interface ClockWatchDeps {
  readonly db: Db
  readonly log: Log
  readonly metrics: Pick<WorkerMetrics, 'databaseClockOffset' | 'timeUntrusted' | 'databaseClockSteps'>
  /** This process's time of day. */
  readonly clock: Clock
  /** A monotonic clock. */
  monotonicMs(): number
}

const CHUNK = 1_000
/** Without a reading for this long the offset is unknown, and is not exposed. */
const OFFSET_STALE_MS = 15_000
/** If the clocks are further apart, requests signed by a correct clock are refused by one side or the other. */
const APART_MS_MAX = 60_000

export interface ClockOffset {
  /** Call it every few seconds. */
  measure(): Promise<Reading>
  /** Why callers are refused though nothing else is wrong; undefined when the clocks agree or the offset is unknown. */
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

/** The time that a worker's periodic work uses: the database's. */
export interface DatabaseTime extends Clock {
  /** Call it every few seconds, and once before the time is first used. */
  measure(): Promise<void>
  /** Why nothing periodic or irreversible may be done; undefined while the time can be trusted. */
  problem(): string | undefined
}

export interface DatabaseTimeDeps extends ClockWatchDeps {
  /** Identifies the start of this machine, since which its monotonic clock counts; see boot-id.ts. */
  readonly boot_id: string
  /** If no worker ran for longer than this, either the store was down or its clock is wrong: an operator has to say which. */
  readonly awayMsMax: number
}

/**
 * Reads the clock of the database and compares it with a monotonic clock, starting from the last time that could be trusted, which
 * is stored and so outlives the process. In a small installation worker and database run on one machine and their clocks step
 * together: comparing the two would not show it. A step also freezes due work or ends leases early; jobs whose state only such a
 * step explains are made due again one lease after it, and one lease after the start, for steps that happened before.
 */
export function createDatabaseTime(deps: DatabaseTimeDeps): DatabaseTime {
  const { db, clock, log, metrics, monotonicMs, boot_id, awayMsMax } = deps
  const offset = createClockOffset(deps)
  let last: Reading | undefined
  /** From this process; until it has one, from the last process on this machine. */
  let trusted: Trusted | undefined
  let accepted: number | undefined
  let problem: string | undefined
  /** By the monotonic clock. */
  let releaseAtMs = monotonicMs() + LEASE_MS
  metrics.timeUntrusted.from(() => (problem === undefined ? 0 : 1))

  async function judge(reading: Reading): Promise<string | undefined> {
    const record = await readRecord(db, boot_id)
    const isAccepted = accepted !== undefined && record.accepted !== accepted
    accepted = record.accepted
    const jumpMs = isAccepted ? 0 : jumpOf(reading, trusted, record, awayMsMax)
    if (Math.abs(jumpMs) > TRUST_MS_MAX) return describeJump(jumpMs)
    if (trusted === undefined) await deleteOldRecords(db, reading)
    trusted = reading
    await writeRecord(db, boot_id, reading)
    return Math.abs(reading.offsetMs) > TRUST_MS_MAX ? describeApart(reading.offsetMs) : undefined
  }

  async function measure(): Promise<void> {
    const reading = await offset.measure()
    const stepMs = last ? stepBetween(last, reading) : 0
    last = reading
    if (stepMs !== 0) {
      metrics.databaseClockSteps.inc({ direction: stepMs < 0 ? 'back' : 'forward' })
      log.error({ step_s: stepMs / 1_000, offset_s: reading.offsetMs / 1_000 }, describeStep(stepMs))
    }
    const found = await judge(reading)
    if (found !== problem) {
      if (found === undefined) log.warn('the time can be trusted again: periodic work continues')
      else log.error(found)
    }
    problem = found
    if (stepMs < 0) releaseAtMs = reading.atMs + LEASE_MS
    if (reading.atMs < releaseAtMs) return
    const released = await releaseAll(db)
    releaseAtMs = Number.POSITIVE_INFINITY
    if (released > 0) log.error({ jobs: released }, RELEASED)
  }

  return {
    measure,
    problem: () => problem,
    nowMs: () => (last ? Math.floor(last.databaseMs + monotonicMs() - last.atMs) : clock.nowMs()),
  }
}

/** Further than this from the expected time, the clock is not trusted. */
const TRUST_MS_MAX = 5 * 60_000
const RECORDS_KEPT_DAYS = 30

type Trusted = Pick<Reading, 'databaseMs' | 'atMs'>

interface ClockRecord {
  readonly at_ms: number | null
  readonly monotonic_ms: number | null
  /** From any machine. */
  readonly latest_ms: number | null
  readonly accepted: number
}

/** How far the clock is from where it should be, as far as this is known. */
function jumpOf(
  reading: Reading,
  trusted: Trusted | undefined,
  record: ClockRecord,
  awayMsMax: number,
): number {
  const { at_ms, monotonic_ms, latest_ms } = record
  const own = at_ms === null || monotonic_ms === null ? undefined : { databaseMs: at_ms, atMs: monotonic_ms }
  const from = trusted ?? own
  if (from) return reading.databaseMs - from.databaseMs - (reading.atMs - from.atMs)
  const sinceMs = reading.databaseMs - (latest_ms ?? reading.databaseMs)
  return sinceMs < 0 || sinceMs > awayMsMax ? sinceMs : 0
}

const readRecord = (db: Db, boot_id: string) =>
  db.one<ClockRecord>(sql`
    select floor(extract(epoch from r.at) * 1000)::bigint as at_ms, r.monotonic_ms, i.clock_accepted as accepted,
           (select floor(extract(epoch from max(at)) * 1000)::bigint from clock_records) as latest_ms
      from database_identity i
      left join clock_records r on r.boot_id = ${boot_id}`)

const writeRecord = (db: Db, boot_id: string, { databaseMs, atMs }: Trusted) =>
  db.run(sql`
    insert into clock_records (boot_id, at, monotonic_ms)
    values (${boot_id}, ${new Date(databaseMs)}, ${atMs})
        on conflict (boot_id) do update set at = excluded.at, monotonic_ms = excluded.monotonic_ms`)

/** Records of machines, or of starts of machines, that no longer exist. */
const deleteOldRecords = (db: Db, { databaseMs }: Trusted) =>
  db.run(sql`
    delete from clock_records
     where at < ${new Date(databaseMs)}::timestamptz - ${RECORDS_KEPT_DAYS} * interval '1 day'`)

/** On an operator's word: the present time is right, whatever was recorded before. */
export async function acceptClock(tx: Queryable): Promise<{ now: Date }> {
  await tx.run(sql`delete from clock_records`)
  return tx.one<{ now: Date }>(sql`
    update database_identity
       set clock_accepted = clock_accepted + 1
    returning clock_timestamp() as now`)
}

interface Reading {
  /** By the monotonic clock, halfway through the query. */
  readonly atMs: number
  /** The database read its clock within this much of that moment. */
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

/** Zero unless the clock moved more, or less, than slow answers could explain. */
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

const HELD =
  'Nothing periodic or irreversible is done: no refunds by rule, no removal of old data, no closed days, no seals. Orders, deliveries and webhooks continue.'

function describeJump(jumpMs: number): string {
  const minutes = Math.round(Math.abs(jumpMs) / 60_000)
  return (
    `the clock of the database is ${minutes} minutes ${jumpMs > 0 ? 'ahead of' : 'behind'} the time that it should show. ${HELD} If the clock is wrong, set it ` +
    'right, and work continues automatically. If it is right now, or the store was down for that long:  shopwire-admin clock accept --reason …'
  )
}

function describeApart(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / 60_000)
  return `the clock of this worker is ${minutes} minutes ${offsetMs > 0 ? 'behind' : 'ahead of'} that of the database. ${HELD} Set the one that is wrong.`
}

const RELEASED =
  'jobs with due times written by a database clock that ran ahead were made due. Nothing else has to be done for them; check the clock.'
