/** Computes a value, or returns the one computed recently under the same name. */
export type Remembered<Value> = (name: string, compute: () => Promise<Value>) => Promise<Value>

/** A value is used for this many times as long as it took to compute, which limits the share of time spent on computing. */
const SHARE_MAX = 0.05
const NAMES_MAX = 5_000

/**
 * A cache for what every open page requests again with every order: a small account gets fresh figures, and a very large one is not
 * summed up again before `ageMsMax`. `ageMsMin` is the minimum age, however fast the computation: for values that may be slightly
 * old. Simultaneous requests share one computation.
 */
export function createRemembered<Value>(ageMsMax: number, ageMsMin = 0): Remembered<Value> {
  const known = new Map<string, { readonly value: Promise<Value>; untilMs: number }>()
  return (name, compute) => {
    const nowMs = performance.now()
    const before = known.get(name)
    if (before && nowMs < before.untilMs) return before.value
    const value = compute()
    const entry = { value, untilMs: ageMsMax === 0 ? 0 : Number.POSITIVE_INFINITY }
    known.delete(name)
    known.set(name, entry)
    for (const oldest of known.keys()) {
      if (known.size <= NAMES_MAX) break
      known.delete(oldest)
    }
    value.then(
      () => {
        const tookMs = performance.now() - nowMs
        entry.untilMs = nowMs + tookMs + Math.min(Math.max(tookMs / SHARE_MAX, ageMsMin), ageMsMax)
      },
      () => {
        if (known.get(name) === entry) known.delete(name)
      },
    )
    return value
  }
}
