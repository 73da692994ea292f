import type { LiveHint, LiveTopic } from '@shopwire/contract/dashboard'
import type { QueryClient } from '@tanstack/react-query'
import { setLiveState as setState } from '#lib/live-state.ts'

/** The service says that it is there every 15 seconds. */
const SILENT_MS_MAX = 40_000
const LISTEN_EVERY_MS = 5_000
const RECONNECT_MS = [2_000, 5_000, 10_000, 30_000, 60_000] as const

interface LiveOptions {
  readonly path: string
  /** Which hints put a read out of date, by the name of the read. */
  readonly topicsOf: Readonly<Partial<Record<string, readonly LiveTopic[]>>>
  readonly client: QueryClient
  /** The service wants no stream here. */
  readonly onRefused: () => void
}

/**
 * Opens the stream and keeps it open. Returns what closes it. Every hint is answered by reading at once: the service decides how often
 * a page is told, and a busy account's changes come together.
 */
export function openLive({ path, topicsOf, client, onRefused }: LiveOptions): () => void {
  const changed = new Set<LiveTopic>()
  let source: EventSource | undefined
  let failures = 0
  let reconnect: ReturnType<typeof setTimeout> | undefined
  let heardMs = Date.now()

  const topicsIn = ([name]: readonly unknown[]): readonly LiveTopic[] => topicsOf[String(name)] ?? []
  const flush = () => {
    // A hidden tab reads when somebody looks at it again.
    if (document.hidden || changed.size === 0) return
    const topics = new Set(changed)
    changed.clear()
    void client.invalidateQueries({
      predicate: ({ queryKey }) => topicsIn(queryKey).some((topic) => topics.has(topic)),
    })
  }
  const hear = () => {
    heardMs = Date.now()
  }
  const take = (message: MessageEvent<string>) => {
    hear()
    const topics = readHint(message.data)
    for (const topic of topics) changed.add(topic)
    flush()
  }
  const connect = () => {
    source = new EventSource(path)
    hear()
    source.addEventListener('hint', take)
    source.addEventListener('heartbeat', hear)
    // The session is over or in another account, or the membership was removed.
    source.addEventListener('ended', () => {
      source?.close()
      fail()
    })
    source.onopen = () => {
      hear()
      // What changed while nobody listened is unknown: read everything live again.
      if (failures > 0) {
        void client.invalidateQueries({ predicate: ({ queryKey }) => topicsIn(queryKey).length > 0 })
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
  const connectAgain = () => {
    source?.close()
    clearTimeout(reconnect)
    failures++
    setState('waiting')
    connect()
  }
  // Without a network the browser may keep a dead connection open for minutes.
  const networkChanged = () => (navigator.onLine ? connectAgain() : setState('waiting'))
  // Nor does it notice a connection that a proxy or a laptop's sleep has cut.
  const listening = setInterval(() => {
    if (source?.readyState === EventSource.OPEN && Date.now() - heardMs > SILENT_MS_MAX) connectAgain()
  }, LISTEN_EVERY_MS)
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
    clearInterval(listening)
    setState('connecting')
  }
}

function readHint(text: string): readonly LiveTopic[] {
  try {
    return (JSON.parse(text) as LiveHint).topics
  } catch {
    return []
  }
}
