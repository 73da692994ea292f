import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFaketime, findPostgres } from '../binaries.ts'
import {
  POSTGRES_FAST_STOP_MS_MAX,
  POSTGRES_IMMEDIATE_STOP_MS_MAX,
  POSTGRES_START_MS_MAX,
} from '../limits.ts'
import { freePort, HOST, launchOnPort, PortTaken, portIsFree } from '../network/ports.ts'
import { logSize, logTail } from '../processes/log-tail.ts'
import { type ManagedChild, removeTemporaryFolder, spawnManagedChild } from '../processes/managed-child.ts'
import { until } from '../until.ts'
import {
  environment,
  openHome,
  type PostgresHome,
  type PostgresPrograms,
  SUPERUSER,
  takeOver,
} from './postgres-home.ts'

export interface PostgresOptions {
  /** Kept after stop() and reused by the next start; without it stop() deletes everything. */
  dir?: string
  /** Another server's folder, of a server that is stopped: an empty folder begins as its copy, with its data and its password. */
  copyOf?: string
  /** The superuser's URL of a running server: this one begins as a base backup of it and follows it, until `select pg_promote()`. */
  standbyOf?: string
  port?: number
  /** Server settings, as in postgresql.conf; they override the defaults here. */
  settings?: Record<string, string>
  /** Flushes every commit to disk, as in production. */
  durable?: boolean
  /** The folder of `postgres` and `initdb`, instead of the one that is installed. */
  bin?: string
  /** Folders, as in a PATH, with the libraries of the programs in `bin`, if they do not find them by themselves. */
  libraries?: string
  /** A file that libfaketime reads: how far the server's clock is from the right one, such as `+86400`; whenever the file changes. */
  clockFile?: string
  /** Of its process, beside what it needs itself. */
  env?: Readonly<Record<string, string>>
  /** A folder of locales made by `localedef`, for a server with messages in a language that is not installed. */
  locales?: string
}

/** Fast lets transactions roll back, immediate and kill9 end in crash recovery. */
export type RestartMode = 'fast' | 'immediate' | 'kill9'

export interface Postgres {
  host: '127.0.0.1'
  port: number
  version: string
  dir: string
  superuserUrl: string
  url(user: string, password: string, database: string): string
  /** Of the running server; undefined while it is down. */
  pid(): number | undefined
  /** Fast shutdown. Removes a temporary folder unless `keepData`; then start() works again. */
  stop(options?: { keepData?: boolean }): Promise<void>
  /** Kills the processes as a power failure would: no shutdown, no last checkpoint. */
  kill9(): Promise<void>
  /** On the same folder and port as before. */
  start(): Promise<void>
  restart(mode?: RestartMode): Promise<void>
}

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const programs: PostgresPrograms = {
    bin: options.bin ?? findPostgres(),
    env: {
      ...environment(options.libraries, options.locales),
      ...options.env,
      ...(options.clockFile !== undefined && fakeClock(options.clockFile)),
    },
  }
  const { settings = {}, durable = false } = options
  const home = await openHome(programs, { ...options, durable })
  const all = { ...defaults(durable), ...settings }
  let server: ManagedChild | undefined
  let isRemoved = false

  const launch = async (port: number) => {
    server = await launchServer(programs, home, port, all)
  }
  const removeHome = async () => {
    if (!home.temporary || isRemoved) return
    isRemoved = true
    await removeTemporaryFolder(home.dir)
  }
  const port = await launchOnPort(options.port, freePort, launch).catch(async (error) => {
    await removeHome()
    throw error
  })
  const url = (user: string, password: string, database: string) =>
    `postgres://${[user, password].map(encodeURIComponent).join(':')}@${HOST}:${port}/${encodeURIComponent(database)}`

  const self: Postgres = {
    host: HOST,
    port,
    version: postgresVersion(options),
    dir: home.dir,
    superuserUrl: url(SUPERUSER, home.password, 'postgres'),
    url,
    pid: () => (server?.isRunning() ? server.pid : undefined),
    async stop({ keepData = false } = {}) {
      if (server) await shutDown(server)
      if (!keepData) await removeHome()
    },
    async kill9() {
      await server?.killAll()
      await portIsFree(port)
    },
    async start() {
      if (server?.isRunning()) throw new Error('this PostgreSQL is already running')
      if (isRemoved)
        throw new Error('stop() removed the folder of this PostgreSQL; use stop({ keepData: true })')
      await launchOnPort(port, freePort, launch)
    },
    async restart(mode = 'fast') {
      if (mode === 'kill9') await self.kill9()
      else if (server) await shutDown(server, mode)
      await self.start()
    },
  }
  return self
}

/** Its monotonic clock stays right, like that of a machine whose clock is set. */
function fakeClock(file: string): Record<string, string> {
  return {
    LD_PRELOAD: findFaketime(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
}

/**
 * Only a crash of the machine can lose what fsync=off left to the kernel, so tests go without it.
 * A commit still waits for its write: a killed server must keep what it confirmed.
 */
function defaults(durable: boolean): Record<string, string> {
  return {
    fsync: durable ? 'on' : 'off',
    // Whole pages in the log repair pages that a crash of the machine left half written.
    full_page_writes: durable ? 'on' : 'off',
    synchronous_commit: 'on',
    shared_buffers: '128MB',
    max_connections: '200',
    listen_addresses: HOST,
    // No Unix socket: its path can be too long in a deep folder, and it is not needed.
    unix_socket_directories: '',
    password_encryption: 'scram-sha-256',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_destination: 'stderr',
    logging_collector: 'off',
  }
}

async function launchServer(
  { bin, env }: PostgresPrograms,
  home: PostgresHome,
  port: number,
  settings: Record<string, string>,
) {
  await takeOver(home)
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const logStart = await logSize(home.log)
  const server = spawnManagedChild(join(bin, 'postgres'), ['-D', home.data, '-p', String(port), ...flags], {
    cwd: home.dir,
    log: home.log,
    env,
    owner: home.user,
    polite: 'SIGINT',
  })
  const settled = async () => !server.isRunning() || (await isReady(home, server.pid))
  await until(settled, POSTGRES_START_MS_MAX, () => 'PostgreSQL does not accept connections').catch(
    async (error: Error) => {
      await server.killAll()
      throw new Error(`${error.message}:\n${await logTail(home.log, logStart)}`)
    },
  )
  if (server.isRunning()) return server
  await server.exited
  const tail = await logTail(home.log, logStart)
  if (/could not bind .*in use/.test(tail)) throw new PortTaken(port)
  throw new Error(`PostgreSQL did not start:\n${tail}`)
}

/**
 * The lock file contains the pid and, in its eighth line, whether the server accepts connections. A query to the port
 * could be answered by another server.
 */
async function isReady(home: PostgresHome, pid: number): Promise<boolean> {
  const lines = (await readFile(join(home.data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

async function shutDown(server: ManagedChild, mode: 'fast' | 'immediate' = 'fast') {
  if (mode === 'fast' && (await server.end('SIGINT', POSTGRES_FAST_STOP_MS_MAX))) return
  if (await server.end('SIGQUIT', POSTGRES_IMMEDIATE_STOP_MS_MAX)) return
  await server.killAll()
}

/** Of the programs that `startPostgres` would run. */
export function postgresVersion({
  bin = findPostgres(),
  libraries,
}: Pick<PostgresOptions, 'bin' | 'libraries'>): string {
  const said = execFileSync(join(bin, 'postgres'), ['--version'], {
    encoding: 'utf8',
    env: environment(libraries),
  })
  return /\d+(\.\d+)*/.exec(said)?.[0] ?? said.trim()
}
