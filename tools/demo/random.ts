/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number
  /** Whole numbers, both ends included. */
  between(min: number, max: number): number
  chance(probability: number): boolean
  pick<One>(from: readonly One[]): One
  /** More often those with a larger weight. */
  weighted<One>(from: readonly (readonly [One, number])[]): One
  /** How many come in a period in which `mean` come on average. */
  count(mean: number): number
  /** Mostly near `typical`, now and then several times as much: how long things take. */
  duration(typical: number): number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  /** Mulberry32. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
  const self: Random = {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
    weighted(from) {
      let left = next() * from.reduce((sum, [, weight]) => sum + weight, 0)
      const found = from.find(([, weight]) => {
        left -= weight
        return left < 0
      })
      return (found ?? (from.at(-1) as (typeof from)[number]))[0]
    },
    count: (mean) => Math.max(0, Math.round(mean + Math.sqrt(mean) * normal())),
    duration: (typical) => typical * Math.exp(0.5 * normal()),
  }
  return self
}
