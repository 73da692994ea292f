/**
 * Remembers which events were handled. Delivery is at least once: a slow or lost answer brings the same event again. Keep it
 * where all your processes see it, such as a table with the event's id as its key.
 */
export interface Once {
  /**
   * Takes the event, in one atomic step. `first`: it is yours now. `done`: it was handled before. `busy`: another delivery of
   * it is being handled; the store is then told to come again, because that one may yet fail. Let a claim run out after a
   * minute or so, or a crash would keep its event for ever.
   */
  claim(id: string): Claim | Promise<Claim>
  /** The handler returned (true), or threw (false) and the event is free again. */
  settle(id: string, isHandled: boolean): void | Promise<void>
}

export type Claim = 'first' | 'done' | 'busy'

const KEPT_MAX = 10_000

/** For tests, and for a single process that may handle an event again after a restart. Forgets the oldest. */
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
