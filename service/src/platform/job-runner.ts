import type { Db } from './db.ts'
import { claimJobs, extendLeases, type Job, LEASE_MS, LeaseLostError, postponeJob } from './jobs.ts'
import type { Log } from './log.ts'
import { Unavailable } from './trouble.ts'

/** How a job ended. `done` means the work removed it in its own transaction. */
export type JobEnd =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again'
      readonly waitMs: number
      readonly note: string
      /** It did not go well: next time it shares a part of the hands with its like. */
      readonly isFailing?: boolean
    }
  | { readonly kind: 'parked'; readonly note: string }

export interface JobRunnerOptions {
  readonly queue: string
  readonly concurrency: number
  /** Of those at a time, shaky jobs: ones that may take long and come to nothing again. */
  readonly failingMax: number
  readonly log: Log
  work(job: Job): Promise<JobEnd>
}

export interface JobRunner {
  start(): void
  /** Takes up nothing more, lets what is under way end, and gives back what does not end in time. */
  stop(patienceMs: number): Promise<void>
}

const KEEP_EVERY_MS = 3_000
/**
 * Asking costs one look at an index. NOTIFY would spare it, but PostgreSQL lets only one transaction that notifies commit at
 * a time, and every order would be one.
 */
const POLL_MS = 100
const TROUBLE_MS = 1_000
const BROKEN_WAIT_MS = 60_000

export function createJobRunner(db: Db, options: JobRunnerOptions): JobRunner {
  const { queue, concurrency, failingMax, log, work } = options
  const underWay = new Map<Job, Promise<void>>()
  let isStopping = false
  let looping: Promise<void> | undefined
  let keeping: NodeJS.Timeout | undefined
  let wake = () => {}

  async function run(job: Job) {
    try {
      const end = await work(job)
      if (end.kind !== 'done') await postponeJob(db, job, end)
    } catch (error) {
      if (error instanceof LeaseLostError)
        return log.warn({ queue, subject: job.subject }, 'a job was taken over')
      if (error instanceof Unavailable) {
        log.warn({ err: error, queue, subject: job.subject }, 'a job was interrupted')
        // There may be no database to tell; then the lease runs out by itself.
        const note = `interrupted: ${error.message}`
        return void (await postponeJob(db, job, { waitMs: TROUBLE_MS, note }).catch(() => {}))
      }
      log.error({ err: error, queue, subject: job.subject }, 'a job failed')
      const note = 'failed on our side; see the log'
      await postponeJob(db, job, { waitMs: BROKEN_WAIT_MS, note }).catch(() => {})
    }
  }

  async function loop() {
    while (!isStopping) {
      const free = concurrency - underWay.size
      let taken: Job[] = []
      let pauseMs = POLL_MS
      try {
        if (free > 0) taken = await take(free)
      } catch (error) {
        log.warn({ err: error, queue }, 'jobs could not be taken')
        pauseMs = TROUBLE_MS
      }
      for (const job of taken) {
        const running = run(job).finally(() => {
          underWay.delete(job)
          wake()
        })
        underWay.set(job, running)
      }
      // While there is more than we can hold, the end of one job is the moment to take the next.
      const isBusy = taken.length > 0 || free === 0
      await pause(pauseMs, isBusy)
    }
  }

  /** Sound jobs first. Shaky ones get what is left, within their part: they are never the reason why a sound one waits. */
  async function take(free: number): Promise<Job[]> {
    const sound = await claimJobs(db, queue, false, free, LEASE_MS)
    const failingUnderWay = [...underWay.keys()].filter(({ is_failing }) => is_failing).length
    const left = Math.min(free - sound.length, failingMax - failingUnderWay)
    return left > 0 ? [...sound, ...(await claimJobs(db, queue, true, left, LEASE_MS))] : sound
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

  const keep = () => {
    if (underWay.size === 0) return
    extendLeases(db, queue, [...underWay.keys()], LEASE_MS).catch((error: unknown) =>
      log.warn({ err: error, queue }, 'leases could not be kept'),
    )
  }

  return {
    start() {
      looping = loop()
      keeping = setInterval(keep, KEEP_EVERY_MS)
    },
    async stop(patienceMs) {
      isStopping = true
      wake()
      await looping
      const late = new Promise<'late'>((resolve) => setTimeout(resolve, patienceMs, 'late').unref())
      await Promise.race([Promise.all(underWay.values()), late])
      clearInterval(keeping)
      if (underWay.size > 0) await extendLeases(db, queue, [...underWay.keys()], 0)
    },
  }
}
