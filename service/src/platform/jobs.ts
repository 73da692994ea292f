import { type Queryable, sql, type Tx, timed } from './db.ts'

/** One job, leased by one worker. */
export interface Job {
  readonly account_id: string
  readonly queue: string
  readonly subject: string
  /** How often it was claimed, this time included. It is the fencing token: the worker with the highest number holds the job. */
  readonly attempts: number
  readonly created_at: Date
  /** Its last run failed. */
  readonly is_failing: boolean
}

/** Another worker has the job now, because this one did not extend its lease in time. Its transaction is rolled back. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** No lease is longer. The jobs of a killed worker are due again after this time. */
export const LEASE_MS = 10_000
/** Longer than any worker postpones a job: the longest wait between two attempts of a delivery is little more than an hour. */
const DELAY_MS_MAX = 2 * 3_600_000
/** Smaller clock steps delay nothing noticeably, and time synchronisation makes them every day. */
export const CLOCK_STEP_MS_MIN = 2_000

/**
 * Claims jobs that are due and not leased: those whose last run failed, or the others.
 * - The clock is read once, in a sub-select: a volatile function cannot be compared by the index, and every job would be read.
 * - The selection is materialised. The planner may run a plain sub-select once per row of `jobs`; each run skips the rows that the run
 *   before has locked and finds other jobs, so more than `limit` would be claimed.
 * - Rows are joined by ctid. With a join by key, the planner may compare every job of the queue with every selected job.
 */
export const claimJobs = (db: Queryable, queue: string, isFailing: boolean, limit: number, leaseMs: number) =>
  db.many<Job>(
    timed(
      'claim_jobs',
      sql`
    with due as materialized (
      select ctid
        from jobs
       where queue = ${queue}
         and is_failing = ${isFailing}
         and run_at <= (select clock_timestamp())
         and (leased_until is null or leased_until <= clock_timestamp())
       order by run_at
       limit ${limit}
         for update skip locked
    )
    update jobs j
       set leased_until = clock_timestamp() + ${leaseMs}::integer * interval '1 ms',
           attempts = j.attempts + 1,
           is_woken = false
      from due
     where j.ctid = due.ctid
    returning j.account_id, j.queue, j.subject, j.attempts, j.created_at, j.is_failing`,
    ),
  )

/**
 * Extends the leases; a job that was released or claimed by another worker meanwhile is left alone. Rows are locked in the order
 * that every statement over several jobs uses: queue, account, subject.
 */
export const extendLeases = (db: Queryable, queue: string, jobs: readonly Job[], leaseMs: number) =>
  db.run(
    timed(
      'extend_leases',
      sql`
    with held as materialized (
      select j.account_id, j.subject
        from jobs j
        join unnest(${jobs.map(({ account_id }) => account_id)}::text[], ${jobs.map(({ subject }) => subject)}::text[],
                    ${jobs.map(({ attempts }) => attempts)}::integer[]) as mine (account_id, subject, attempts)
          on j.account_id = mine.account_id and j.subject = mine.subject and j.attempts = mine.attempts
       where j.queue = ${queue}
         and j.leased_until is not null
       order by j.account_id, j.subject
         for update of j
    )
    update jobs j
       set leased_until = clock_timestamp() + ${leaseMs}::integer * interval '1 ms'
      from held h
     where j.queue = ${queue}
       and j.account_id = h.account_id
       and j.subject = h.subject`,
    ),
  )

/** Removes the job in the transaction of the work itself: both are committed or neither is. */
export async function finishJob(tx: Tx, job: Job): Promise<void> {
  const removed = await tx.run(sql`
    delete from jobs
     where account_id = ${job.account_id}
       and queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}`)
  if (removed === 0) throw new LeaseLostError(`${job.queue} ${job.subject}`)
}

/**
 * Throws if another worker has claimed the job; returns whether it is still there. It is read without a lock: jobs are locked
 * last, and more locks follow here. The result holds for the rest of the transaction only if every worker locks the job's subject
 * before it does anything. A worker that claims the job after this read then waits for our commit and sees what we did; one that
 * claimed it before is seen here.
 */
export async function assertLease(tx: Tx, job: Job): Promise<boolean> {
  const found = await tx.maybeOne<{ attempts: number }>(sql`
    select attempts
      from jobs
     where account_id = ${job.account_id}
       and queue = ${job.queue}
       and subject = ${job.subject}`)
  if (found && found.attempts !== job.attempts) throw new LeaseLostError(`${job.queue} ${job.subject}`)
  return found !== undefined
}

/** The same with the job locked: no other worker claims or wakes it before the commit. The last lock of a transaction. */
export async function lockLease(tx: Tx, job: Job): Promise<void> {
  const mine = await tx.maybeOne(sql`
    select attempts
      from jobs
     where account_id = ${job.account_id}
       and queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}
       for update`)
  if (!mine) throw new LeaseLostError(`${job.queue} ${job.subject}`)
}

/** Releases the job and makes it due after `waitMs`; without one, when it is woken. A job that was woken meanwhile is due now. */
export const postponeJob = (
  db: Queryable,
  job: Job,
  { waitMs, note, isFailing = false }: { waitMs?: number; note: string; isFailing?: boolean },
) =>
  db.run(
    timed(
      'postpone_job',
      sql`
    update jobs
       set run_at = case
             when is_woken then clock_timestamp()
             else coalesce(clock_timestamp() + ${waitMs ?? null}::integer * interval '1 ms', 'infinity')
           end,
           leased_until = null,
           is_failing = ${isFailing},
           note = left(${note}, 500)
     where account_id = ${job.account_id}
       and queue = ${job.queue}
       and subject = ${job.subject}
       and attempts = ${job.attempts}`,
    ),
  )

/** Makes the job due now, whether it was scheduled, parked or did not exist. If a worker has it, it runs once more after that. */
export const wakeJob = (tx: Queryable, account_id: string, queue: string, subject: string) =>
  tx.run(sql`
    insert into jobs as j (account_id, queue, subject, run_at, created_at)
    values (${account_id}, ${queue}, ${subject}, clock_timestamp(), clock_timestamp())
        on conflict (account_id, queue, subject) do update
       set run_at = least(j.run_at, excluded.run_at),
           is_woken = true`)

export const dropJob = (tx: Tx, account_id: string, queue: string, subject: string) =>
  tx.run(sql`
    delete from jobs
     where account_id = ${account_id}
       and queue = ${queue}
       and subject = ${subject}`)

/**
 * Makes jobs due that can only be in their state because the clock was set back: leased for longer than a lease lasts, never claimed
 * and yet not due, or postponed for longer than any worker postpones. Living workers must have had the time to extend their leases
 * since the step. Changes one chunk, never waits for a lock, and returns how many jobs it changed.
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
