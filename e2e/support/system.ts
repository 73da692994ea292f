import {
  type Postgres,
  type ProvisionedDatabase,
  provisionDatabase,
  type Redis,
  type RedisCluster,
  startPostgres,
  startRedis,
  startRedisCluster,
} from '@shopwire/engines'
import { type Ended, runProgram, type Settings } from './program.ts'
import { psql } from './psql.ts'
import { type Api, startApi } from './server-process.ts'
import { ownerSettings, settingsFor } from './settings.ts'
import type { Key } from './signed-request.ts'

export const admissionKinds = ['postgres', 'redis', 'redis-cluster'] as const
export type AdmissionKind = (typeof admissionKinds)[number]

/** For hooks: several systems at once on a busy machine take their time. */
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
  /** Works on the database of another system and leaves it running: most of a start is making a database. */
  readonly sharing?: System | undefined
}

/** A whole installation: private engines, migrated database, API processes, and the command that runs it. */
export interface System {
  readonly admission: AdmissionKind
  readonly apis: readonly Api[]
  readonly ports: readonly number[]
  readonly postgres: Postgres
  readonly database: ProvisionedDatabase
  /** Of the database of the shop, for looking in from outside. */
  readonly superuserUrl: string
  readonly redis: Redis | undefined
  readonly cluster: RedisCluster | undefined
  /** What all programs are started with; an operator's change is a change here and a restart. */
  settings: Settings
  // biome-ignore lint/suspicious/noExplicitAny: each command prints an object of its own
  admin(...args: string[]): Promise<any>
  /** The same without --json and without a verdict on its exit code. */
  runAdmin(...args: string[]): Promise<Ended>
  createAccount(options?: { scopes?: string }): Promise<{ account_id: string; key: Key }>
  createKey(account_id: string, scopes?: string): Promise<Key>
  /** Rows as text, asked as superuser. */
  query(statement: string): Promise<string>
  stop(): Promise<void>
}

export async function startSystem(options: SystemOptions): Promise<System> {
  const { admission, sharing } = options
  const [base, redis, cluster] = await Promise.all([
    sharing ?? startBase(options),
    admission === 'redis' ? startRedis({ settings: options.redisSettings ?? {} }) : undefined,
    admission === 'redis-cluster'
      ? startRedisCluster({ masters: 3, replicasPerMaster: options.replicas ?? 0 })
      : undefined,
  ])
  const { postgres, database, superuserUrl } = base
  const apis: Api[] = []
  const stop = async () => {
    const crashes = apis.flatMap((api) => api.crash() ?? [])
    await Promise.all(apis.map((api) => api.pid() !== undefined && api.kill('SIGKILL')))
    await Promise.all([sharing ? undefined : postgres.stop(), redis?.stop(), cluster?.stop()])
    if (crashes.length > 0) throw new Error(`an API process ended by itself:\n${crashes.join('\n')}`)
  }
  const urls = cluster?.urls ?? (redis && [redis.url])
  const settings = {
    ...base.settings,
    SHOPWIRE_ADMISSION: admission,
    ...(urls && { SHOPWIRE_REDIS_URLS: urls.join(',') }),
    ...options.settings,
  }
  try {
    await Promise.all(
      Array.from({ length: options.apis ?? 1 }, async () => void apis.push(await startApi(settings))),
    )
  } catch (error) {
    await stop()
    throw error
  }
  const system: System = {
    ...operatorOf(() => ({ ...system.settings, ...ownerSettings(database) })),
    admission,
    apis,
    ports: apis.map(({ port }) => port),
    postgres,
    database,
    superuserUrl,
    redis,
    cluster,
    settings,
    query: (statement) => psql(superuserUrl, statement),
    stop,
  }
  return system
}

const DATABASE = 'shopwire'

/** A server of its own with a migrated database, and the settings that belong to it. */
async function startBase({ durable = false, postgresDir }: SystemOptions) {
  const postgres = await startPostgres({ durable, ...(postgresDir && { dir: postgresDir }) })
  try {
    const database = await provisionDatabase(postgres, DATABASE)
    const settings = settingsFor(database)
    const migrated = await runProgram('migrate', [], { ...settings, ...ownerSettings(database) })
    if (migrated.code !== 0) throw new Error(`the database was not migrated:\n${migrated.stderr}`)
    return {
      postgres,
      database,
      settings,
      superuserUrl: postgres.superuserUrl.replace(/[^/]*$/, DATABASE),
    }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

function operatorOf(settings: () => Settings) {
  const runAdmin = (...args: string[]) => runProgram('admin', args, settings())
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runAdmin('--json', ...args)
    if (code !== 0) throw new Error(`shopwire-admin ${args.join(' ')} ended with ${code}:\n${stderr}`)
    return JSON.parse(stdout)
  }
  const createKey = async (account_id: string, scopes = 'all'): Promise<Key> => {
    const { key, secret } = await admin('keys', 'create', account_id, '--name', 'e2e', '--scopes', scopes)
    return { id: key.id, secret }
  }
  return {
    runAdmin,
    admin,
    createKey,
    async createAccount({ scopes = 'all' } = {}) {
      const { id: account_id } = await admin('accounts', 'create', 'E2E')
      return { account_id, key: await createKey(account_id, scopes) }
    },
  }
}
