import { LRUCache } from 'lru-cache'

/** Counts events per name in this process. Limits noise such as log lines; not for limits that the contract promises. */
export interface Throttle {
  /** Counts one event; returns for how many more milliseconds its name is over the limit, or 0. */
  hit(name: string, nowMs: number): number
}

interface Count {
  startedMs: number
  hits: number
}

export function createThrottle(limit: { hitsMax: number; windowMs: number; namesMax: number }): Throttle {
  const counts = new LRUCache<string, Count>({ max: limit.namesMax })
  return {
    hit(name, nowMs) {
      let count = counts.get(name)
      const isOver = !count || nowMs >= count.startedMs + limit.windowMs || nowMs < count.startedMs
      if (!count || isOver) {
        count = { startedMs: nowMs, hits: 0 }
        counts.set(name, count)
      }
      count.hits += 1
      return count.hits > limit.hitsMax ? count.startedMs + limit.windowMs - nowMs : 0
    },
  }
}
