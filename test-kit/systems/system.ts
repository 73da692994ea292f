import { type Redis, type RedisCluster, startRedis, startRedisCluster } from '../redis/index.ts'
import { type Postgres, type ProcessName, type ProvisionedDatabase, startPostgres } from '../servers/index.ts'
import { migratedDatabase, preparedDatabase } from './database/prepared-database.ts'
import { psql } from './database/psql.ts'
import { createOperator, type Operator } from './operator.ts'
import type { Settings, SpawnOptions } from './programs/program.ts'
import {
  type ApiProcess,
  type ServerProcess,
  startApi,
  startDashboard,
  startWorker,
  type WorkerProcess,
} from './programs/server-process.ts'
import { timed } from './programs/starts.ts'
import { loginSettings, ownerSettings, sharedSettings } from './settings.ts'

export const admissionKinds = ['postgres', 'redis', 'redis-cluster'] as const
export type AdmissionKind = (typeof admissionKinds)[number]

/** For hooks: starting several systems at once on a busy machine takes long. */
export const START_MS_MAX = 180_000

export interface SystemOptions {
  readonly admission: AdmissionKind
  /** How many API processes; one by default. */
  readonly apis?: number
  /** Replicas per master of a Redis Cluster. */
  readonly replicas?: 0 | 1
  /** Settings of the programs, over the usual ones. */
  readonly settings?: Settings
  readonly redisSettings?: Settings
  /** Whether commits reach the disk, as in production. */
  readonly durable?: boolean
  /** Where PostgreSQL keeps its data, instead of a folder of its own. */
  readonly postgresDir?: string
  readonly postgresSettings?: Settings
  readonly postgresEnv?: Settings
  /** Uses the database of another system and leaves it running: most of a start is making a database. */
  readonly sharing?: System | undefined
  /** A PostgreSQL that is running already and is left running, for several systems on one server. Its database is made, not copied. */
  readonly postgres?: Postgres
  /** With `postgres` only. */
  readonly databaseName?: string
}

/** A whole installation: private engines, a migrated database, API processes, and the operator's command. */
export interface System extends Operator {
  readonly admission: AdmissionKind
  /** Those it began with. */
  readonly apis: readonly ApiProcess[]
  readonly ports: readonly number[]
  readonly postgres: Postgres
  /** Where it is and who signs in; a database that moves is a change here and a restart. */
  database: ProvisionedDatabase
  /** Of the system's database, for looking at it with all rights. */
  readonly superuserUrl: string
  readonly redis: Redis | undefined
  readonly cluster: RedisCluster | undefined
  /** What all programs are started with, beside their logins; an operator's change is a change here and a restart. */
  settings: Settings
  /** These settings and the login of one process. */
  settingsOf(process: ProcessName): Settings
  /** One more process with these settings and the changed ones. It ends with the system at the latest. */
  startApi(changed?: Settings, options?: SpawnOptions): Promise<ApiProcess>
  startWorker(changed?: Settings, options?: SpawnOptions): Promise<WorkerProcess>
  startDashboard(changed?: Settings, options?: SpawnOptions): Promise<ApiProcess>
  /** Has stop() end another process too. */
  owns<Process extends ServerProcess>(process: Process): Process
  /** Rows as text, asked as superuser. */
  query(statement: string): Promise<string>
  /** Ends the processes and the engines. Fails when a process ended without having been asked to. */
  stop(): Promise<void>
}

export function startSystem(options: SystemOptions): Promise<System> {
  return timed('a system', () => start(options))
}

