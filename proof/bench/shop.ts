import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { type Postgres, provisionDatabase, startRedis } from '@shopwire/engines'
import { Redis } from 'ioredis'
import pg from 'pg'
import { migrate, runAdmin } from './programs.ts'
import { accountIdSql } from './seed.ts'

export interface BenchKey {
  readonly key_id: string
  readonly secret: string
  readonly hmacKey: KeyObject
  readonly account_id: string
  readonly access_version: number
}

export type Shop = Awaited<ReturnType<typeof openShop>>

/** Far from any run of ours: what is measured is the counting, not the refusing. */
export const REQUESTS_PER_MINUTE = 1_000_000
const LOST_S_AGO = 3_600

export interface ShopOptions {
  readonly postgres: Postgres
  readonly database: string
  readonly accounts: number
  /** How many of the accounts get a key; they lie evenly among the others. */
  readonly keys: number
  readonly scopes: 'read' | 'ordering'
  /** For the processes of the service, beyond what every bench gives them. */
  readonly extraEnv?: Readonly<Record<string, string>>
}

/** A migrated shop in a database of its own, with a private Redis, accounts, and keys for some of them. */
export async function openShop(
  folder: string,
  { postgres, database, accounts, keys: keyCount, scopes, extraEnv = {} }: ShopOptions,
  report: (line: string) => void,
) {
  const redisServer = await startRedis()
  const { ownerUrl, appUrl } = await provisionDatabase(postgres, database)
  const env = {
    SHOPWIRE_DATABASE_URL: appUrl,
    SHOPWIRE_ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    SHOPWIRE_REQUESTS_PER_MINUTE: String(REQUESTS_PER_MINUTE),
    SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: String(REQUESTS_PER_MINUTE),
    NODE_COMPILE_CACHE: `${folder}/compiled`,
    ...extraEnv,
  }
  await migrate({ ...env, SHOPWIRE_DATABASE_OWNER_URL: ownerUrl })

  const owner = new pg.Client({ connectionString: ownerUrl })
  await owner.connect()
  const redis = new Redis(redisServer.url)
  report(`making ${accounts} accounts and ${keyCount} keys`)
  await owner.query(
    `insert into accounts (id, name, created_at)
     select ${accountIdSql('n')}, 'Bench', now()
       from generate_series(1, ${accounts}) n`,
  )
  const keys = await makeKeys(owner, env, scopes, Math.floor(accounts / keyCount))
  return {
    env,
    owner,
    appUrl,
    redisUrl: redisServer.url,
    keys,
    beginMemory: () => beginMemory(redis, keys),
    forget: () => forget(owner, redis),
    noncesSpent: (admission: 'postgres' | 'redis') => noncesSpent(admission, owner, redis),
    async close() {
      redis.disconnect()
      await owner.end()
      await redisServer.stop()
    },
  }
}

/** By the admin command, because only the service can seal a secret. */
async function makeKeys(
  owner: pg.Client,
  env: Record<string, string>,
  scopes: string,
  everyNth: number,
): Promise<BenchKey[]> {
  const { rows: accounts } = await owner.query<{ id: string }>(
    'select id from accounts where right(id, 26)::bigint % $1 = 0 order by id',
    [everyNth],
  )
  const keys: Omit<BenchKey, 'access_version'>[] = []
  const next = accounts.values()
  const make = async () => {
    for (const { id: account_id } of next) {
      const { key, secret } = (await runAdmin(
        env,
        'keys',
        'create',
        account_id,
        '--name=bench',
        `--scopes=${scopes}`,
      )) as { key: { id: string }; secret: string }
      keys.push({ key_id: key.id, secret, hmacKey: createSecretKey(secret, 'utf8'), account_id })
    }
  }
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, make))
  const { rows } = await owner.query<{ id: string; access_version: string }>(
    'select id, access_version from accounts',
  )
  const accessVersions = new Map(rows.map(({ id, access_version }) => [id, Number(access_version)]))
  return keys.map((key) => ({ ...key, access_version: accessVersions.get(key.account_id) ?? 0 }))
}

/**
 * Dates the start of this Redis's memory back. For two minutes after a memory began every request is also witnessed in
 * PostgreSQL; that is right after a loss, is not what a running shop does, and would be a long wait before every bench.
 * The service has one memory key per slot; the floor server, which need not know slots, one per account.
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

/** Empties the windows and the nonces, so that every run begins with the same state. The memories stay. */
async function forget(owner: pg.Client, redis: Redis): Promise<void> {
  // In the order in which admit() takes them: requests that wrk left behind may still be on their way.
  await owner.query('truncate admission_windows, spent_nonces, witnessed_nonces, witnessed_refusals')
  for await (const found of redis.scanStream({ match: 'shopwire:{*', count: 5_000 })) {
    if ((found as string[]).length > 0) await redis.unlink(found as string[])
  }
}

async function noncesSpent(admission: 'postgres' | 'redis', owner: pg.Client, redis: Redis): Promise<number> {
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
