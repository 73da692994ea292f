import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { REDIS_COMMAND_MS_MAX } from '../servers/limits.ts'
import { HOST } from '../servers/network/ports.ts'

export type RedisReply = string | number | null | RedisReply[]

/** Credentials and TLS settings of a server. */
export interface RedisDoor {
  readonly port: number
  readonly password?: string | undefined
  /** The authority its certificate is from; without it the connection is not encrypted. */
  readonly caFile?: string | undefined
}

/** Sends one command on a new connection: slow, but no connection stays open when a server is killed. */
export async function sendCommand(
  { port, password, caFile }: RedisDoor,
  [name = '', ...args]: string[],
  msMax = REDIS_COMMAND_MS_MAX,
): Promise<RedisReply> {
  const client = new Redis({
    ...{ host: HOST, port, password, lazyConnect: true },
    ...{ connectTimeout: msMax, commandTimeout: msMax, disconnectTimeout: 0 },
    // Only this command, once: the server may be frozen, loading its data, or a sentinel.
    ...{ protocol: 2, retryStrategy: null, enableReadyCheck: false, disableClientInfo: true },
    ...(caFile === undefined ? {} : { tls: { ca: readFileSync(caFile) } }),
  })
  // `connect` says only that the connection was closed; the reason comes as an event.
  let reason: Error | undefined
  client.on('error', (error) => {
    reason ??= error
  })
  try {
    await client.connect()
    return (await client.call(name, ...args)) as RedisReply
  } catch (error) {
    throw reason ?? error
  } finally {
    client.disconnect()
  }
}
