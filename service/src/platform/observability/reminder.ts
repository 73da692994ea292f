const REMIND_EVERY_MS = 60_000

export interface Reminder {
  /** Whether to say now what still lasts. */
  isDue(what: string): boolean
  /** It is over: when it begins again it is said at once. */
  reset(): void
}

/** What lasts is said at once when it begins, and then once a minute. */
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
