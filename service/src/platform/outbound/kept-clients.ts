import type { GuardedClient, GuardedClientOptions, OpenGuardedClient } from './guarded-client.ts'

/** Shorter than any usual server keeps an idle connection: it must not close it just when we send. */
const KEPT_MS = 1_000
const KEPT_MAX = 256

export interface KeptClients {
  /** The client of this owner and URL that was closed a moment ago, with its connections, or a new one. */
  readonly open: OpenGuardedClient
  /** Ends the connections that nobody uses. */
  close(): Promise<void>
}

interface Kept {
  readonly client: GuardedClient
  isStillWanted: GuardedClientOptions['isStillWanted']
  timer?: NodeJS.Timeout
}

/**
 * Keeps a client's connections open for a second after its user has closed it. A busy endpoint gets an event every few milliseconds,
 * each by a job of its own, and a TLS handshake for each is saved. The SSRF guard has checked the address that a
 * connection goes to, and whoever posts checks the endpoint each time. Two owners never share a connection, nor do two URLs, nor two
 * users at the same time.
 */
export function keepClients(
  open: OpenGuardedClient,
  { keptMs = KEPT_MS, keptMax = KEPT_MAX } = {},
): KeptClients {
  /** The one that has been idle for longest comes first. */
  const idle = new Map<string, Kept>()

  async function end(key: string, kept: Kept): Promise<void> {
    clearTimeout(kept.timer)
    if (idle.get(key) === kept) idle.delete(key)
    await kept.client.close()
  }

  function take(key: string, url: string, options: GuardedClientOptions): Kept {
    const known = idle.get(key)
    if (known) {
      clearTimeout(known.timer)
      idle.delete(key)
      known.isStillWanted = options.isStillWanted
      return known
    }
    const kept: Kept = {
      client: open(url, { ...options, isStillWanted: () => kept.isStillWanted() }),
      isStillWanted: options.isStillWanted,
    }
    return kept
  }

  async function giveBack(key: string, kept: Kept): Promise<void> {
    const [oldest] = idle.size >= keptMax ? idle : []
    const other = idle.get(key)
    if (other) await end(key, other)
    else if (oldest) await end(...oldest)
    idle.set(key, kept)
    kept.timer = setTimeout(() => void end(key, kept), keptMs).unref()
  }

  return {
    open(url, options) {
      const key = `${options.owner} ${options.connectionsMax} ${options.totalMsMax} ${url}`
      const kept = take(key, url, options)
      return { post: kept.client.post, close: () => giveBack(key, kept) }
    },
    async close() {
      await Promise.all([...idle].map(([key, kept]) => end(key, kept)))
    },
  }
}
