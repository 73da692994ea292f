import { useEffect, useRef } from 'react'
import { preferences } from './preferences.ts'

/** `j`, `?`, `Escape`, or a chord `g o`. Values return false to let the next handler have the key. */
export type KeyMap = Readonly<Record<string, (event: KeyboardEvent) => unknown>>

/** Between the two keys of a chord. */
const CHORD_MS = 1_200

const maps: { current: KeyMap }[] = []
let first: { key: string; at: number } | undefined
let isListening = false

/** Adds shortcuts while the component is on the screen. What was added last is asked first. */
export function useKeys(map: KeyMap): void {
  const ref = useRef(map)
  ref.current = map
  useEffect(() => {
    listenOnce()
    maps.unshift(ref)
    return () => {
      maps.splice(maps.indexOf(ref), 1)
    }
  }, [])
}

function listenOnce(): void {
  if (isListening) return
  isListening = true
  // Before the page sees it: when Escape has closed a dialog, one can no longer tell that it was for the dialog.
  document.addEventListener('keydown', onKey, { capture: true })
}

function onKey(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return
  const isLetter = event.key.length === 1
  if (isLetter && (!preferences.get().shortcuts || isTyping(event.target))) return
  if (isLayerOpen()) return
  const chord = first && event.timeStamp - first.at < CHORD_MS ? `${first.key} ${event.key}` : undefined
  first = undefined
  if (chord && run(chord, event)) return
  if (run(event.key, event)) return
  if (
    isLetter &&
    maps.some(({ current }) => Object.keys(current).some((key) => key.startsWith(`${event.key} `)))
  ) {
    first = { key: event.key, at: event.timeStamp }
  }
}

function run(key: string, event: KeyboardEvent): boolean {
  for (const { current } of maps) {
    const handler = current[key]
    if (!handler || handler(event) === false) continue
    event.preventDefault()
    return true
  }
  return false
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input, textarea, select, [role="textbox"], [role="combobox"]'))

/** A dialog, menu or list of choices is open: its keys must not act on the page behind it. */
const isLayerOpen = (): boolean =>
  [...document.querySelectorAll('[role="dialog"], [role="menu"], [role="listbox"]')].some((layer) =>
    layer.checkVisibility(),
  )
