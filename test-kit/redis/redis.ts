import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findRedis } from '../servers/binaries.ts'
import { CLUSTER_PROBE_MS_MAX, REDIS_START_MS_MAX, REDIS_STOP_MS_MAX } from '../servers/limits.ts'
import { freePort, HOST, launchOnPort, PortTaken, portIsFree } from '../servers/network/ports.ts'
import { logSize, logTail } from '../servers/processes/log-tail.ts'
import {
  type ManagedChild,
  makeTemporaryFolder,
  removeTemporaryFolder,
  spawnManagedChild,
} from '../servers/processes/managed-child.ts'
import { send } from '../servers/processes/process-tree.ts'
import { until } from '../servers/until.ts'
import { type RedisDoor, type RedisReply, sendCommand } from './command.ts'

export interface RedisOptions {
  /** Kept after stop(); without it stop() deletes everything. */
  dir?: string
  port?: number
  /** As in redis.conf (`{ appendonly: 'yes' }`); they override the defaults here. */
  settings?: Record<string, string>
  /** TLS only, also between the nodes of a cluster. */
  tls?: RedisTls
  /** Runs it as a sentinel; `settings` says what it watches (`{ 'sentinel monitor': 'name 127.0.0.1 6379 1' }`). */
  isSentinel?: boolean
}

/** Paths of PEM files; the certificate must be valid for 127.0.0.1. */
export interface RedisTls {
  readonly certFile: string
  readonly keyFile: string
  readonly caFile: string
}

export interface Redis extends RedisDoor {
  host: '127.0.0.1'
  url: string
  dir: string
  pid(): number | undefined
  /** Shuts down gracefully. Removes a temporary folder unless `keepData`; then start() works again. */
  stop(options?: { keepData?: boolean }): Promise<void>
  kill9(): Promise<void>
  /** On the same folder and port; `empty` deletes the persisted data. */
  start(options?: { empty?: boolean }): Promise<void>
  /** Pauses the process (SIGSTOP): connections stay open and nothing answers. */
  pause(): void
  resume(): void
  command(...args: string[]): Promise<RedisReply>
}

export function startRedis(options: RedisOptions = {}): Promise<Redis> {
  return startRedisOn(options, freePort)
}

/** A cluster node needs a different kind of port, hence the second argument. */
export async function startRedisOn(options: RedisOptions, choosePort: () => Promise<number>): Promise<Redis> {
  const program = join(findRedis(), 'redis-server')
  const dir = options.dir ? resolve(options.dir) : await makeTemporaryFolder(tmpdir(), 'redis')
  const settings = { ...(options.isSentinel ? { bind: HOST } : DEFAULTS), ...options.settings }
  const { tls, isSentinel = false } = options
  const doorOn = (port: number): RedisDoor => ({
    port,
    password: (settings as Record<string, string>).requirepass,
    caFile: tls?.caFile,
  })
  let server: ManagedChild | undefined
  let isRemoved = false

  const launch = async (port: number) => {
    const all = { ...settings, ...portSettings(port, tls) }
    server = await launchServer(program, dir, doorOn(port), all, isSentinel)
  }
  const removeDir = async () => {
    if (options.dir || isRemoved) return
    isRemoved = true
    await removeTemporaryFolder(dir)
  }
  const port = await launchOnPort(options.port, choosePort, launch).catch(async (error) => {
    await removeDir()
    throw error
  })
  const signal = (name: NodeJS.Signals) => {
    if (!server?.isRunning()) throw new Error('this Redis is not running')
    send(server.pid, name)
  }

  const door = doorOn(port)
  return {
    ...door,
    host: HOST,
    url: urlOf(door),
    dir,
    pid: () => (server?.isRunning() ? server.pid : undefined),
    async stop({ keepData = false } = {}) {
      if (server && !(await server.end('SIGTERM', REDIS_STOP_MS_MAX))) await server.killAll()
      if (!keepData) await removeDir()
    },
    async kill9() {
      await server?.killAll()
      await portIsFree(port)
    },
    async start({ empty = false } = {}) {
      if (server?.isRunning()) throw new Error('this Redis is already running')
      if (isRemoved) throw new Error('stop() removed the folder of this Redis; use stop({ keepData: true })')
      if (empty) await rm(join(dir, DATA), { recursive: true, force: true })
      await launchOnPort(port, choosePort, launch)
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    command: (...args) => sendCommand(door, args),
  }
}

const DATA = 'data'
const DEFAULTS: Record<string, string> = {
  bind: HOST,
  'protected-mode': 'yes',
  save: '',
  appendonly: 'no',
  'maxmemory-policy': 'noeviction',
}

function urlOf({ port, password, caFile }: RedisDoor): string {
  const credentials = password ? `:${encodeURIComponent(password)}@` : ''
  return `${caFile === undefined ? 'redis' : 'rediss'}://${credentials}${HOST}:${port}`
}

function portSettings(port: number, tls: RedisTls | undefined): Record<string, string> {
  if (!tls) return { port: String(port) }
  return {
    port: '0',
    'tls-port': String(port),
    'tls-cluster': 'yes',
    'tls-replication': 'yes',
    'tls-cert-file': tls.certFile,
    'tls-key-file': tls.keyFile,
    'tls-ca-cert-file': tls.caFile,
    'tls-auth-clients': 'no',
  }
}

async function launchServer(
  program: string,
  dir: string,
  door: RedisDoor,
  settings: Record<string, string>,
  isSentinel: boolean,
) {
  const log = join(dir, 'redis.log')
  const config = join(dir, 'redis.conf')
  await mkdir(join(dir, DATA), { recursive: true, mode: 0o700 })
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value || '""'}`)
  await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o600 })
  const logStart = await logSize(log)
  const server = spawnManagedChild(program, isSentinel ? [config, '--sentinel'] : [config], {
    cwd: join(dir, DATA),
    log,
    polite: 'SIGTERM',
  })
  const answers = async () => !server.isRunning() || (await isReady(door, server.pid, isSentinel))
  await until(answers, REDIS_START_MS_MAX, () => 'Redis does not answer').catch(async (error: Error) => {
    await server.killAll()
    throw new Error(`${error.message}:\n${await logTail(log, logStart)}`)
  })
  if (server.isRunning()) return server
  await server.exited
  const tail = await logTail(log, logStart)
  if (/bind.*in use|Failed listening on port/s.test(tail)) throw new PortTaken(door.port)
  throw new Error(`Redis did not start:\n${tail}`)
}

/**
 * The pid distinguishes our server from another that took the port just before. `async_loading` must not be mistaken for `loading`.
 */
async function isReady(door: RedisDoor, pid: number, isSentinel: boolean): Promise<boolean> {
  const info = String(await sendCommand(door, ['INFO'], CLUSTER_PROBE_MS_MAX).catch(() => ''))
  // A sentinel has no data to load.
  return info.includes(`process_id:${pid}\r\n`) && (isSentinel || info.includes('\r\nloading:0\r\n'))
}
