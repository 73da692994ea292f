/** What is to happen, in the order of time. Steps may add steps that come later. */
export interface Agenda {
  at(ms: number, run: () => Promise<unknown>): void
  /** The next step before this time, taken off the agenda. */
  take(beforeMs: number): Step | undefined
}

export interface Step {
  readonly ms: number
  run(): Promise<unknown>
}

/** A binary heap; of two steps at the same time the one added first comes first. */
export function createAgenda(): Agenda {
  const heap: (Step & { readonly n: number })[] = []
  let added = 0
  const isBefore = (a: number, b: number) => {
    const [first, second] = [heap[a], heap[b]]
    if (!first || !second) return first !== undefined
    return first.ms < second.ms || (first.ms === second.ms && first.n < second.n)
  }
  const swap = (a: number, b: number) => {
    ;[heap[a], heap[b]] = [heap[b] as (typeof heap)[number], heap[a] as (typeof heap)[number]]
  }
  return {
    at(ms, run) {
      heap.push({ ms, run, n: added })
      added += 1
      for (let at = heap.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1
        if (!isBefore(at, parent)) break
        swap(at, parent)
        at = parent
      }
    },
    take(beforeMs) {
      const [first] = heap
      if (!first || first.ms >= beforeMs) return undefined
      const last = heap.pop()
      if (last && heap.length > 0) {
        heap[0] = last
        for (let at = 0; ; ) {
          const child = isBefore(2 * at + 2, 2 * at + 1) ? 2 * at + 2 : 2 * at + 1
          if (child >= heap.length || !isBefore(child, at)) break
          swap(child, at)
          at = child
        }
      }
      return first
    },
  }
}
