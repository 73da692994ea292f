import type { Redis } from 'ioredis'
import { probeClients } from './redis-client.ts'
import type { RedisSettings } from './redis-urls.ts'

export interface RedisFacts {
  readonly evictionPolicies: readonly string[]
  readonly versions: readonly string[]
  /** Ahead of this machine; from the server that is furthest off. */
  readonly clockOffsetMs: number
}

/** Queries every server that is named in the settings, or the master of the sentinels, each over a separate connection. */
export async function readRedisFacts(
  settings: RedisSettings,
  { timeoutMs, nowMs }: { timeoutMs: number; nowMs(): number },
): Promise<RedisFacts> {
  const servers = probeClients(settings, timeoutMs)
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
