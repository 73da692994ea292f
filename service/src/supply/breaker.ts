/** Circuit breaker per supplier: after repeated failures it stops requests, then lets one through after each pause. */
export interface Breaker {
  /** Whether to send a request now. After a pause one request is allowed as a trial. */
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
