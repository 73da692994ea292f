import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_EVERY_MS = 200
const STUCK_MS_MAX = 120_000

/** Waits until every count has reached its goal, as long as anything moves. */
export async function untilDone(...counts: (() => [done: number, all: number])[]): Promise<void> {
  let [seen, seenMs] = ['', performance.now()]
  while (counts.some((count) => count()[0] < count()[1])) {
    await sleep(LOOK_EVERY_MS)
    const now = counts.map((count) => count().join(' of ')).join(', ')
    if (now !== seen) [seen, seenMs] = [now, performance.now()]
    if (performance.now() - seenMs > STUCK_MS_MAX) throw new Error(`nothing more happens at ${now}`)
  }
}
