import { spawn } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, openDatabase, statement } from '../platform/database/db.ts'
import { BackupError } from './backup-error.ts'
import type { PgBackRest } from './pgbackrest.ts'

/** A PostgreSQL on restored data that only this user of the machine can reach. */
export interface PrivateServer {
  urlOf(database: string): string
  /** With one connection and no timeout: reading every row of a large store takes minutes. */
  open(database: string): Db
  query<Row extends object>(text: string, database?: string): Promise<Row[]>
  log(): Promise<string>
  stop(): Promise<void>
}

export interface PrivateServerOptions {
  readonly data: string
  readonly env: PgBackRest['env']
  /** Undefined: it archives nothing. */
  readonly archiveCommand: string | undefined
  /** For data that is discarded afterwards. */
  readonly isDisposable: boolean
}

const SUPERUSER = 'postgres'
const PORT = 5432
const CONNECTION = {
  application_name: 'shopwire-backup',
  connectionsMax: 1,
  connectMsMax: 30_000,
  statementMsMax: 6 * 3_600_000,
  lockMsMax: 60_000,
  namedStatements: true,
}
const POLL_MS = 100
const STOP_MS_MAX = 120_000
const LOG_LINES = 15

/**
 * Starts it and waits until recovery has ended, however long that takes. It listens on a socket in a folder of mode 700 and on no
 * network address. The decisive settings are on the command line, which overrides the settings that came with the data.
 */
export async function startPrivateServer(options: PrivateServerOptions): Promise<PrivateServer> {
  const { data, env } = options
  // Not below the data folder: a socket's path may have at most 107 characters.
  const folder = await mkdtemp('/tmp/shopwire-restore-')
  const logFile = join(folder, 'server.log')
  await writeFile(join(folder, 'hba.conf'), 'local all all trust\n')
  for (const name of ['ident.conf', 'postgresql.conf']) await writeFile(join(folder, name), '')
  const settings = Object.entries(settingsFor(folder, options)).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const output = openSync(logFile, 'a')
  const server = spawn(await programFor(data, env.PATH), ['-D', data, ...settings], {
    cwd: '/',
    stdio: ['ignore', output, output],
    env,
  })
  const killed = () => void server.kill('SIGQUIT')
  process.once('exit', killed)
  const ended = new Promise<void>((resolve) => {
    server.once('close', () => resolve())
    server.once('error', () => resolve())
  })
  const isRunning = () => server.pid !== undefined && server.exitCode === null && server.signalCode === null
  const log = async () => (await readFile(logFile, 'utf8')).trim()
  const cleanUp = async () => {
    process.off('exit', killed)
    await rm(folder, { recursive: true, force: true })
  }

  while (isRunning() && !(await isReady(data, server.pid))) await Promise.race([ended, sleep(POLL_MS)])
  if (!isRunning()) {
    const said = await log()
    await cleanUp()
    throw new RecoveryFailed(said)
  }
  const urlOf = (database: string) =>
    `postgres://${SUPERUSER}@/${encodeURIComponent(database)}?host=${encodeURIComponent(folder)}&port=${PORT}`
  const open = (database: string) => openDatabase({ url: urlOf(database), ...CONNECTION }, () => {})
  return {
    urlOf,
    log,
    open,
    async query<Row extends object>(text: string, database = 'postgres') {
      const db = open(database)
      try {
        return await db.many<Row>(statement(text, []))
      } finally {
        await db.close()
      }
    },
    async stop() {
      server.kill('SIGINT')
      await Promise.race([ended, sleep(STOP_MS_MAX, undefined, { ref: false })])
      if (isRunning()) server.kill('SIGQUIT')
      await ended
      await cleanUp()
    },
  }
}

/** The databases of stores: one, or several where cells share a server. */
export async function storesOf(server: PrivateServer): Promise<string[]> {
  const databases = await server.query<{ name: string }>(
    'select datname as name from pg_database where datallowconn and not datistemplate order by 1',
  )
  const stores: string[] = []
  for (const { name } of databases) {
    const [found] = await server.query<{ is_store: boolean }>(
      `select to_regclass('schema_migrations') is not null and to_regclass('orders') is not null as is_store`,
      name,
    )
    if (found?.is_store) stores.push(name)
  }
  return stores
}

export async function countOrders(server: PrivateServer): Promise<number> {
  let orders = 0
  for (const name of await storesOf(server)) {
    const [counted] = await server.query<{ orders: string }>('select count(*) as orders from orders', name)
    orders += Number(counted?.orders)
  }
  return orders
}

/** The server ended before recovery did. */
export class RecoveryFailed extends Error {
  override readonly name = 'RecoveryFailed'
  /** The last lines of its log. */
  readonly said: string
  /** Of the last transaction that was recovered, if one was. */
  readonly reachedAt: string | undefined

  constructor(log: string) {
    super('the restored server ended before its recovery did')
    this.said = log.split('\n').slice(-LOG_LINES).join('\n')
    this.reachedAt = lastTransaction(log)
  }
}

export function lastTransaction(log: string): string | undefined {
  return [...log.matchAll(/last completed transaction was at log time (\S+ [\d:]+)/g)].at(-1)?.[1]
}

function settingsFor(folder: string, { archiveCommand, isDisposable }: PrivateServerOptions) {
  return {
    config_file: join(folder, 'postgresql.conf'),
    hba_file: join(folder, 'hba.conf'),
    ident_file: join(folder, 'ident.conf'),
    listen_addresses: '',
    port: String(PORT),
    unix_socket_directories: folder,
    unix_socket_permissions: '0700',
    ssl: 'off',
    archive_mode: archiveCommand === undefined ? 'off' : 'on',
    archive_command: archiveCommand ?? '',
    // No query needs to run before recovery ends, and limits such as max_connections may then be lower than those of the lost
    // server.
    hot_standby: 'off',
    primary_conninfo: '',
    // A commit would wait for a standby that does not exist.
    synchronous_standby_names: '',
    shared_preload_libraries: '',
    max_connections: '20',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    logging_collector: 'off',
    log_destination: 'stderr',
    log_timezone: 'UTC',
    // Includes a summary of each phase of recovery, with the last transaction that it found.
    log_min_messages: 'log',
    lc_messages: 'C',
    fsync: isDisposable ? 'off' : 'on',
    autovacuum: isDisposable ? 'off' : 'on',
  }
}

async function programFor(data: string, path = ''): Promise<string> {
  const version = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim()
  const debian = `/usr/lib/postgresql/${version}/bin/postgres`
  if (existsSync(debian)) return debian
  const found = path.split(':').map((folder) => join(folder, 'postgres'))
  const program = found.find((file) => existsSync(file))
  if (program !== undefined) return program
  throw new BackupError(
    `PostgreSQL ${version} is not installed on this machine.`,
    `The backup is of PostgreSQL ${version}: apt-get install postgresql-${version}, or add its folder of programs to PATH.`,
  )
}

/** The lock file has the pid, and in its eighth line whether connections are accepted. */
async function isReady(data: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}
