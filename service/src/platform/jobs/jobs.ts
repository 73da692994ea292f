import { type Queryable, sql, type Tx, timed } from '../database/db.ts'
import { assert } from '../trouble.ts'
import { JOB_STATEMENTS } from './job-metrics.ts'

/** One job, leased by one worker. */
export interface Job {
  /** Empty for work of no account, such as mail. */
  readonly account_id: string
  readonly queue: string
  readonly subject: string
  /** How often it was claimed, including this time. It is the fencing token: the worker with the highest number holds the job. */
  readonly attempts: number
  readonly created_at: Date
  /** Its last run failed. */
  readonly is_failing: boolean
  /** It is one of many that became due together. */
  readonly is_backlog: boolean
  /** How often in a row it failed because of a defect of ours. */
  readonly failures: number
}

/** Another worker has the job now, because this one did not extend its lease in time. Its transaction is rolled back. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** The length of a lease. The jobs of a killed worker are due again after this time. */
export const LEASE_MS = 10_000
const NEVER = '-infinity'
/** Longer than any worker postpones a job: the longest wait between two attempts of a delivery is little more than an hour. */
const DELAY_MS_MAX = 2 * 3_600_000
/** Smaller clock steps cause no noticeable delay, and time synchronisation makes them every day. */
export const CLOCK_STEP_MS_MIN = 2_000

/**
 * Which part of a worker's slots a job may use. `backlog`: one of many that became due together. `failing`: its last run failed,
 * and the next may take long and fail again.
 */
export type Lane = 'usual' | 'backlog' | 'failing'

export interface Claimed {
  readonly jobs: readonly ClaimedJob[]
  /** By the clock of the database: jobs due up to this time were considered. */
  readonly asOf: Date
}

export type ClaimedJob = Job & { readonly run_at: Date }

/**
 * Claims jobs of a lane that are due and not leased. With `after`, only those that became due later than that, which skips the dead
 * index entries that a long-held snapshot keeps (claim-window.ts says when that is enough).
 * - The clock is read once, and joined: an index cannot be searched for a volatile function, so every job would be read.
 * - The selection is materialised. The planner may run a plain sub-select once per row of `jobs`; each run skips the rows that the
 *   previous run locked and finds other jobs, so more than `limit` would be claimed.
 * - Rows are joined by ctid. With a join by key, the planner may compare every job of the queue with every selected job.
 */
export async function claimJobs(
  db: Queryable,
  queue: string,
  lane: Lane,
  { limit, leaseMs, after }: { limit: number; leaseMs: number; after?: Date | undefined },
): Promise<Claimed> {
  const rows = await db.many<{ as_of: Date } & (ClaimedJob | { subject: null })>(
    timed(
      JOB_STATEMENTS.claimJobs,
      sql`
    with clock as materialized (
      select clock_timestamp() as now
    ), due as materialized (
      select ctid
        from jobs
       where queue = ${queue}
         and is_failing = ${lane === 'failing'}
         and is_backlog = ${lane === 'backlog'}
         and run_at > ${after ?? NEVER}::timestamptz
         and run_at <= (select now from clock)
         and (leased_until is null or leased_until <= clock_timestamp())
       order by run_at
       limit ${limit}
         for update skip locked
    ), claimed as (
      update jobs j
         set leased_until = clock_timestamp() + ${leaseMs}::integer * interval '1 ms',
             attempts = j.attempts + 1,
             is_woken = false,
             dead_at = null
        from due
       where j.ctid = due.ctid
      returning coalesce(j.account_id, '') as account_id, j.queue, j.subject, j.attempts, j.created_at, j.is_failing, j.is_backlog,
                j.failures, j.run_at
    )
    select clock.now as as_of, c.account_id, c.queue, c.subject, c.attempts, c.created_at, c.is_failing, c.is_backlog, c.failures,
           c.run_at
      from clock
      left join claimed c on true`,
    ),
  )
  const [first] = rows
  assert(first, 'the clock is one row')
  return {
    asOf: first.as_of,
    jobs: rows.filter((row): row is { as_of: Date } & ClaimedJob => row.subject !== null),
  }
}

export interface OldestDue {
  readonly due_at: Date | null
  readonly isOverdue: boolean
}

