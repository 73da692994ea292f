/** Computes a value, or returns the one computed recently under the same name. */
export type Remembered<Value> = (name: string, compute: () => Promise<Value>) => Promise<Value>

/** A value is reused for so long that computing takes at most this share of the time. */
const SHARE_MAX = 0.05
const NAMES_MAX = 5_000

/**
 * A cache for what every open page requests again with every order: a small account gets fresh figures, and a very large one is not
 * summed up again before `ageMsMax`. With `ageMsMin` it is reused for at least that long, however fast the computation.
 * Simultaneous requests share one computation.
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
