import { useSyncExternalStore } from 'react'

/** The state of the stream that says what has changed. */
export type LiveState = 'connecting' | 'live' | 'waiting'

let state: LiveState = 'connecting'
const listeners = new Set<() => void>()

export function setLiveState(value: LiveState): void {
  state = value
  for (const listener of listeners) listener()
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => state,
  )
}
