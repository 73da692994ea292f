import { once } from 'node:events'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { isCertificateError } from '../platform/database/certificate-errors.ts'
import { Unavailable } from '../platform/trouble.ts'
import { type RedisServers, type RedisSettings, readRedisUrls, SENTINEL_PORT } from './redis-urls.ts'

export type RedisClient = Redis | Cluster

/** A client that reconnects automatically: to one server, to the master that sentinels name, or to a cluster. */
export function connectRedis(settings: RedisSettings, timeoutMs: number): RedisClient {
  return settings.isCluster ? connectCluster(settings, timeoutMs) : connectSingle(settings, timeoutMs)
}

function connectSingle(settings: RedisSettings, timeoutMs: number): Redis {
  return new Redis({
    ...nodeOptions(timeoutMs),
    ...addressOf(settings, timeoutMs),
    enableOfflineQueue: false,
    retryStrategy: reconnectMs,
    sentinelRetryStrategy: reconnectMs,
    // A master that was replaced, or is cut off from its replicas: the sentinels may name another one.
    reconnectOnError: (error) => /^(READONLY|NOREPLICAS)/.test(error.message),
  })
}

function connectCluster({ urls, certificates }: RedisSettings, timeoutMs: number): Cluster {
  const { nodes, access } = readRedisUrls(urls, certificates)
  return new Cluster([...nodes], {
    // Credentials and TLS have to be set here: options of a start node are not used for the nodes that it reports.
    redisOptions: { ...nodeOptions(timeoutMs), ...access },
    // By default names are resolved first, and certificates would then be compared with IP addresses.
    ...(access.tls && { dnsLookup: (name, callback) => callback(null, name) }),
    enableAutoPipelining: true,
    clusterRetryStrategy: reconnectMs,
    slotsRefreshTimeout: timeoutMs,
    slotsRefreshInterval: 1_000,
    retryDelayOnFailover: 100,
    retryDelayOnClusterDown: 100,
    maxRedirections: 4,
  })
}

const nodeOptions = (timeoutMs: number) =>
  ({
    // A command whose answer was lost may have spent its nonce: resending it would report a replay to a caller that sent it
    // once. It fails instead, and the caller gets 503 and signs again.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    enableAutoPipelining: true,
  }) satisfies RedisOptions

const reconnectMs = (tries: number) => Math.min(50 * tries, 500)

function addressOf({ urls, sentinels, certificates }: RedisSettings, timeoutMs: number) {
  const { nodes: [node] = [], access } = readRedisUrls(urls.slice(0, 1), certificates)
  if (sentinels === undefined) return { ...node, ...access }
  const watchers = readRedisUrls(sentinels, certificates, SENTINEL_PORT)
  const { username, password, tls } = watchers.access
  return {
    ...access,
    ...(node && { name: node.host }),
    role: 'master' as const,
    sentinels: [...watchers.nodes],
    ...(username && { sentinelUsername: username }),
    ...(password && { sentinelPassword: password }),
    ...(tls && { sentinelTLS: tls }),
    enableTLSForSentinelMode: access.tls !== undefined,
    sentinelCommandTimeout: timeoutMs,
    // Only the sentinels of the settings: others announce addresses that their certificates may not name.
    updateSentinels: false,
    // No `failoverDetector`: its connections print to stderr while a sentinel is down. The check of admission-redis.ts drops a
    // connection that does not answer, and the next connection asks the sentinels.
  } satisfies RedisOptions
}

/** Clients of single connections that do not reconnect; for queries to each server of the settings. */
export function probeClients(settings: RedisSettings, timeoutMs: number): Redis[] {
  const brief = briefOptions(timeoutMs)
  if (settings.sentinels !== undefined) return [new Redis({ ...brief, ...addressOf(settings, timeoutMs) })]
  const { nodes, access } = readRedisUrls(settings.urls, settings.certificates)
  return nodes.map((node) => new Redis({ ...brief, ...access, ...node }))
}

const briefOptions = (timeoutMs: number) =>
  ({
    lazyConnect: true,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    maxRetriesPerRequest: 0,
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
  }) satisfies RedisOptions

