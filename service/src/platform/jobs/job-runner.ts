import type { Db } from '../database/db.ts'
import type { Log } from '../observability/log.ts'
import type { Span } from '../observability/tracing.ts'
import { Unavailable } from '../trouble.ts'
import { createClaimWindow } from './claim-window.ts'
import type { JobMetrics, JobOutcome } from './job-metrics.ts'
import { extendLeases, failJob, type Job, type Lane, LEASE_MS, LeaseLostError, postponeJob } from './jobs.ts'

/** How a job ended. `done` means the work removed it in its own transaction. */
export type JobEnd =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again'
      readonly waitMs: number
      readonly note: string
      /** This run failed. Next time the job may only use the slots for failing jobs. */
      readonly isFailing?: boolean
    }
  | { readonly kind: 'parked'; readonly note: string }

export interface JobRunnerOptions {
  readonly queue: string
  /** The name of the job's subject in log lines, such as `order_id`. */
  readonly subjectName: string
  /** How many jobs run at a time. */
  readonly concurrency: number
  /**
   * How many of the slots may be used by jobs that became due in large numbers: no other job waits for them. Without it, there are
   * none.
   */
  readonly backlogMax?: number
  /** How many of the slots may be used by jobs whose last run failed: they may take long and fail again. Without it, there are none. */
  readonly failingMax?: number
  /** After so many failures in a row a job is a dead letter. */
  readonly failuresMax?: number
  /** How soon a job that became due is noticed while there are none. */
  readonly pollMs?: number
  readonly log: Log
  readonly metrics: Pick<JobMetrics, 'jobsClaimed' | 'jobsEnded' | 'deadLetters'>
  /** Begins the span of a run, while tracing is on. */
  trace?: ((job: Job) => Promise<Span>) | undefined
  work(job: Job, span?: Span): Promise<JobEnd>
}

