/** Random numbers that a seed determines, so that a schedule can be run again. */
export interface Random {
  /** From 0 up to, but not including, the limit. */
  below(limit: number): number
  pick<Value>(values: readonly Value[]): Value
  /** Each value as often as its weight says. */
  weighted<Value extends string>(weights: Readonly<Record<Value, number>>): Value
  chance(probability: number): boolean
}

/** The generator mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
    weighted(weights) {
      const entries = Object.entries(weights) as [keyof typeof weights, number][]
      let rest = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [value, weight] of entries) {
        rest -= weight
        if (rest < 0) return value
      }
      return (entries.at(-1) as [keyof typeof weights, number])[0]
    },
    chance: (probability) => next() < probability,
  }
}
