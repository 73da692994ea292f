import type { LiveHint, LiveTopic } from '@shopwire/contract/dashboard'
import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { api } from './client.ts'

/** What the service hints at. A hint says that something changed, never what: the reads say that. */
export type Topic = LiveTopic

export type LiveState = 'connecting' | 'live' | 'waiting'

const RECONNECT_MS = [2_000, 5_000, 10_000, 30_000, 60_000] as const

let state: LiveState = 'connecting'
const stateListeners = new Set<() => void>()

/**
 * Opens the stream and keeps it open. Returns what closes it. Every hint is answered by reading at once: the service decides how often
 * a page is told, and a busy account's changes come together. `onRefused`: the service wants no stream here; the session says why.
 */
export function openLive(client: QueryClient, onRefused: () => void): () => void {
  const path = api.href('live')
  const changed = new Set<Topic>()
  let source: EventSource | undefined
  let failures = 0
  let reconnect: ReturnType<typeof setTimeout> | undefined

  const flush = () => {
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
    flush()
  }
  const connect = () => {
    source = new EventSource(path)
    source.addEventListener('hint', take)
    // The session is over or in another account, or the membership was removed.
    source.addEventListener('ended', () => {
      source?.close()
      fail()
    })
    source.onopen = () => {
      // What changed while nobody listened is unknown: read everything live again.
      if (failures > 0) {
        void client.invalidateQueries({ predicate: ({ meta }) => topicsOf(meta).length > 0 })
      }
      failures = 0
      setState('live')
    }
    source.onerror = fail
  }
  const fail = () => {
    setState('waiting')
    failures++
    if (source?.readyState !== EventSource.CLOSED) return
    onRefused()
    const wait = RECONNECT_MS[Math.min(failures, RECONNECT_MS.length) - 1] ?? 60_000
    reconnect = setTimeout(connect, wait)
  }
  // Without a network the browser may keep a dead connection open for minutes.
  const networkChanged = () => {
    if (!navigator.onLine) return setState('waiting')
    source?.close()
    clearTimeout(reconnect)
    failures++
    connect()
  }
  document.addEventListener('visibilitychange', flush)
  window.addEventListener('offline', networkChanged)
  window.addEventListener('online', networkChanged)
  connect()
  return () => {
    document.removeEventListener('visibilitychange', flush)
    window.removeEventListener('offline', networkChanged)
    window.removeEventListener('online', networkChanged)
    source?.close()
    clearTimeout(reconnect)
    setState('connecting')
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
