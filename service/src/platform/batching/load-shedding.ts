import { RETRY_AFTER_OVERLOADED_S } from '@shopwire/contract'
import { Refusal } from '../trouble.ts'

/** Decides which requests this process starts to work on, by their sender. */
export interface LoadShedding {
  /** Starts a request of this sender, or refuses it with 503. Returns the function that ends it. */
  enter(name: string, kind?: SenderKind): () => void
  inFlight(): number
}

/** An account for signed requests. In the dashboard a session, or the client's address where nobody is signed in. */
const SENDER_KINDS = ['account', 'session', 'address'] as const
export type SenderKind = (typeof SENDER_KINDS)[number]

export interface LoadSheddingOptions {
  /** Requests of all senders that are worked on at a time. */
  readonly inFlightMax: number
  /** For one sender of this kind, however many are free. Without it, only the number of free places limits a sender. */
  readonly ownMax?: Partial<Readonly<Record<SenderKind, number>>>
  /** How late the event loop is. */
  lagMs(): number
  onShed(reason: ShedReason): void
}

export const SHED_REASONS = [...SENDER_KINDS, 'all', 'late'] as const
/**
 * `account`, `session` or `address`: this sender has as many in flight as it may. `all`: no place is free. `late`: the sender would
 * be within its limit if the event loop were on time.
 */
export type ShedReason = (typeof SHED_REASONS)[number]

/**
 * Above it, senders with requests in flight get fewer places, in proportion: the requests already started share a processor that is
 * behind.
 */
export const LAG_MS_MAX = 200

/**
 * A sender may have as many requests in flight as there are free places. So a single flooding sender gets half of them, two get a
 * third each, and as many stay free for the others: a sender with none in flight is refused only when all are taken. Requests never
 * queue here: those that are started are answered in time because others are refused, and a refusal costs at most what it takes to
 * identify the sender.
 */
export function createLoadShedding({
  inFlightMax,
  ownMax = {},
  lagMs,
  onShed,
}: LoadSheddingOptions): LoadShedding {
  const bySender = new Map<string, number>()
  let total = 0

  function shed(reason: ShedReason, kind: SenderKind, name: string): Refusal {
    onShed(reason)
    // The session's log line has its person already, and client addresses are not logged.
    const facts = { shed: reason, ...(kind === 'account' && { account_id: name }) }
    return overloaded(reason, kind, facts)
  }

  return {
    inFlight: () => total,
    enter(name, kind = 'account') {
      const own = bySender.get(name) ?? 0
      const free = inFlightMax - total
      if (free <= 0) throw shed('all', kind, name)
      if (own >= Math.min(free, ownMax[kind] ?? free)) throw shed(kind, kind, name)
      if (own > 0 && own >= inFlightMax * Math.min(1, LAG_MS_MAX / lagMs()) - total)
        throw shed('late', kind, name)
      total += 1
      bySender.set(name, own + 1)
      return () => {
        total -= 1
        const left = (bySender.get(name) ?? 1) - 1
        if (left === 0) bySender.delete(name)
        else bySender.set(name, left)
      }
    },
  }
}

/** Exported for the emulator, which injects it. */
export function overloaded(
  reason: ShedReason,
  kind: SenderKind,
  facts: Readonly<Record<string, unknown>> = {},
): Refusal {
  const again = kind === 'account' ? SIGN_AGAIN : TRY_AGAIN
  return new Refusal('service_unavailable', `${MESSAGES[reason]} ${again}`, facts, RETRY_LATER)
}

const RETRY_LATER = { 'retry-after': String(RETRY_AFTER_OVERLOADED_S) }
const SIGN_AGAIN = `Nothing was done. Wait ${RETRY_AFTER_OVERLOADED_S} s, then sign again; an order keeps its idempotency key.`
const TRY_AGAIN = `Nothing was done. Wait ${RETRY_AFTER_OVERLOADED_S} s, then try again.`
const MESSAGES: Readonly<Record<ShedReason, string>> = {
  account: 'This account has too many requests at the same time.',
  session: 'This session has too many requests at the same time.',
  address: 'Too many requests came from your network at the same time.',
  all: 'The service has more requests than it can answer in time.',
  late: 'The service has more requests than it can answer in time.',
}

const POLL_EVERY_MS = 50

/** How late the event loop is: its last timer, or the next one if that is overdue already. */
export function watchLoopLag(): { lagMs(): number; stop(): void } {
  let dueMs = performance.now() + POLL_EVERY_MS
  let lastMs = 0
  const timer = setInterval(() => {
    const nowMs = performance.now()
    lastMs = nowMs - dueMs
    dueMs = nowMs + POLL_EVERY_MS
  }, POLL_EVERY_MS)
  timer.unref()
  return {
    lagMs: () => Math.max(lastMs, performance.now() - dueMs, 0),
    stop: () => clearInterval(timer),
  }
}
