import type { Log } from './log.ts'

const REMIND_EVERY_MS = 60_000

/** Logs an error at once, and again once a minute for as long as it is said. */
export function createReminder(log: Log, monotonicMs: () => number = () => performance.now()) {
  const saidMs = new Map<string, number>()
  return (facts: object, message: string) => {
    if (monotonicMs() - (saidMs.get(message) ?? Number.NEGATIVE_INFINITY) < REMIND_EVERY_MS) return
    saidMs.set(message, monotonicMs())
    log.error(facts, message)
  }
}