async function start(options: SystemOptions): Promise<System> {
  const { admission, sharing } = options
  const [base, redis, cluster] = await Promise.all([
    sharing ?? startBase(options),
    admission === 'redis' ? startRedis({ settings: options.redisSettings ?? {} }) : undefined,
    admission === 'redis-cluster'
      ? startRedisCluster({ masters: 3, replicasPerMaster: options.replicas ?? 0 })
      : undefined,
  ])
  const { postgres, superuserUrl } = base
  const isPostgresOurs = !sharing && !options.postgres
  const urls = cluster?.urls ?? (redis && [redis.url])
  const apis: ApiProcess[] = []
  const processes: ServerProcess[] = []
  const owns = <Process extends ServerProcess>(process: Process) => {
    processes.push(process)
    return process
  }
  const system: System = {
    ...createOperator(() => ({ ...system.settingsOf('operator'), ...ownerSettings(system.database) })),
    admission,
    apis,
    get ports() {
      return apis.map(({ port }) => port)
    },
    postgres,
    database: base.database,
    superuserUrl,
    redis,
    cluster,
    settings: {
      ...base.settings,
      SHOPWIRE_ADMISSION: admission,
      ...(urls && { SHOPWIRE_REDIS_URLS: urls.join(',') }),
      ...options.settings,
    },
    settingsOf: (process) => ({ ...system.settings, ...loginSettings(system.database, process) }),
    owns,
    startApi: async (changed, how) => owns(await startApi({ ...system.settingsOf('api'), ...changed }, how)),
    startWorker: async (changed, how) =>
      owns(await startWorker({ ...system.settingsOf('worker'), ...changed }, how)),
    startDashboard: async (changed, how) =>
      owns(await startDashboard({ ...system.settingsOf('dashboard'), ...changed }, how)),
    query: (statement) => psql(superuserUrl, statement),
    async stop() {
      await system.closeOperator()
      const crashes = processes.flatMap((process) => process.crash() ?? [])
      await Promise.all(processes.map((process) => process.pid() !== undefined && process.kill('SIGKILL')))
      await Promise.all([isPostgresOurs ? postgres.stop() : undefined, redis?.stop(), cluster?.stop()])
      if (crashes.length > 0) throw new Error(`a process ended by itself:\n${crashes.join('\n')}`)
    },
  }
  try {
    const starts = Array.from({ length: options.apis ?? 1 }, () => system.startApi())
    apis.push(...(await Promise.all(starts)))
  } catch (error) {
    await system.stop()
    throw error
  }
  return system
}

/** A system of each kind of admission, side by side. */
export interface Systems {
  of(admission: AdmissionKind): System
  stop(): Promise<void>
}

export async function startSystems(
  options: Omit<SystemOptions, 'admission' | 'sharing'>,
  kinds: readonly AdmissionKind[] = admissionKinds,
): Promise<Systems> {
  const systems = await Promise.all(kinds.map((admission) => startSystem({ ...options, admission })))
  return {
    of(wanted) {
      const found = systems.find(({ admission }) => admission === wanted)
      if (!found) throw new Error(`no system with admission in ${wanted} was started`)
      return found
    },
    async stop() {
      await Promise.all(systems.map((system) => system.stop()))
    },
  }
}

/** A PostgreSQL with a migrated database, and the settings that belong to it. */
async function startBase(options: SystemOptions) {
  const { databaseName } = options
  const { postgres, database, name } = options.postgres
    ? await databaseOn(options.postgres, databaseName ?? 'shopwire')
    : await startPrepared(options)
  return { postgres, database, settings: sharedSettings(), superuserUrl: superuserUrl(postgres, name) }
}

async function databaseOn(postgres: Postgres, name: string) {
  return { postgres, database: await migratedDatabase(postgres, name), name }
}

async function startPrepared({
  durable = false,
  postgresDir,
  postgresSettings = {},
  postgresEnv = {},
}: SystemOptions) {
  const prepared = await preparedDatabase()
  const postgres = await startPostgres({
    durable,
    settings: postgresSettings,
    env: postgresEnv,
    copyOf: prepared.dir,
    ...(postgresDir && { dir: postgresDir }),
  })
  // As a database that was made on this server: otherwise the API takes the copy for one that lost its nonces, and refuses callers for a second.
  await psql(
    superuserUrl(postgres, prepared.name),
    'update admission_memory set server_started_at = pg_postmaster_start_time()',
  )
  return { postgres, database: prepared.on(postgres), name: prepared.name }
}

/** Of any database on the server, with all rights. */
export function superuserUrl(postgres: Postgres, database: string): string {
  return postgres.superuserUrl.replace(/[^/]*$/, database)
}