export interface JobRunner extends Pick<JobRunnerOptions, 'queue' | 'concurrency'> {
  start(): void
  /** Stops claiming, waits for running jobs, and releases those that do not end in time. */
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
/** While jobs keep coming, a job that has just become due waits a quarter of that. */
const POLL_SOON_MS = 25
const SOON_FOR_MS = 1_000
/** A job that ends often makes another one due; but claims one by one would cost more than the jobs. */
const POLL_AFTER_JOB_MS = 10
/** A claim on a busy database takes longer; so it comes less often and brings more jobs, each of which then costs less. */
const CLAIM_SHARE_MAX = 1 / 8
/** Jobs of a backlog and failing ones are in no hurry: while there are none, their lanes are looked at this often. */
const LANE_EMPTY_MS = 500
const UNAVAILABLE_WAIT_MS = 1_000
/** Doubled with every failure in a row. Together they leave more than an hour to fix the cause. */
const FAILED_WAIT_MS_MIN = 5_000
const FAILED_WAIT_MS_MAX = 600_000
const FAILURES_MAX = 15
const ENDED = { done: 'done', again: 'postponed', parked: 'parked' } as const

export function createJobRunner(db: Db, options: JobRunnerOptions): JobRunner {
  const {
    queue,
    subjectName,
    concurrency,
    backlogMax = 0,
    failingMax = 0,
    failuresMax = FAILURES_MAX,
    pollMs = POLL_MS,
    log,
    metrics,
    trace,
    work,
  } = options
  const running = new Map<Job, Promise<void>>()
  const claimFrom: Readonly<Record<Lane, ReturnType<typeof createClaimWindow>>> = {
    usual: createClaimWindow(db, queue, 'usual'),
    backlog: createClaimWindow(db, queue, 'backlog'),
    failing: createClaimWindow(db, queue, 'failing'),
  }
  const emptyUntilMs = { usual: 0, backlog: 0, failing: 0 }
  let isStopping = false
  let looping: Promise<void> | undefined
  let extending: NodeJS.Timeout | undefined
  let wake = () => {}

  async function run(job: Job) {
    const startedMs = performance.now()
    const span = await trace?.(job)
    try {
      const end = await work(job, span)
      if (end.kind !== 'done') await postponeJob(db, job, end)
      metrics.jobsEnded.inc({ queue, outcome: ENDED[end.kind] })
      span?.end()
    } catch (error) {
      span?.end(outcomeOf(error))
      await endWithError(job, error, startedMs, span)
    }
  }

  /** The only log line of a failed run: the work itself logs when it returns. */
  async function endWithError(job: Job, error: unknown, startedMs: number, span: Span | undefined) {
    const outcome = outcomeOf(error)
    metrics.jobsEnded.inc({ queue, outcome })
    const line = {
      queue,
      account_id: job.account_id,
      [subjectName]: job.subject,
      attempt: job.attempts,
      outcome,
      duration_ms: Math.round(performance.now() - startedMs),
      ...span?.fields,
    }
    if (error instanceof LeaseLostError)
      return log.warn({ ...line, next: 'done_by_other_worker' }, 'job lost its lease')
    if (outcome === 'failed') return endWithFailure(job, error, line)
    const waitMs = UNAVAILABLE_WAIT_MS
    log.warn({ ...line, next: 'retry', retry_in_s: waitMs / 1_000, err: error }, 'job interrupted')
    const note = `interrupted: ${(error as Error).message}`
    // The database may be unreachable; then the lease expires.
    await postponeJob(db, job, { waitMs, note }).catch(() => {})
  }

  async function endWithFailure(job: Job, error: unknown, line: object) {
    const waitMs = Math.min(FAILED_WAIT_MS_MAX, FAILED_WAIT_MS_MIN * 2 ** job.failures)
    const note = `failed on our side (${nameError(error)}); see the log`
    const failed = await failJob(db, job, { waitMs, note, failuresMax }).catch(() => undefined)
    if (failed?.is_dead) {
      metrics.deadLetters.inc({ queue })
      const facts = { ...line, next: 'dead_letter', failures: job.failures + 1, err: error }
      log.error(facts, 'job failed too often and is a dead letter: see "shopwire-admin jobs dead"')
    } else {
      log.error({ ...line, next: 'retry', retry_in_s: waitMs / 1_000, err: error }, 'job failed')
    }
  }

  async function loop() {
    let claimedMs = Number.NEGATIVE_INFINITY
    while (!isStopping) {
      const free = concurrency - running.size
      let claimed: readonly Job[] = []
      let isReachable = true
      const startedMs = performance.now()
      try {
        if (free > 0) claimed = await claim(free)
      } catch (error) {
        log.warn({ err: error, queue }, 'jobs could not be claimed')
        isReachable = false
      }
      if (claimed.length > 0) {
        claimedMs = performance.now()
        metrics.jobsClaimed.inc({ queue }, claimed.length)
      }
      for (const job of claimed) {
        const ended = run(job).finally(() => {
          running.delete(job)
          wake()
        })
        running.set(job, ended)
      }
      const claimMs = performance.now() - startedMs
      // While more jobs are due than there are slots, the next is claimed when one ends.
      const afterJobMs = claimed.length >= free ? 0 : claimed.length > 0 ? POLL_AFTER_JOB_MS : undefined
      const soonMs = Math.min(pollMs, Math.max(POLL_SOON_MS, claimMs / CLAIM_SHARE_MAX))
      const nextMs = performance.now() - claimedMs < SOON_FOR_MS ? soonMs : pollMs
      await pause(isReachable ? nextMs : UNAVAILABLE_WAIT_MS, afterJobMs)
    }
  }

  /**
   * The backlog is claimed first, up to its share, so that it makes progress however much else is due; it never gets the other
   * slots. Failing jobs get what is left, within their share: no other job waits because of them.
   */
  async function claim(free: number): Promise<readonly Job[]> {
    const holding = (is: (job: Job) => boolean) => [...running.keys()].filter(is).length
    const claimed: Job[] = []
    const take = async (lane: Lane, limit: number) => {
      if (limit <= 0 || performance.now() < emptyUntilMs[lane]) return
      const jobs = await claimFrom[lane](limit)
      claimed.push(...jobs)
      if (jobs.length === 0 && lane !== 'usual') emptyUntilMs[lane] = performance.now() + LANE_EMPTY_MS
    }
    await take('backlog', Math.min(free, backlogMax - holding(({ is_backlog }) => is_backlog)))
    await take('usual', free - claimed.length)
    await take(
      'failing',
      Math.min(free - claimed.length, failingMax - holding(({ is_failing }) => is_failing)),
    )
    return claimed
  }

  /** Shorter when a job ends: `afterJobMs` at least, or not at all. */
  function pause(ms: number, afterJobMs: number | undefined): Promise<void> {
    const startedMs = performance.now()
    return new Promise((resolve) => {
      let timer = setTimeout(resolve, ms)
      wake = () => {
        if (afterJobMs === undefined && !isStopping) return
        const restMs = isStopping ? 0 : startedMs + (afterJobMs ?? 0) - performance.now()
        clearTimeout(timer)
        wake = () => {}
        if (restMs <= 0) resolve()
        else timer = setTimeout(resolve, restMs)
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
    queue,
    concurrency,
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

/** For an operator's list. Never the message of an unknown error: it may contain values. */
function nameError(error: unknown): string {
  const { name, code, constraint } = error as { name?: unknown; code?: unknown; constraint?: unknown }
  return [name, code, constraint].filter((part) => typeof part === 'string').join(' ')
}
