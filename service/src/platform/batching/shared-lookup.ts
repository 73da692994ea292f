import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../trouble.ts'

export interface LookupLimits {
  /** Ids per call of `find`, at most. */
  readonly idsMax: number
  /** Shortest time between the starts of two calls. */
  readonly everyMs: number
  /** Most callers that may wait for an answer; the next one fails with Unavailable. */
  readonly waitingMax: number
}

/**
 * Looks up rows by id for many callers at a cost that does not depend on how many ask: one call of `find` at a time, started at
 * least `everyMs` after the last one. Ids requested meanwhile are collected, without duplicates, for the next call. When idle, a
 * request is looked up at once. A caller never joins a call that has already started, so an answer is never older than its request.
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
    // Lets everything that is requested in this turn of the event loop join the call.
    await undefined
    while (waiting.size > 0) {
      // Timers may fire slightly early.
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
      // When the database is unavailable, everyone who waits fails now instead of waiting for another call.
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
