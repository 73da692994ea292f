import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SCHEMA } from '../../../src/installation.ts'
import { readStatement } from '../../../src/platform/schema/build-index.ts'
import { migrate } from '../../../src/platform/schema/migrate.ts'
import { schemaMismatch } from '../../../src/platform/schema/schema-version.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

let database: TestDatabase
let schema: URL
let path: string
/** Of the baseline. */
let version: number
const query = (text: string) =>
  asSuperuser(async (client) => (await client.query(text)).rows, database.superuserUrl)
const indexState = async () =>
  (await query(`select indisvalid from pg_index where indexrelid = to_regclass('orders_key')`))[0]?.indisvalid

const INDEX = 'create index concurrently orders_key on orders (key_id);'
async function addIndexNext(statement = INDEX, header = '') {
  const name = `${String(version + 1).padStart(4, '0')}_index.sql`
  await writeFile(
    new URL(`tables/${name}`, schema),
    `-- migrate: no-transaction\n-- compatible-with: ${version}\n${header}-- Why.\n${statement}\n`,
  )
  return name
}

/** Has written to orders, and stays open: an index build has to wait for it. */
async function openWriter() {
  const client = new pg.Client({
    connectionString: database.superuserUrl,
    application_name: 'nightly-import',
  })
  await client.connect()
  await client.query('begin; lock table orders in row exclusive mode')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return { pid: rows[0]?.pid ?? 0, client }
}

describe('on a database of the baseline', () => {
  beforeEach(async () => {
    database = await openTestDatabase()
    path = await mkdtemp(join(tmpdir(), 'schema-'))
    schema = pathToFileURL(`${path}/`)
    await cp(SCHEMA, schema, { recursive: true })
    version = (await query('select number from schema_migrations')).length
  })
  afterEach(async () => {
    await database.close()
    await rm(path, { recursive: true })
  })

  test('migrations that start at once build the index once, and none waits for another for good', async () => {
    const name = await addIndexNext()
    const reports = await Promise.all(Array.from({ length: 4 }, () => migrate(database.ownerUrl, schema)))
    expect(reports.flatMap(({ applied }) => applied)).toEqual([name])
    expect(await indexState()).toBe(true)
    expect(await schemaMismatch(query, schema)).toBeUndefined()
  })

  test('a build waits for an open transaction and names it, while sales continue', async () => {
    await addIndexNext()
    const writer = await openWriter()
    const lines: string[] = []
    const named = Promise.withResolvers<void>()
    const migrating = migrate(database.ownerUrl, schema, (line) => {
      lines.push(line)
      if (line.includes('waits for')) named.resolve()
    })
    await named.promise
    const startedMs = performance.now()
    await query(`insert into orders select o.* from orders o where false`)
    expect(performance.now() - startedMs).toBeLessThan(400)
    expect(lines.join('\n')).toMatch(
      new RegExp(
        `_index\\.sql: waiting for writers.*waits for pid ${writer.pid} \\(application "nightly-import"`,
      ),
    )
    await writer.client.query('commit')
    await writer.client.end()
    await migrating
    expect(await indexState()).toBe(true)
  })

  test('a build that is blocked for good is stopped and names the session; the next run drops what is left and builds again', async () => {
    const name = await addIndexNext()
    const writer = await openWriter()
    const blocked = migrate(database.ownerUrl, schema, () => {}, { patienceMs: 700 })
    await expect(blocked).rejects.toThrow(
      new RegExp(
        `${name} waited .* was stopped.*pid ${writer.pid} \\(application "nightly-import".*migrate again`,
      ),
    )
    await writer.client.end()
    expect(await indexState()).toBe(false)
    expect(await schemaMismatch(query, schema)).toMatch(/Run "shopwire-admin migrate"/)

    const lines: string[] = []
    await migrate(database.ownerUrl, schema, (line) => lines.push(line))
    expect(lines.join('\n')).toMatch(
      /orders_key was left unfinished by an interrupted run; it is dropped and built again/,
    )
    expect(await indexState()).toBe(true)
    expect(await schemaMismatch(query, schema)).toBeUndefined()
  })

  test('an index that was built, but not recorded before the process died, is kept', async () => {
    await addIndexNext()
    await database.asOwner('create index orders_key on orders (key_id)')
    const [before] = await query(`select 'orders_key'::regclass::oid as oid`)
    await migrate(database.ownerUrl, schema)
    expect(await query(`select 'orders_key'::regclass::oid as oid`)).toEqual([before])
    expect(await schemaMismatch(query, schema)).toBeUndefined()
  })

  test('an index of that name on another table is refused', async () => {
    await addIndexNext()
    await database.asOwner('create index orders_key on api_keys (name)')
    await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
      /cannot build index orders_key on orders.*on api_keys already/,
    )
  })

  test('a build that fails says so, is not recorded, and is made once the cause is gone', async () => {
    await addIndexNext('create unique index concurrently orders_key on audit_log (actor);')
    await query(
      `insert into audit_log (id, at, actor, action, target, details) select n, now(), 'same', 'x', 'x', '{}' from generate_series(1, 2) n`,
    )
    await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
      /could not create unique index.*Remove the cause and migrate again/,
    )
    expect(await indexState()).toBe(false)
    await query(`delete from audit_log`)
    await migrate(database.ownerUrl, schema)
    expect(await indexState()).toBe(true)
  })

  test('a program starts without a migration that it declares as not needed', async () => {
    await addIndexNext(INDEX, '-- needed: no\n')
    expect(await schemaMismatch(query, schema)).toBeUndefined()
    await migrate(database.ownerUrl, schema)
    expect(await indexState()).toBe(true)
  })

  test('an index is dropped concurrently, and a second time does no harm', async () => {
    await database.asOwner('create index orders_key on orders (key_id)')
    await addIndexNext('drop index concurrently if exists orders_key;')
    await migrate(database.ownerUrl, schema)
    expect(await indexState()).toBeUndefined()
    await query(`delete from schema_migrations where number > ${version}`)
    await migrate(database.ownerUrl, schema)
  })
})

test.each([
  'create index concurrently a on orders (id); select 1',
  'create index a on orders (id)',
  'create index concurrently if not exists a on orders (id)',
  'create index concurrently on orders (id)',
  'drop index concurrently a, b',
  'alter table orders add column x text',
])('outside a transaction this is refused: %s', (text) => {
  expect(() => readStatement({ name: '0099_x.sql', text })).toThrow(/must hold exactly one statement/)
})
