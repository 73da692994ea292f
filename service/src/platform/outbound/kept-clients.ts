import type { GuardedClient, GuardedClientOptions, OpenGuardedClient } from './guarded-client.ts'

/** Shorter than the idle timeout of any usual server, so that it does not close the connection just when we send. */
const KEPT_MS = 1_000
const KEPT_MAX = 256

export interface KeptClients {
  /** The client of this owner and URL that was closed a moment ago, with its connections, or a new one. */
  readonly open: OpenGuardedClient
  /** Closes the idle connections. */
  close(): Promise<void>
}

interface Kept {
  readonly client: GuardedClient
  isStillWanted: GuardedClientOptions['isStillWanted']
  timer?: NodeJS.Timeout
}

/**
 * Keeps a client's connections open for a second after its user has closed it. A busy endpoint gets an event every few
 * milliseconds, each from a separate job, and this saves a TLS handshake for each. The SSRF guard has checked the address of an
 * open connection, and the sender checks the endpoint before each request. Connections are never shared between two owners, two
 * URLs, or two users at the same time.
 */
export function keepClients(
  open: OpenGuardedClient,
  { keptMs = KEPT_MS, keptMax = KEPT_MAX } = {},
): KeptClients {
  /** Ordered by how long they have been idle, longest first. */
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
