import type { Queryable } from '../src/platform/database/db.ts'
import { claimJobs, type Job } from '../src/platform/jobs/jobs.ts'

const LANES = ['usual', 'backlog', 'failing'] as const

/** Claims what is due in any lane. */
export async function claimFromAllLanes(
  db: Queryable,
  queue: string,
  how: { limit: number; leaseMs: number },
): Promise<Job[]> {
  const jobs: Job[] = []
  for (const lane of LANES) jobs.push(...(await claimJobs(db, queue, lane, how)).jobs)
  return jobs
}
