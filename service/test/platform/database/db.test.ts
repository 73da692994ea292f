import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '@shopwire/test-kit/servers'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Db, openDatabase, sql } from '../../../src/platform/database/db.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
  await asSuperuser(
    (client) =>
      client.query(`create table pairs (id int primary key, n bigint not null); grant all on pairs to shopwire_api_rights;
                    insert into pairs values (1, 0), (2, 0)`),
    database.superuserUrl,
  )
})
afterAll(() => database.close())

const quickly = (overrides: object = {}) =>
  openDatabase(
    {
      url: database.processUrls.api,
      application_name: 'test',
      connectionsMax: 2,
      connectMsMax: 300,
      statementMsMax: 300,
      lockMsMax: 200,
      namedStatements: true,
      ...overrides,
    },
    () => {},
  )

test('threat 46: 64-bit integers are returned as numbers, not as text', async () => {
  const { n } = await database.api.one<{ n: number }>(sql`select 40::bigint as n`)
  expect(n + 2).toBe(42)
})

test('an integer too large to be exact throws instead of being rounded', async () => {
  await expect(database.api.one(sql`select 9007199254740993::bigint as n`)).rejects.toThrow(/out of range/)
})

test('equal statement texts get the same name', () => {
  const statement = (n: number) => sql`select ${n}::int`
  expect(statement(1).name).toBe(statement(2).name)
  expect(statement(1).name).not.toBe(sql`select ${1}::bigint`.name)
})

