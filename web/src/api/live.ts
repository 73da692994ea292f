import type { LiveHint, LiveTopic } from '@shopwire/contract/dashboard'
import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

/** What the service hints at. A hint says that something changed, never what: the reads say that. */
export type Topic = LiveTopic

export type LiveState = 'connecting' | 'live' | 'waiting'

/**
 * Hints of this time are answered together: a busy account changes many times a second, and a reader reads once. The first changes are
 * shown at once; while they go on, less often.
 */
const GATHER_MS = 1_000
const BUSY_GATHER_MS = 5_000
const QUICK_MAX = 3
const QUICK_WINDOW_MS = 15_000
const RECONNECT_MS = [2_000, 5_000, 10_000, 30_000, 60_000] as const

let state: LiveState = 'connecting'
const stateListeners = new Set<() => void>()

/** Opens the stream and keeps it open. Returns what closes it. */
export function openLive(client: QueryClient, onEnded: () => void): () => void {
  const changed = new Set<Topic>()
  const takeQuick = quickTurns()
  let source: EventSource | undefined
  let failures = 0
  let gather: ReturnType<typeof setTimeout> | undefined
  let reconnect: ReturnType<typeof setTimeout> | undefined

  const flush = () => {
    gather = undefined
    // A hidden tab reads when somebody looks at it again.
    if (document.hidden || changed.size === 0) return
    const topics = new Set(changed)
    changed.clear()
    void client.invalidateQueries({
      predicate: ({ meta }) => topicsOf(meta).some((topic) => topics.has(topic)),
    })
  }
  const take = (message: MessageEvent<string>) => {
    const topics = readHint(message.data)
    for (const topic of topics) changed.add(topic)
    gather ??= setTimeout(flush, takeQuick() ? GATHER_MS : BUSY_GATHER_MS)
  }
  const connect = () => {
    source = new EventSource('/api/live')
    source.addEventListener('hint', take)
    // The session is over or the membership was removed. Reading the session again leads to the right place.
    source.addEventListener('ended', () => {
      source?.close()
      setState('waiting')
      onEnded()
    })
    source.onopen = () => {
      // What changed while nobody listened is unknown: read everything live again.
      if (failures > 0) {
        void client.invalidateQueries({ predicate: ({ meta }) => topicsOf(meta).length > 0 })
      }
      failures = 0
      setState('live')
    }
    source.onerror = () => {
      setState('waiting')
      failures++
      if (source?.readyState !== EventSource.CLOSED) return
      const wait = RECONNECT_MS[Math.min(failures, RECONNECT_MS.length) - 1] ?? 60_000
      reconnect = setTimeout(connect, wait)
    }
  }
  document.addEventListener('visibilitychange', flush)
  connect()
  return () => {
    document.removeEventListener('visibilitychange', flush)
    source?.close()
    clearTimeout(gather)
    clearTimeout(reconnect)
    setState('connecting')
  }
}

/** True a few times within a window, then false until the window has moved on. */
function quickTurns(): () => boolean {
  let takenMs: readonly number[] = []
  return () => {
    const nowMs = performance.now()
    takenMs = takenMs.filter((ms) => nowMs - ms < QUICK_WINDOW_MS)
    if (takenMs.length >= QUICK_MAX) return false
    takenMs = [...takenMs, nowMs]
    return true
  }
}

/** The state of the connection, for "Live". */
export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener)
      return () => stateListeners.delete(listener)
    },
    () => state,
  )
}

function setState(value: LiveState): void {
  state = value
  for (const listener of stateListeners) listener()
}

const topicsOf = (meta: Record<string, unknown> | undefined): readonly Topic[] =>
  (meta?.live as readonly Topic[] | undefined) ?? []

function readHint(text: string): readonly Topic[] {
  try {
    return (JSON.parse(text) as LiveHint).topics
  } catch {
    return []
  }
}
