import { useSyncExternalStore } from 'react'

/** Small numbers beside the entries of the rail, such as events that are being retried. Screens that learn them report them. */
const counts = new Map<string, number>()
const listeners = new Set<() => void>()
let version = 0

export function reportAttention(to: string, count: number): void {
  if ((counts.get(to) ?? 0) === count) return
  counts.set(to, count)
  version++
  for (const listener of listeners) listener()
}

/** The numbers of an account that is shown no more. */
export function forgetAttention(): void {
  for (const to of counts.keys()) reportAttention(to, 0)
}

export function useAttention(): ReadonlyMap<string, number> {
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => version,
  )
  return counts
}