test('a transaction that throws leaves no rows', async () => {
  await expect(
    database.api.transaction(async (tx) => {
      await tx.run(sql`update pairs set n = 99 where id = 1`)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect(await database.api.one(sql`select n from pairs where id = 1`)).toEqual({ n: 0 })
})

test('threat 15: two transactions that lock in opposite order both succeed, because the deadlock is retried', async () => {
  let arrived = 0
  let open = () => {}
  const bothHoldOne = new Promise<void>((resolve) => {
    open = resolve
  })
  const cross = (first: number, second: number) =>
    database.api.transaction(async (tx) => {
      await tx.run(sql`update pairs set n = n + 1 where id = ${first}`)
      arrived += 1
      if (arrived === 2) open()
      await bothHoldOne
      await tx.run(sql`update pairs set n = n + 1 where id = ${second}`)
    })
  await Promise.all([cross(1, 2), cross(2, 1)])
  expect(await database.api.many(sql`select n from pairs order by id`)).toEqual([{ n: 2 }, { n: 2 }])
})

test('threat 13: statement timeout, lock timeout and no free connection all fail with Unavailable', async () => {
  const db = await connected(quickly())
  const starved = await connected(quickly({ connectionsMax: 1, statementMsMax: 5_000 }))
  try {
    await expect(db.one(sql`select pg_sleep(2)`)).rejects.toBeInstanceOf(Unavailable)
    await database.api.transaction(async (tx) => {
      await tx.run(sql`update pairs set n = n where id = 1`)
      await expect(db.run(sql`update pairs set n = n where id = 1`)).rejects.toBeInstanceOf(Unavailable)
    })
    await starved.transaction(async (holder) => {
      await expect(starved.one(sql`select 1`)).rejects.toBeInstanceOf(Unavailable)
      expect(await holder.one(sql`select 1 as n`)).toEqual({ n: 1 })
    })
  } finally {
    await db.close()
    await starved.close()
  }
})

/** On a busy machine the first connection may take longer than it is waited for. Once open it is kept. */
async function connected(db: Db): Promise<Db> {
  await expect.poll(() => db.one(sql`select 1 as n`).catch(() => undefined)).toEqual({ n: 1 })
  return db
}

test('threat 9: a commit that PostgreSQL answers with a warning fails with Unavailable (outcome unknown)', async () => {
  await database.asOwner(`create function warn() returns int language plpgsql as
    $$ begin raise warning 'canceling wait for synchronous replication'; return 1; end $$`)
  await expect(database.api.commit(sql`select warn() as n`)).rejects.toBeInstanceOf(Unavailable)
  expect(await database.api.commit(sql`select 1 as n`)).toEqual({ n: 1 })
})

test('a commit with a notice succeeds', async () => {
  await database.asOwner(`create function note() returns int language plpgsql as
    $$ begin raise notice 'by the way'; return 1; end $$`)
  expect(await database.api.commit(sql`select note() as n`)).toEqual({ n: 1 })
})

test('a commit whose wait for the standby was cancelled has an unknown outcome, on a server with German messages too', async ({
  skip,
}) => {
  const locales = await makeGermanLocale().catch(() => skip('needs localedef and the Debian package locales'))
  const postgres = await startPostgres({
    locales,
    settings: { lc_messages: GERMAN, synchronous_standby_names: 'nobody' },
  })
  const db = quickly({ url: postgres.superuserUrl, statementMsMax: 20_000 })
  try {
    await asSuperuser(async (client) => {
      await client.query('set synchronous_commit = local')
      await client.query('create table kept (n int)')
      const severity = await severityOfAWarning(client)
      if (severity === 'WARNING') skip(`PostgreSQL ${postgres.version} was built without German messages`)
      expect(severity).toBe('WARNUNG')

      const ways = [
        () => db.commit(sql`insert into kept values (1) returning n`),
        () => db.transaction((tx) => tx.run(sql`insert into kept values (2)`)),
      ]
      for (const commit of ways) {
        const outcome = commit().catch((error: unknown) => error)
        await expect.poll(() => cancelWaitForStandby(client)).toBe(1)
        expect(await outcome).toBeInstanceOf(Unavailable)
      }
      // It was committed on the primary, so it must not be reported as rolled back.
      expect((await client.query('select n from kept order by n')).rows).toEqual([{ n: 1 }, { n: 2 }])
    }, postgres.superuserUrl)
  } finally {
    await db.close()
    await postgres.stop()
    await rm(locales, { recursive: true })
  }
})

const GERMAN = 'de_DE.UTF-8'

/** In a separate folder, because the machine may not have this locale. */
async function makeGermanLocale(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'locales-'))
  // The server runs as another user.
  await chmod(folder, 0o755)
  await promisify(execFile)('localedef', ['-i', 'de_DE', '-f', 'UTF-8', join(folder, GERMAN)])
  return folder
}

async function severityOfAWarning(client: pg.Client) {
  const noticed = once(client, 'notice')
  await client.query(`do $$ begin raise warning 'x'; end $$`)
  const [{ severity }] = await noticed
  return severity as string
}

async function cancelWaitForStandby(client: pg.Client) {
  const { rowCount } = await client.query(
    `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
  )
  return rowCount
}

test('a server that cannot be reached fails with Unavailable', async () => {
  const db = quickly({ url: 'postgres://nobody:nothing@127.0.0.1:1/none' })
  await expect(db.one(sql`select 1`)).rejects.toBeInstanceOf(Unavailable)
  await expect(db.transaction((tx) => tx.one(sql`select 1`))).rejects.toBeInstanceOf(Unavailable)
  await db.close()
})

test('an error in our own SQL is not reported as Unavailable', async () => {
  await expect(database.api.one(sql`select nonsense`)).rejects.toMatchObject({ code: '42703' })
})

test('an error in our own SQL inside a transaction is not reported as Unavailable', async () => {
  const mistake = Object.assign(new TypeError('not a string'), { code: 'ERR_INVALID_ARG_TYPE' })
  await expect(database.api.transaction(() => Promise.reject(mistake))).rejects.toBe(mistake)
})

test('a transaction that swallowed a database error does not count as committed', async () => {
  const swallowing = database.api.transaction(async (tx) => {
    await tx.run(sql`update pairs set n = n + 1 where id = 1`)
    await tx.run(sql`select nonsense`).catch(() => {})
  })
  await expect(swallowing).rejects.toThrow(/swallows/)
})

test('a connection that was cut is not used again', async () => {
  const db = quickly({ connectionsMax: 1 })
  const { pid } = await db.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  await asSuperuser((client) => client.query('select pg_terminate_backend($1)', [pid]))
  const after = await db
    .one<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    .catch((error: unknown) => error)
  if (after instanceof Error) expect(after).toBeInstanceOf(Unavailable)
  const again = await db.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  expect(again.pid).not.toBe(pid)
  await db.close()
})
