import { useSyncExternalStore } from 'react'

/** What a reader chose on this device. The colour scheme is Mantine's own to keep. */
export interface Preferences {
  readonly zone: 'reader' | 'utc'
  /** Single-letter shortcuts can be turned off: they get in the way of speech input (WCAG 2.1.4). */
  readonly shortcuts: boolean
  readonly snippet: string
}

const NAME = 'shopwire-preferences'
const initial: Preferences = { zone: 'reader', shortcuts: true, snippet: '' }
const listeners = new Set<() => void>()
let current: Preferences = read()

export const preferences = {
  get: (): Preferences => current,
  set(change: Partial<Preferences>): void {
    current = { ...current, ...change }
    try {
      localStorage.setItem(NAME, JSON.stringify(current))
    } catch {
      // Storage is blocked: the choice lasts as long as the page.
    }
    for (const listener of listeners) listener()
  },
}

export function usePreferences(): Preferences {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, preferences.get)
}

function read(): Preferences {
  try {
    return { ...initial, ...(JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<Preferences>) }
  } catch {
    return initial
  }
}
