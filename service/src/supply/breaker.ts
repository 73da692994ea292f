/** Stops asking somebody who keeps failing, and tries them again now and then. */
export interface Breaker {
  /** Whether to ask now. After a pause, one asker is let through to find out. */
  allows(name: string, nowMs: number): boolean
  succeeded(name: string): void
  failed(name: string, nowMs: number): void
}

const FAILURES_MAX = 5
const PAUSE_MS = 30_000

export function createBreaker(): Breaker {
  const failing = new Map<string, { failures: number; askAgainMs: number }>()
  return {
    allows(name, nowMs) {
      const state = failing.get(name)
      if (!state || state.failures < FAILURES_MAX) return true
      if (nowMs < state.askAgainMs) return false
      state.askAgainMs = nowMs + PAUSE_MS
      return true
    },
    succeeded: (name) => void failing.delete(name),
    failed(name, nowMs) {
      const failures = (failing.get(name)?.failures ?? 0) + 1
      failing.set(name, { failures, askAgainMs: nowMs + PAUSE_MS })
    },
  }
}