/** Waits until the client is usable. A server that refuses our credentials or certificate is reported at once. */
export async function connected(
  client: RedisClient,
  settings: RedisSettings,
  timeoutMs: number,
): Promise<void> {
  if (client.status === 'ready') return
  try {
    await once(client, 'ready', { signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    const cause = (await whyNot(settings, timeoutMs)) ?? error
    const refusal = refusalBy(cause)
    if (refusal !== undefined) throw new Error(refusal, { cause })
    throw new Unavailable('admission', cause)
  }
}

/** The error of separate connections: the clients for clusters and sentinels do not report why none of their servers is usable. */
async function whyNot(settings: RedisSettings, timeoutMs: number): Promise<unknown> {
  const { urls, sentinels, certificates } = settings
  const servers = readRedisUrls(urls.slice(0, 1), certificates)
  if (sentinels === undefined) return errorAt(servers, 'SHOPWIRE_REDIS_URLS', timeoutMs)
  const name = servers.nodes[0]?.host ?? ''
  let error: unknown
  for (const sentinel of sentinels) {
    const watcher = readRedisUrls([sentinel], certificates, SENTINEL_PORT)
    let master: string[] | null = null
    error = await errorAt(watcher, 'SHOPWIRE_REDIS_SENTINELS', timeoutMs, async (client) => {
      master = (await client.call('SENTINEL', 'get-master-addr-by-name', name)) as string[] | null
      if (master === null) {
        throw new WrongSettings(
          `The sentinels of SHOPWIRE_REDIS_SENTINELS know no master "${name}", which is the host in SHOPWIRE_REDIS_URLS. Correct one of them.`,
        )
      }
    })
    const [host, port] = master ?? []
    if (host === undefined) continue
    return errorAt({ ...servers, nodes: [{ host, port: Number(port) }] }, 'SHOPWIRE_REDIS_URLS', timeoutMs)
  }
  return error
}

/** A mistake in the settings; its message says which. Waiting does not help. */
class WrongSettings extends Error {
  override readonly name = 'WrongSettings'
}

async function errorAt(
  { nodes: [node], access }: RedisServers,
  setting: string,
  timeoutMs: number,
  ask?: (client: Redis) => Promise<void>,
): Promise<unknown> {
  if (node === undefined) return undefined
  const probe = new Redis({
    ...briefOptions(timeoutMs),
    enableReadyCheck: ask === undefined,
    ...access,
    ...node,
  })
  let said: unknown
  probe.on('error', (error) => {
    said ??= error
  })
  try {
    await probe.connect()
    await ask?.(probe)
    return undefined
  } catch (caught) {
    let error = said ?? caught
    if (isClosed(error)) {
      const tls = access.tls ?? { rejectUnauthorized: false }
      const shook = await shakeHands({ ...node, ...(tls as object) }, timeoutMs)
      if (access.tls === undefined && shook.isTls) {
        return new WrongSettings(
          `Redis at ${node.host}:${node.port} expects TLS, and its URL in ${setting} begins with redis://. Use rediss://.`,
        )
      }
      if (access.tls !== undefined) error = shook.error ?? error
    }
    return error instanceof Error ? Object.assign(error, { setting }) : error
  } finally {
    probe.disconnect()
  }
}

const isClosed = (error: unknown) =>
  error instanceof Error &&
  /ECONNRESET|EPIPE|Connection is closed/.test(`${(error as NodeJS.ErrnoException).code} ${error.message}`)

/** The result of a TLS handshake; nothing is sent after it, so that the server's alert is not lost in a reset connection. */
async function shakeHands(
  options: ConnectionOptions,
  timeoutMs: number,
): Promise<{ isTls: boolean; error?: unknown }> {
  const socket = connectTls(options)
  // An alert may come between the two waits or after them, and an error without a listener would end the process.
  let said: unknown
  socket.on('error', (error) => {
    said ??= error
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) })
    // With TLS 1.3 a server refuses the client's certificate after the handshake.
    const isStaying = await once(socket, 'close', { signal: AbortSignal.timeout(ALERT_MS) }).then(
      () => false,
      (error: Error) => (error.name === 'AbortError' ? true : Promise.reject(error)),
    )
    if (said !== undefined) throw said
    return { isTls: isStaying }
  } catch (error) {
    return { isTls: /^ERR_SSL_.*ALERT/.test(String((error as NodeJS.ErrnoException).code)), error }
  } finally {
    socket.destroy()
  }
}
const ALERT_MS = 300

/** Describes an error that means wrong settings; undefined when waiting may help. */
function refusalBy(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof WrongSettings) return error.message
  const { code, setting = 'SHOPWIRE_REDIS_URLS' } = error as { code?: unknown; setting?: string }
  if (/^(WRONGPASS|NOAUTH|NOPERM|ERR invalid password)/.test(error.message)) {
    return `Redis refuses the user name or password in ${setting} (${error.message}). Correct them and start again.`
  }
  if (isCertificateError(error)) {
    return (
      `The certificate of the server in ${setting} is not trusted (${code}). Set SHOPWIRE_REDIS_CA_FILE to the certificate of its authority, ` +
      'or use the host name that it was issued for.'
    )
  }
  if (/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|BAD_CERTIFICATE|UNKNOWN_CA/.test(String(code))) {
    return (
      `The server in ${setting} does not accept our client certificate (${code}). Set SHOPWIRE_REDIS_CLIENT_CERT_FILE and ` +
      'SHOPWIRE_REDIS_CLIENT_KEY_FILE to one that its authority signed.'
    )
  }
  return undefined
}
