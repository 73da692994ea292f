import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { provisionDatabase, startPostgres, startRedis } from '@shopwire/engines'
import { Redis } from 'ioredis'
import pg from 'pg'
import { runProgram } from '../children.ts'

export interface BenchKey {
  readonly key_id: string
  readonly secret: string
  readonly hmacKey: KeyObject
  readonly account_id: string
  readonly standing: number
}

export type Shop = Awaited<ReturnType<typeof openShop>>

export const BIN = fileURLToPath(new URL('../../../service/bin/', import.meta.url))

/**
 * Enough that an account's window holds about what the contract allows by the end of a run. With a handful the windows
 * would grow to thousands of stamps, and reading them would hide everything else.
 */
const ACCOUNTS = 200
/** Far from any run of ours: what is measured is the counting, not the refusing. */
const REQUESTS_PER_MINUTE = 1_000_000
const LOST_S_AGO = 3_600

/** A private PostgreSQL and Redis with a migrated shop in it, accounts and one key each. */
export async function openShop(folder: string, report: (line: string) => void) {
  const [postgres, redisServer] = await Promise.all([startPostgres(), startRedis()])
  const { ownerUrl, appUrl } = await provisionDatabase(postgres, 'shopwire')
  const env = {
    SHOPWIRE_DATABASE_URL: appUrl,
    SHOPWIRE_ENCRYPTION_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    SHOPWIRE_REQUESTS_PER_MINUTE: String(REQUESTS_PER_MINUTE),
    NODE_COMPILE_CACHE: `${folder}/compiled`,
  }
  await runProgram(process.execPath, [`${BIN}migrate.ts`], { ...env, SHOPWIRE_DATABASE_OWNER_URL: ownerUrl })

  const owner = new pg.Client({ connectionString: ownerUrl })
  await owner.connect()
  const redis = new Redis(redisServer.url)
  report(`making ${ACCOUNTS} accounts and keys`)
  const keys = await makeKeys(owner, env)
  return {
    env,
    appUrl,
    redisUrl: redisServer.url,
    requestsMax: REQUESTS_PER_MINUTE,
    keys,
    beginMemory: () => beginMemory(redis, keys),
    forget: () => forget(owner, redis),
    noncesSpent: (admission: 'postgres' | 'redis') => noncesSpent(admission, owner, redis),
    async close() {
      redis.disconnect()
      await owner.end()
      await Promise.all([postgres.stop(), redisServer.stop()])
    },
  }
}

/** The accounts by SQL; the keys by the admin command, because only the service can seal a secret. */
async function makeKeys(owner: pg.Client, env: Record<string, string>): Promise<BenchKey[]> {
  const { rows: accounts } = await owner.query<{ id: string }>(
    `insert into accounts (id, name, created_at)
     select 'acct_' || lpad(n::text, 26, '0'), 'Bench', now()
       from generate_series(1, $1::integer) n
     returning id`,
    [ACCOUNTS],
  )
  const keys: Omit<BenchKey, 'standing'>[] = []
  const next = accounts.values()
  const make = async () => {
    for (const { id: account_id } of next) {
      const args = [`${BIN}admin.ts`, 'keys', 'create', account_id, '--name=bench', '--scopes=read', '--json']
      const { key, secret } = JSON.parse(await runProgram(process.execPath, args, env)) as {
        key: { id: string }
        secret: string
      }
      keys.push({ key_id: key.id, secret, hmacKey: createSecretKey(secret, 'utf8'), account_id })
    }
  }
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, make))
  const { rows } = await owner.query<{ id: string; standing: string }>('select id, standing from accounts')
  const standings = new Map(rows.map(({ id, standing }) => [id, Number(standing)]))
  return keys.map((key) => ({ ...key, standing: standings.get(key.account_id) ?? 0 }))
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
  await owner.query('truncate spent_nonces, witnessed_nonces, admission_windows')
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
