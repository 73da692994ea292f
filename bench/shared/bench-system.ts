import { openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Key } from '@shopwire/test-kit/requests/signed-request'
import { makeTemporaryFolder, type Postgres, removeTemporaryFolder } from '@shopwire/test-kit/servers'
import {
  createOperator,
  limitless,
  type ServerProcess,
  type Settings,
  startSystem,
} from '@shopwire/test-kit/systems'
import { Redis } from 'ioredis'
import pg from 'pg'
import { say } from './figures.ts'
import { placeOn } from './pin.ts'
import { accountIdSql } from './seed.ts'

export interface BenchKey extends Key {
  readonly account_id: string
  readonly access_version: number
}

export type Admission = 'postgres' | 'redis'
export type BenchSystem = Awaited<ReturnType<typeof startBenchSystem>>

const LOST_S_AGO = 3_600

export interface BenchSystemOptions {
  readonly accounts: number
  /** How many of the accounts get a key; they lie evenly among the others. */
  readonly keys: number
  readonly scopes: 'read' | 'ordering'
  /** Starts its API processes with an inspector, for `profileWhile`. */
  readonly profile?: boolean
  readonly settings?: Settings
  /** A PostgreSQL that other systems use too, and the name of the database there. */
  readonly postgres?: Postgres
  readonly databaseName?: string
}

/**
 * A system without API processes at first, with Redis beside PostgreSQL, with accounts, and keys for some of them. Its
 * settings are the defaults but for the addresses and for the rate limits, which a load of this size would run into. The
 * log goes to a file, as in production.
 */
export async function startBenchSystem({
  accounts,
  keys: keyCount,
  scopes,
  profile = false,
  ...options
}: BenchSystemOptions) {
  const folder = await makeTemporaryFolder(tmpdir(), 'bench')
  const system = await startSystem({
    ...options,
    admission: 'redis',
    apis: 0,
    durable: true,
    settings: { ...limitless, ...options.settings },
  })
  placeOn('database', system.postgres.pid())
  placeOn('database', system.redis?.pid())
  const placed = <Started extends ServerProcess>(server: Started): Started => {
    placeOn('service', server.pid())
    return server
  }
  const log = openSync(`${folder}/service.log`, 'a')
  const how = (isProfiled: boolean) => ({
    stdout: log,
    nodeArgs: isProfiled ? ['--inspect=127.0.0.1:0'] : [],
  })
  const owner = new pg.Client({ connectionString: system.database.ownerUrl })
  await owner.connect()
  const redisUrl = system.redis?.url ?? ''
  const redis = new Redis(redisUrl)
  say(`making ${accounts} accounts and ${keyCount} keys`)
  await owner.query(
    `insert into accounts (id, name, created_at)
     select ${accountIdSql('n')}, 'Bench', now()
       from generate_series(1, ${accounts}) n`,
  )
  await owner.query('insert into balances (account_id) select id from accounts')
  const keys = await makeKeys(owner, system.settingsOf('operator'), scopes, Math.floor(accounts / keyCount))
  return {
    ...system,
    folder,
    owner,
    redisUrl,
    keys,
    startApi: async (admission: Admission | 'redis-cluster', settings: Settings = {}) =>
      placed(await system.startApi({ SHOPWIRE_ADMISSION: admission, ...settings }, how(profile))),
    startWorker: async (isProfiled = false) => placed(await system.startWorker({}, how(isProfiled))),
    beginMemory: () => beginMemory(redis, keys),
    clearAdmission: () => clearAdmission(owner, redis),
    noncesSpent: (admission: Admission) => noncesSpent(admission, owner, redis),
    async stop() {
      redis.disconnect()
      await owner.end()
      await system.stop()
      await removeTemporaryFolder(folder)
    },
  }
}

/** By the admin command, because only the service can seal a secret. */
async function makeKeys(
  owner: pg.Client,
  settings: Settings,
  scopes: string,
  everyNth: number,
): Promise<BenchKey[]> {
  const { createKey, closeOperator } = createOperator(() => settings)
  const { rows } = await owner.query<{ id: string }>(
    'select id from accounts where right(id, 26)::bigint % $1 = 0 order by id',
    [everyNth],
  )
  const keys = await Promise.all(
    rows.map(async ({ id }) => ({ ...(await createKey(id, scopes)), account_id: id })),
  )
  await closeOperator()
  const { rows: accounts } = await owner.query<{ id: string; access_version: string }>(
    'select id, access_version from accounts',
  )
  const accessVersions = new Map(accounts.map(({ id, access_version }) => [id, Number(access_version)]))
  return keys.map((key) => ({ ...key, access_version: accessVersions.get(key.account_id) ?? 0 }))
}

/**
 * Dates the start of this Redis's memory back. For two minutes after a memory began, every nonce is also written to
 * PostgreSQL; that is needed after a loss, but is not what a running system does, and waiting for it would take long. Unlike
 * `ageMemory` it also begins the memory of the floor server, which has one key per account instead of one per slot.
 */
async function beginMemory(redis: Redis, keys: readonly BenchKey[]): Promise<void> {
  const [, run] = /run_id:(\w+)/.exec(await redis.info('server')) ?? []
  const lost_at = Math.floor(Date.now() / 1000) - LOST_S_AGO
  const names = new Set(keys.map(({ account_id }) => `shopwire:memory:{${account_id}}`))
  for await (const found of redis.scanStream({ match: 'shopwire:memory:*', count: 1_000 })) {
    for (const name of found as string[]) names.add(name)
  }
  const batch = redis.pipeline()
  for (const name of names) batch.hset(name, { run, lost_at, purged_to: 0 })
  await batch.exec()
}

/** Empties the windows and the nonces, so that every run begins with the same state. The markers that show whether admission state was lost stay. */
async function clearAdmission(owner: pg.Client, redis: Redis): Promise<void> {
  // In the order in which admit_many takes them: requests that wrk left behind may still be on their way.
  await owner.query('truncate admission_windows, spent_nonces, witnessed_nonces, witnessed_refusals')
  for await (const found of redis.scanStream({ match: 'shopwire:{*', count: 5_000 })) {
    if ((found as string[]).length > 0) await redis.unlink(found as string[])
  }
}

async function noncesSpent(admission: Admission, owner: pg.Client, redis: Redis): Promise<number> {
  if (admission === 'postgres') {
    const { rows } = await owner.query<{ spent: string }>(
      'select (select count(*) from spent_nonces) - (select count(*) from witnessed_nonces) as spent',
    )
    return Number(rows[0]?.spent)
  }
  let spent = 0
  for await (const found of redis.scanStream({ match: 'shopwire:{*:nonce:*', count: 5_000 })) {
    spent += (found as string[]).length
  }
  return spent
}
