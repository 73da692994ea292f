import type { Queryable } from '../database/db.ts'
import { type ClaimedJob, claimJobs, type Lane, LEASE_MS } from './jobs.ts'

/** How far behind a claim looks for jobs that were written earlier and committed later. */
const COMMIT_MS_MAX = 3_000
const LOOK_AT_ALL_EVERY_MS = 5_000
const LOOK_AT_ALL_EVERY_MS_MAX = 30_000
/** A look at all takes at most this part of the time, up to the longest pause. */
const SHARE_OF_TIME = 1 / 100

/**
 * Claims jobs of one lane. A job that ends leaves a dead entry in the index of due times, and while somebody holds a snapshot open (a
 * dump, a forgotten transaction) none of them can be removed: a claim that began at the oldest entry would read all of them, more with
 * every job. But entries are dead in the order in which jobs became due, because they are claimed in that order and no job
 * becomes due in the past. So a claim begins where the last one ended, less the time that a commit may take. What it can miss is due to
 * an accident: a lease that expired, a commit that took longer. A claim that begins at the oldest entry finds those, every few seconds, less often when it is slow.
 */
export function createClaimWindow(
  db: Queryable,
  queue: string,
  lane: Lane,
  monotonicMs = () => performance.now(),
) {
  let after: Date | undefined
  let lookAtAllMs = Number.NEGATIVE_INFINITY

  return async function claim(limit: number): Promise<readonly ClaimedJob[]> {
    const startedMs = monotonicMs()
    const isLookAtAll = startedMs >= lookAtAllMs
    const { jobs, asOf } = await claimJobs(db, queue, lane, {
      limit,
      leaseMs: LEASE_MS,
      after: isLookAtAll ? undefined : after,
    })
    if (isLookAtAll) {
      const endedMs = monotonicMs()
      const pauseMs = Math.max(LOOK_AT_ALL_EVERY_MS, (endedMs - startedMs) / SHARE_OF_TIME)
      lookAtAllMs = endedMs + Math.min(pauseMs, LOOK_AT_ALL_EVERY_MS_MAX)
    }
    // The oldest come first: with fewer than asked for, all that were due are taken; otherwise all up to the last one.
    const reached =
      jobs.length < limit ? asOf : new Date(Math.max(...jobs.map(({ run_at }) => run_at.getTime())))
    after = new Date(reached.getTime() - COMMIT_MS_MAX)
    return jobs
  }
}
