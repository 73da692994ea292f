import type { Queryable } from '../database/db.ts'
import { type ClaimedJob, claimJobs, type Lane, LEASE_MS } from './jobs.ts'

/** How far back a claim looks for jobs that became due earlier and were committed later. */
const COMMIT_MS_MAX = 3_000
const FULL_SCAN_EVERY_MS = 5_000
const FULL_SCAN_EVERY_MS_MAX = 30_000
/** A full scan takes at most this share of the time, up to the longest pause. */
const SHARE_OF_TIME = 1 / 100

/**
 * Claims jobs of one lane. A job that ends leaves a dead entry in the index of due times, and while a session holds a snapshot open
 * (a dump, a forgotten transaction) these entries cannot be removed: a claim that began at the oldest entry would read all of them,
 * and one more with every job. But entries die in the order in which jobs became due, because jobs are claimed in that order and
 * none becomes due in the past. So a claim begins where the last one ended, less the time that a commit may take. It can miss only
 * exceptional jobs: after an expired lease, or a commit that took longer. A claim that begins at the oldest entry finds those,
 * every few seconds, or less often when it is slow.
 */
export function createClaimWindow(
  db: Queryable,
  queue: string,
  lane: Lane,
  monotonicMs = () => performance.now(),
) {
  let after: Date | undefined
  let fullScanMs = Number.NEGATIVE_INFINITY

  return async function claim(limit: number): Promise<readonly ClaimedJob[]> {
    const startedMs = monotonicMs()
    const isFullScan = startedMs >= fullScanMs
    const { jobs, asOf } = await claimJobs(db, queue, lane, {
      limit,
      leaseMs: LEASE_MS,
      after: isFullScan ? undefined : after,
    })
    if (isFullScan) {
      const endedMs = monotonicMs()
      const pauseMs = Math.max(FULL_SCAN_EVERY_MS, (endedMs - startedMs) / SHARE_OF_TIME)
      fullScanMs = endedMs + Math.min(pauseMs, FULL_SCAN_EVERY_MS_MAX)
    }
    // The oldest come first: with fewer than requested, all due jobs were claimed; otherwise all up to the last one.
    const reached =
      jobs.length < limit ? asOf : new Date(Math.max(...jobs.map(({ run_at }) => run_at.getTime())))
    after = new Date(reached.getTime() - COMMIT_MS_MAX)
    return jobs
  }
}
