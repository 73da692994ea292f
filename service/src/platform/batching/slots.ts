import { orAborted } from '../process/deadline.ts'

/** At most `max` run at a time per key. Others wait in order of arrival, until their own signal ends the wait. */
export interface Slots {
  run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

export function createSlots(max: number): Slots {
  const keys = new Map<string, { taken: number; readonly waiting: Set<() => void> }>()

  async function take(key: string, signal: AbortSignal) {
    signal.throwIfAborted()
    const state = keys.get(key) ?? { taken: 0, waiting: new Set() }
    keys.set(key, state)
    if (state.taken < max) {
      state.taken += 1
      return
    }
    const { promise: granted, resolve } = Promise.withResolvers<void>()
    state.waiting.add(resolve)
    await orAborted(granted, signal).catch((error: unknown) => {
      // Granted at the moment the wait was aborted: pass the slot to the next one.
      if (!state.waiting.delete(resolve)) release(key)
      throw error
    })
  }

  function release(key: string) {
    const state = keys.get(key)
    if (!state) return
    const [next] = state.waiting
    if (next) {
      state.waiting.delete(next)
      return next()
    }
    state.taken -= 1
    if (state.taken === 0) keys.delete(key)
  }

  return {
    async run(key, signal, work) {
      await take(key, signal)
      try {
        return await work()
      } finally {
        release(key)
      }
    },
  }
}