/** How long a due job may wait for a worker before callers are told that work piles up. */
export const OVERDUE_S = 60

/** When the oldest unclaimed job became due, of those whose last run did not fail; null: none is due. */
export const readOldestDue = (db: Queryable, queue: string) =>
  db.one<OldestDue>(sql`
    select d.run_at as due_at,
           coalesce(d.run_at < clock_timestamp() - ${OVERDUE_S}::integer * interval '1 s', false) as "isOverdue"
      from (select min(oldest.run_at) as run_at
              from (values (false), (true)) as lane (is_backlog)
             cross join lateral (select run_at
                                   from jobs
                                  where queue = ${queue}
                                    and is_failing = false
                                    and is_backlog = lane.is_backlog
                                    and run_at <= (select clock_timestamp())
                                    and (leased_until is null or leased_until <= clock_timestamp())
                                  order by run_at
                                  limit 1) oldest) d`)

/**
 * Extends the leases; a job that was released or claimed by another worker meanwhile is left alone. A lease of 0 ms gives the job
 * back, due now. Rows are locked in the order that every statement on several jobs uses: queue, account, subject.
 */
export const extendLeases = (db: Queryable, queue: string, jobs: readonly Job[], leaseMs: number) =>
  db.run(
    timed(
      JOB_STATEMENTS.extendLeases,
      sql`
    with held as materialized (
      select j.subject
        from jobs j
        join unnest(${jobs.map(({ subject }) => subject)}::text[], ${jobs.map(({ attempts }) => attempts)}::integer[])
               as mine (subject, attempts)
          on j.subject = mine.subject and j.attempts = mine.attempts
       where j.queue = ${queue}
         and j.leased_until is not null
       order by j.account_id, j.subject
         for update of j
    )
    update jobs j
       set leased_until = clock_timestamp() + ${leaseMs}::integer * interval '1 ms',
           run_at = case when ${leaseMs}::integer = 0 then clock_timestamp() else j.run_at end
      from held h
     where j.queue = ${queue}
       and j.subject = h.subject`,
    ),
  )

/** Removes the job in the transaction of the work itself, so that both are committed or neither is. */
export async function finishJob(tx: Tx, job: Job): Promise<void> {
  const removed = await tx.run(sql`
    delete from jobs
     where queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}`)
  if (removed === 0) throw new LeaseLostError(`${job.queue} ${job.subject}`)
}

/**
 * Throws if another worker has claimed the job; returns whether the job still exists. It is read without a lock: jobs are locked
 * last, and the transaction still takes other locks. The result holds for the rest of the transaction only if every worker locks
 * the job's subject before it does anything. A worker that claims the job after this read then waits for our commit and sees what
 * we did; a claim made before it is seen here.
 */
export async function assertLease(tx: Tx, job: Job): Promise<boolean> {
  const found = await tx.maybeOne<{ attempts: number }>(sql`
    select attempts
      from jobs
     where queue = ${job.queue}
       and subject = ${job.subject}`)
  if (found && found.attempts !== job.attempts) throw new LeaseLostError(`${job.queue} ${job.subject}`)
  return found !== undefined
}

/** The same with the job locked: no other worker claims or wakes it before the commit. The last lock of a transaction. */
export async function lockLease(tx: Tx, job: Job): Promise<void> {
  const mine = await tx.maybeOne(sql`
    select attempts
      from jobs
     where queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}
       for update`)
  if (!mine) throw new LeaseLostError(`${job.queue} ${job.subject}`)
}

/** Releases the job and makes it due after `waitMs`, or without it, when it is woken. A job that was woken meanwhile is due now. */
export const postponeJob = (
  db: Queryable,
  job: Job,
  { waitMs, note, isFailing = false }: { waitMs?: number; note: string; isFailing?: boolean },
) =>
  db.run(
    timed(
      JOB_STATEMENTS.postponeJob,
      sql`
    update jobs
       set run_at = case
             when is_woken then clock_timestamp()
             else coalesce(clock_timestamp() + ${waitMs ?? null}::integer * interval '1 ms', 'infinity')
           end,
           leased_until = null,
           is_failing = ${isFailing},
           is_backlog = is_backlog and is_woken,
           failures = 0,
           note = left(${note}, 500)
     where queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}`,
    ),
  )

