import { type Queryable, sql, type Tx } from './db.ts'

/** One job in the hands of one worker. */
export interface Job {
  readonly account_id: string
  readonly queue: string
  readonly subject: string
  /** Which taking up of the job this is; whoever took it up later has the say. */
  readonly attempts: number
  readonly created_at: Date
  /** It did not go well last time. */
  readonly is_failing: boolean
}

/** Another worker has the job now, because this one was silent for longer than its lease. What it was about to do is void. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** No lease is ever longer. A killed worker's jobs are due again after this long. */
export const LEASE_MS = 10_000
/** Longer than any worker ever postpones a job: the longest wait between two attempts of a delivery is little more than an hour. */
const DELAY_MS_MAX = 2 * 3_600_000
/** Smaller steps of a clock delay nothing that anybody would notice, and clocks are corrected by them every day. */
export const CLOCK_STEP_MS_MIN = 2_000

/**
 * Takes up jobs that are due and in nobody's hands: sound ones, or shaky ones.
 * - The clock is asked in a sub-select, once: as a volatile function it could not be compared by the index, and every job would be read.
 * - The selection is materialised. As a plain sub-select the planner may run it once per row of `jobs`; each run skips what the one before
 *   has locked and finds other jobs, so the limit would hold for none of them.
 * - Rows are found again by their place. By their key, the planner may compare every job of the queue with every job selected.
 */
export const claimJobs = (db: Queryable, queue: string, isFailing: boolean, limit: number, leaseMs: number) =>
  db.many<Job>(sql`
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
    returning j.account_id, j.queue, j.subject, j.attempts, j.created_at, j.is_failing`)

/**
 * Moves the end of the leases; a job that was given back or taken over meanwhile is left alone. Locked in the order of
 * everyone who locks several jobs: queue, account, subject.
 */
export const extendLeases = (db: Queryable, queue: string, jobs: readonly Job[], leaseMs: number) =>
  db.run(sql`
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
       and j.subject = h.subject`)

/** In the transaction of the work itself: both are done or neither is. */
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
 * Fails if another worker has the job; answers whether it is still there. It is read without a lock: jobs are locked last, and
 * more locks follow here. The answer holds for the rest of the transaction only if every worker locks the job's subject before
 * it does anything. A worker that takes the job over after this read then waits for our commit and sees what we did; one that
 * took it over before is seen here.
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

/** The same with the job locked: nobody takes it over or wakes it before the commit. The last lock of a transaction. */
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

/** Gives the job back, to be tried after a while; without one, when somebody wakes it. Who was woken meanwhile is due now. */
export const postponeJob = (
  db: Queryable,
  job: Job,
  { waitMs, note, isFailing = false }: { waitMs?: number; note: string; isFailing?: boolean },
) =>
  db.run(sql`
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
       and attempts = ${job.attempts}`)

/** Due at once, whether it was waiting, parked or not there. If a worker has it, it is looked at again after that. */
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
 * Makes jobs due that only a clock which was set back can have left as they are: leased for longer than a lease lasts, never taken up
 * and yet not due, or postponed for longer than anybody postpones. Workers that live must have had the time to move their leases since
 * the step. Takes one chunk and never waits for a lock; answers with how many there were.
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
