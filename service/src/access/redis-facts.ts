import { Redis } from 'ioredis'
import { readClusterUrls } from './redis-urls.ts'

export interface RedisFacts {
  readonly evictionPolicies: readonly string[]
  readonly versions: readonly string[]
  /** Ahead of this machine; of the server that is furthest off. */
  readonly clockOffsetMs: number
}

/** Asks every server that is named in the settings about itself, each over a connection of its own. */
export async function readRedisFacts(
  urls: readonly string[],
  { isCluster, timeoutMs, nowMs }: { isCluster: boolean; timeoutMs: number; nowMs(): number },
): Promise<RedisFacts> {
  const brief = {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
  }
  const { nodes, shared } = isCluster ? readClusterUrls(urls) : { nodes: [], shared: {} }
  const servers = isCluster
    ? nodes.map((node) => new Redis({ ...brief, ...shared, ...node }))
    : urls.map((url) => new Redis(url, brief))
  const each = await Promise.all(servers.map((server) => readOne(server, nowMs)))
  const unique = (values: readonly string[]) => [...new Set(values)]
  return {
    evictionPolicies: unique(each.map(({ policy }) => policy)),
    versions: unique(each.map(({ version }) => version)),
    clockOffsetMs: each.reduce(
      (worst, { offsetMs }) => (Math.abs(offsetMs) > Math.abs(worst) ? offsetMs : worst),
      0,
    ),
  }
}

async function readOne(server: Redis, nowMs: () => number) {
  let said: unknown
  server.on('error', (error) => {
    said ??= error
  })
  try {
    await server.connect()
    const info = await server.info()
    const askedMs = nowMs()
    const [seconds, microseconds] = await server.time()
    const doubtMs = (nowMs() - askedMs) / 2
    return {
      policy: /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'unknown',
      version: /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'unknown',
      offsetMs: Math.round(Number(seconds) * 1_000 + Number(microseconds) / 1_000 - askedMs - doubtMs),
    }
  } catch (error) {
    throw said ?? error
  } finally {
    server.disconnect()
  }
}