/**
 * Releases a job that failed because of a defect, due again after `waitMs`. After `failuresMax` failures in a row it becomes a dead
 * letter, unless it was woken meanwhile. Returns whether it did; undefined when another worker has the job.
 */
export const failJob = (
  db: Queryable,
  job: Job,
  { waitMs, note, failuresMax }: { waitMs: number; note: string; failuresMax: number },
) =>
  db.maybeOne<{ is_dead: boolean }>(sql`
    update jobs
       set run_at = case
             when is_woken then clock_timestamp()
             when failures + 1 >= ${failuresMax} then 'infinity'
             else clock_timestamp() + ${waitMs}::integer * interval '1 ms'
           end,
           dead_at = case when failures + 1 >= ${failuresMax} and not is_woken then clock_timestamp() end,
           failures = failures + 1,
           leased_until = null,
           note = left(${note}, 500)
     where queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}
    returning dead_at is not null as is_dead`)

export interface DeadLetter
  extends Pick<Job, 'account_id' | 'queue' | 'subject' | 'attempts' | 'failures' | 'created_at'> {
  readonly dead_at: Date
  /** Why it failed the last time. */
  readonly note: string | null
}

/** The oldest first. */
export const selectDeadLetters = (db: Queryable, limit: number) =>
  db.many<DeadLetter>(sql`
    select coalesce(account_id, '') as account_id, queue, subject, attempts, failures, created_at, dead_at, note
      from jobs
     where run_at = 'infinity'
       and dead_at is not null
     order by dead_at, queue, subject
     limit ${limit}`)

export const selectDeadLetter = (db: Queryable, subject: string) =>
  db.maybeOne<DeadLetter>(sql`
    select coalesce(account_id, '') as account_id, queue, subject, attempts, failures, created_at, dead_at, note
      from jobs
     where subject = ${subject}
       and run_at = 'infinity'
       and dead_at is not null`)

/** Makes dead letters due again, in the backlog lane: all of a queue, or the one about a subject. */
export const retryDeadLetters = (tx: Tx, queue: string, subject: string | null) =>
  tx.many<Pick<Job, 'subject'>>(sql`
    with held as materialized (
      select subject
        from jobs
       where queue = ${queue}
         and run_at = 'infinity'
         and dead_at is not null
         and subject = coalesce(${subject}::text, subject)
       order by account_id, subject
         for update
    )
    update jobs j
       set run_at = clock_timestamp(),
           is_backlog = true,
           failures = 0,
           dead_at = null
      from held h
     where j.queue = ${queue}
       and j.subject = h.subject
    returning j.subject`)

/** Makes the job due now, whether it was scheduled, parked or did not exist. If a worker has it, it runs once more afterwards. */
export const wakeJob = (tx: Queryable, account_id: string, queue: string, subject: string) =>
  tx.run(sql`
    insert into jobs as j (account_id, queue, subject, run_at, created_at)
    values (${account_id}, ${queue}, ${subject}, clock_timestamp(), clock_timestamp())
        on conflict (queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true`)

export const dropJob = (tx: Tx, queue: string, subject: string) =>
  tx.run(sql`
    delete from jobs
     where queue = ${queue}
       and subject = ${subject}`)

/**
 * Makes jobs due whose state only a clock that was set back explains: leased for longer than a lease lasts, never claimed and yet
 * not due, or postponed for longer than any worker postpones. Running workers must have had the time to extend their leases since
 * the step. Changes one chunk, never waits for a lock, and returns how many jobs it changed.
 */
export const releaseFrozenJobs = (db: Queryable, limit: number) =>
  db.run(sql`
    with frozen as materialized (
      select ctid
        from jobs
       where leased_until > clock_timestamp() + ${LEASE_MS + CLOCK_STEP_MS_MIN}::integer * interval '1 ms'
          or (leased_until is null
              and run_at < 'infinity'
              and run_at > clock_timestamp() + case when attempts = 0 then ${CLOCK_STEP_MS_MIN}::integer else ${DELAY_MS_MAX}::integer end
                                               * interval '1 ms')
       limit ${limit}
         for update skip locked
    )
    update jobs j
       set run_at = least(j.run_at, clock_timestamp()),
           leased_until = null
      from frozen
     where j.ctid = frozen.ctid`)
