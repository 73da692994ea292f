import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from './trouble.ts'

export interface LookupLimits {
  /** Ids in one call of `find`. */
  readonly idsMax: number
  /** From the start of one call to the start of the next, at least. */
  readonly everyMs: number
  /** Callers that wait for their answer; one more is told to come back later. */
  readonly waitingMax: number
}

/**
 * Looks rows up by id for many callers at once, at a cost that does not depend on how many ask: one call of `find` at a time,
 * begun at least `everyMs` after the last one. What is asked for meanwhile goes together into the next call, each id once. At
 * rest nobody waits. An answer is never older than its question: nobody is added to a call that is already under way.
 */
export function sharedLookup<Row>(
  limits: LookupLimits,
  find: (ids: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): (id: string) => Promise<Row | undefined> {
  const waiting = new Map<string, Waiter<Row>[]>()
  let waiters = 0
  let isUnderWay = false
  let startedMs = Number.NEGATIVE_INFINITY

  function take(idsMax: number): Map<string, Waiter<Row>[]> {
    const taken = new Map<string, Waiter<Row>[]>()
    for (const [id, those] of waiting) {
      if (taken.size === idsMax) break
      taken.set(id, those)
      waiting.delete(id)
      waiters -= those.length
    }
    return taken
  }

  async function drain() {
    isUnderWay = true
    // Whatever is being asked for in this turn of the loop comes along.
    await undefined
    while (waiting.size > 0) {
      // Timers may fire a shade early.
      for (let now = performance.now(); now < startedMs + limits.everyMs; now = performance.now()) {
        await sleep(Math.ceil(startedMs + limits.everyMs - now))
      }
      startedMs = performance.now()
      await settle(take(limits.idsMax))
    }
    isUnderWay = false
  }

  async function settle(asked: Map<string, Waiter<Row>[]>): Promise<void> {
    try {
      const found = await find([...asked.keys()])
      for (const [id, those] of asked) for (const { resolve } of those) resolve(found.get(id))
    } catch (error) {
      // A database that is away is away for everybody: nobody waits for it in turn.
      const failed = error instanceof Unavailable ? [asked, take(Number.POSITIVE_INFINITY)] : [asked]
      for (const each of failed)
        for (const those of each.values()) for (const { reject } of those) reject(error)
    }
  }

  return (id) => {
    if (waiters >= limits.waitingMax) {
      return Promise.reject(new Unavailable('database', new Error(`${waiters} look-ups are waiting`)))
    }
    return new Promise((resolve, reject) => {
      const those = waiting.get(id)
      if (those) those.push({ resolve, reject })
      else waiting.set(id, [{ resolve, reject }])
      waiters += 1
      if (!isUnderWay) void drain()
    })
  }
}

interface Waiter<Row> {
  resolve(row: Row | undefined): void
  reject(error: unknown): void
}
