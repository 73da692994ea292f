/**
 * Remembers which events were handled. Delivery is at least once: after a slow or lost answer the same event is sent
 * again. Store it where all your processes see it, such as a table keyed by event id.
 */
export interface Once {
  /**
   * Claims the event, atomically. `first`: the caller handles it. `done`: it was handled before. `busy`: another
   * delivery of it is being handled; the store is then asked to retry, because that one may still fail. Let claims
   * expire after about a minute, or a crash would block its event for ever.
   */
  claim(id: string): Claim | Promise<Claim>
  /** The handler returned (true), or threw (false) and the event is free again. */
  settle(id: string, isHandled: boolean): void | Promise<void>
}

export type Claim = 'first' | 'done' | 'busy'

const KEPT_MAX = 10_000

/** For tests, and for a single process that may handle an event again after a restart. Drops the oldest entries beyond `max`. */
export function memoryOnce({ max = KEPT_MAX }: { max?: number } = {}): Once {
  const known = new Map<string, 'done' | 'busy'>()
  return {
    claim(id) {
      const claim = known.get(id)
      if (claim) return claim
      known.set(id, 'busy')
      const [oldest] = known.keys()
      if (known.size > max && oldest !== undefined) known.delete(oldest)
      return 'first'
    },
    settle(id, isHandled) {
      if (isHandled) known.set(id, 'done')
      else known.delete(id)
    },
  }
}
