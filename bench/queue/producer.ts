import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from './contender.ts'

export interface Producer {
  setRate(perSecond: number): void
  /** The numbers of all jobs whose insert was confirmed. */
  stop(): Promise<ReadonlySet<number>>
}

const TICK_MS = 10
const BATCH_MAX = 128
const RETRY_MS = 200
/** A job's number is unique over all cells of a contender. */
let lastN = 0

/**
 * Inserts jobs at a fixed rate, counted by the time that has passed: what a slow or failed insert left behind is made up for. A
 * failed insert may have been committed, so its jobs are inserted again under new numbers, and the first ones may be done or not.
 */
export function startProducer({ insert }: Contender, perSecond: number): Producer {
  const inserted = new Set<number>()
  let rate = perSecond
  let isStopped = false

  async function produce() {
    let credit = 0
    let creditedMs = performance.now()
    while (!isStopped) {
      await sleep(TICK_MS)
      const nowMs = performance.now()
      credit += ((nowMs - creditedMs) * rate) / 1_000
      creditedMs = nowMs
      const count = Math.min(BATCH_MAX, Math.floor(credit))
      if (count === 0) continue
      const jobs = newJobs(count)
      try {
        await insert(jobs)
        credit -= count
        for (const { n } of jobs) inserted.add(n)
      } catch {
        await sleep(RETRY_MS)
      }
    }
  }

  const producing = produce()
  return {
    setRate(changed) {
      rate = changed
    },
    async stop() {
      isStopped = true
      await producing
      return inserted
    },
  }
}

export function newJobs(count: number) {
  const atMs = Date.now()
  return Array.from({ length: count }, () => {
    lastN += 1
    return { n: lastN, atMs }
  })
}
