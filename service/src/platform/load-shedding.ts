import { RETRY_AFTER_OVERLOADED_S } from '@shopwire/contract'
import { Refusal } from './trouble.ts'

/** Decides which requests this process begins to work on, by the account that has proven to have sent them. */
export interface LoadShedding {
  /** Begins a request of the account, or refuses it with 503. Returns the function that ends it. */
  enter(account_id: string): () => void
  inFlight(): number
}

export interface LoadSheddingOptions {
  /** Requests of all accounts that are worked on at a time. */
  readonly inFlightMax: number
  /** How late the event loop is. */
  lagMs(): number
  onShed(reason: ShedReason): void
}

export const SHED_REASONS = ['account', 'all', 'late'] as const
/** `account`: it has as many in flight as are free. `all`: none is free. `late`: it would not be too many if the event loop were in time. */
export type ShedReason = (typeof SHED_REASONS)[number]

/** Above it, accounts that have requests in flight get fewer, in proportion: those that were begun have to share a processor that is late. */
export const LAG_MS_MAX = 200

/**
 * An account may have as many requests in flight as are still free. So one account that floods gets half of them, two get a third each, and
 * the same number always stays free for the others: an account that has none in flight is refused only when all are taken. Nobody waits
 * here: what is begun is answered in time because of what is not begun, and a refusal costs one signature and no database.
 */
export function createLoadShedding({ inFlightMax, lagMs, onShed }: LoadSheddingOptions): LoadShedding {
  const byAccount = new Map<string, number>()
  let total = 0

  function shed(reason: ShedReason, account_id: string): Refusal {
    onShed(reason)
    return new Refusal('service_unavailable', MESSAGES[reason], { shed: reason, account_id }, RETRY_LATER)
  }

  return {
    inFlight: () => total,
    enter(account_id) {
      const own = byAccount.get(account_id) ?? 0
      const free = inFlightMax - total
      if (free <= 0) throw shed('all', account_id)
      if (own >= free) throw shed('account', account_id)
      if (own > 0 && own >= inFlightMax * Math.min(1, LAG_MS_MAX / lagMs()) - total)
        throw shed('late', account_id)
      total += 1
      byAccount.set(account_id, own + 1)
      return () => {
        total -= 1
        const left = (byAccount.get(account_id) ?? 1) - 1
        if (left === 0) byAccount.delete(account_id)
        else byAccount.set(account_id, left)
      }
    },
  }
}

const RETRY_LATER = { 'retry-after': String(RETRY_AFTER_OVERLOADED_S) }
const AGAIN = `Nothing was done. Wait ${RETRY_AFTER_OVERLOADED_S} s, then sign again; an order keeps its idempotency key.`
const MESSAGES: Readonly<Record<ShedReason, string>> = {
  account: `This account has too many requests at the same time. ${AGAIN}`,
  all: `The service has more requests than it can answer in time. ${AGAIN}`,
  late: `The service has more requests than it can answer in time. ${AGAIN}`,
}

const LOOK_EVERY_MS = 50

/** How late the event loop is: its last timer, or the next one if that is overdue already. */
export function watchLoopLag(): { lagMs(): number; stop(): void } {
  let dueMs = performance.now() + LOOK_EVERY_MS
  let lastMs = 0
  const timer = setInterval(() => {
    const nowMs = performance.now()
    lastMs = nowMs - dueMs
    dueMs = nowMs + LOOK_EVERY_MS
  }, LOOK_EVERY_MS)
  timer.unref()
  return {
    lagMs: () => Math.max(lastMs, performance.now() - dueMs, 0),
    stop: () => clearInterval(timer),
  }
}
