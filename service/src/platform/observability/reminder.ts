const REMIND_EVERY_MS = 60_000

export interface Reminder {
  /** Whether to log now that this condition still holds. */
  isDue(what: string): boolean
  /** The condition ended: when it begins again, it is logged at once. */
  reset(): void
}

/** Limits how often a lasting condition is logged: at once when it begins, and then once a minute. */
export function createReminder(
  everyMs = REMIND_EVERY_MS,
  monotonicMs: () => number = () => performance.now(),
): Reminder {
  const saidMs = new Map<string, number>()
  return {
    isDue(what) {
      if (monotonicMs() - (saidMs.get(what) ?? Number.NEGATIVE_INFINITY) < everyMs) return false
      saidMs.set(what, monotonicMs())
      return true
    },
    reset: () => saidMs.clear(),
  }
}
