import type { Db } from './db.ts'
import { claimJobs, extendLeases, type Job, LEASE_MS, LeaseLostError, postponeJob } from './jobs.ts'
import type { Log } from './log.ts'
import type { JobOutcome, Metrics } from './metrics.ts'
import { Unavailable } from './trouble.ts'

/** How a job ended. `done` means the work removed it in its own transaction. */
export type JobEnd =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again'
      readonly waitMs: number
      readonly note: string
      /** This run failed. Next time the job gets only the share of the slots that failing jobs have. */
      readonly isFailing?: boolean
    }
  | { readonly kind: 'parked'; readonly note: string }

export interface JobRunnerOptions {
  readonly queue: string
  /** What the subject of its jobs is called in log lines, such as `order_id`. */
  readonly subjectName: string
  /** Slots: how many jobs run at a time. */
  readonly concurrency: number
  /** Of the slots, how many jobs may have whose last run failed: they may take long and fail again. */
  readonly failingMax: number
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jobsClaimed' | 'jobsEnded'>
  work(job: Job): Promise<JobEnd>
}

export interface JobRunner {
  start(): void
  /** Claims nothing more, waits for running jobs, and releases those that do not end in time. */
  stop(patienceMs: number): Promise<void>
  /** Jobs running now. */
  running(): number
}

const EXTEND_EVERY_MS = 3_000
/**
 * A poll costs one index scan. NOTIFY would avoid it, but PostgreSQL lets only one transaction that notifies commit at
 * a time, and every order would be one.
 */
const POLL_MS = 100
const UNAVAILABLE_WAIT_MS = 1_000
const FAILED_WAIT_MS = 60_000
const ENDED = { done: 'done', again: 'postponed', parked: 'parked' } as const

export function createJobRunner(db: Db, options: JobRunnerOptions): JobRunner {
  const { queue, subjectName, concurrency, failingMax, log, metrics, work } = options
  const running = new Map<Job, Promise<void>>()
  let isStopping = false
  let looping: Promise<void> | undefined
  let extending: NodeJS.Timeout | undefined
  let wake = () => {}

  async function run(job: Job) {
    const startedMs = performance.now()
    try {
      const end = await work(job)
      if (end.kind !== 'done') await postponeJob(db, job, end)
      metrics.jobsEnded.inc({ queue, outcome: ENDED[end.kind] })
    } catch (error) {
      await endWithError(job, error, startedMs)
    }
  }

  /** The only log line of a run that failed: the work itself logs when it returns. */
  async function endWithError(job: Job, error: unknown, startedMs: number) {
    const outcome = outcomeOf(error)
    metrics.jobsEnded.inc({ queue, outcome })
    const line = {
      queue,
      account_id: job.account_id,
      [subjectName]: job.subject,
      attempt: job.attempts,
      outcome,
      duration_ms: Math.round(performance.now() - startedMs),
    }
    if (error instanceof LeaseLostError)
      return log.warn({ ...line, next: 'done_by_other_worker' }, 'job lost its lease')
    const isOurs = outcome === 'failed'
    const waitMs = isOurs ? FAILED_WAIT_MS : UNAVAILABLE_WAIT_MS
    const facts = { ...line, next: 'retry', retry_in_s: waitMs / 1_000, err: error }
    if (isOurs) log.error(facts, 'job failed')
    else log.warn(facts, 'job interrupted')
    const note = isOurs ? 'failed on our side; see the log' : `interrupted: ${(error as Error).message}`
    // The database may be unreachable; then the lease expires.
    await postponeJob(db, job, { waitMs, note }).catch(() => {})
  }

  async function loop() {
    while (!isStopping) {
      const free = concurrency - running.size
      let claimed: Job[] = []
      let pauseMs = POLL_MS
      try {
        if (free > 0) claimed = await claim(free)
      } catch (error) {
        log.warn({ err: error, queue }, 'jobs could not be claimed')
        pauseMs = UNAVAILABLE_WAIT_MS
      }
      if (claimed.length > 0) metrics.jobsClaimed.inc({ queue }, claimed.length)
      for (const job of claimed) {
        const ended = run(job).finally(() => {
          running.delete(job)
          wake()
        })
        running.set(job, ended)
      }
      // While more jobs are due than there are slots, the end of one job is the moment to claim the next.
      const isBusy = claimed.length > 0 || free === 0
      await pause(pauseMs, isBusy)
    }
  }

  /** Failing jobs get the slots that are left, within their share: no other job waits because of them. */
  async function claim(free: number): Promise<Job[]> {
    const claimed = await claimJobs(db, queue, false, free, LEASE_MS)
    const failingNow = [...running.keys()].filter(({ is_failing }) => is_failing).length
    const left = Math.min(free - claimed.length, failingMax - failingNow)
    return left > 0 ? [...claimed, ...(await claimJobs(db, queue, true, left, LEASE_MS))] : claimed
  }

  function pause(ms: number, untilJobEnds: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        if (!untilJobEnds && !isStopping) return
        clearTimeout(timer)
        resolve()
      }
    })
  }

  const extend = () => {
    if (running.size === 0) return
    extendLeases(db, queue, [...running.keys()], LEASE_MS).catch((error: unknown) =>
      log.warn({ err: error, queue }, 'leases could not be extended'),
    )
  }

  return {
    start() {
      looping = loop()
      extending = setInterval(extend, EXTEND_EVERY_MS)
    },
    async stop(patienceMs) {
      isStopping = true
      wake()
      await looping
      const late = new Promise<'late'>((resolve) => setTimeout(resolve, patienceMs, 'late').unref())
      await Promise.race([Promise.all(running.values()), late])
      clearInterval(extending)
      if (running.size > 0) await extendLeases(db, queue, [...running.keys()], 0)
    },
    running: () => running.size,
  }
}

function outcomeOf(error: unknown): JobOutcome {
  if (error instanceof LeaseLostError) return 'lease_lost'
  return error instanceof Unavailable ? 'interrupted' : 'failed'
}
