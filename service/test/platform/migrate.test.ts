import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { findPostgres } from '@shopwire/engines'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate, schemaMismatch } from '../../src/platform/migrate.ts'
import { MIGRATIONS } from '../../src/wiring.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../testing/database.ts'

let database: TestDatabase
let folder: URL
beforeEach(async () => {
  database = await openTestDatabase({ isEmpty: true })
  const path = await mkdtemp(join(tmpdir(), 'migrations-'))
  await cp(MIGRATIONS, path, { recursive: true })
  folder = pathToFileURL(`${path}/`)
})
afterEach(() => database.close())

const query = (text: string) =>
  asSuperuser(async (client) => (await client.query(text)).rows, database.superuserUrl)
const countFiles = async () => (await query('select number from schema_migrations')).length

test('processes that migrate at the same time all succeed, and each file is applied once', async () => {
  const reports = await Promise.all(Array.from({ length: 6 }, () => migrate(database.ownerUrl, folder)))
  const applied = reports.flatMap((report) => report.applied)
  expect(new Set(applied).size).toBe(applied.length)
  expect(applied).toHaveLength(await countFiles())
  expect(await schemaMismatch(query, folder)).toBeUndefined()
})

test('a database that is behind is reported with the command to run', async () => {
  expect(await schemaMismatch(query, folder)).toMatch(/version 0.*shopwire-admin migrate/)
})

test('a database newer than the program is refused', async () => {
  const { version } = await migrate(database.ownerUrl, folder)
  await query(`insert into schema_migrations (number, name, checksum) values (${version + 1}, 'later', 'x')`)
  await expect(migrate(database.ownerUrl, folder)).rejects.toThrow(/newer than this program/)
  expect(await schemaMismatch(query, folder)).toMatch(/newer than this program/)
})

test('an applied file that was edited is refused', async () => {
  await migrate(database.ownerUrl, folder)
  const file = new URL('0002_accounts.sql', folder)
  await writeFile(file, `${await readFile(file, 'utf8')}\n-- a thought`)
  await expect(migrate(database.ownerUrl, folder)).rejects.toThrow(
    /0002_accounts.sql was applied with other contents/,
  )
})

test('a file that fails is rolled back, and the error names it', async () => {
  const { version } = await migrate(database.ownerUrl, folder)
  const next = `${String(version + 1).padStart(4, '0')}_broken.sql`
  await writeFile(new URL(next, folder), 'create table half (id int); select nonsense;')
  await expect(migrate(database.ownerUrl, folder)).rejects.toThrow(
    new RegExp(`${next} failed and was rolled back`),
  )
  expect(await query(`select to_regclass('half') as found`)).toEqual([{ found: null }])
  expect(await countFiles()).toBe(version)
})

test('a gap in the numbers is refused before anything runs', async () => {
  await writeFile(new URL('0099_far.sql', folder), 'select 1')
  await expect(migrate(database.ownerUrl, folder)).rejects.toThrow(/0099_far.sql is out of sequence/)
})

test('a file is committed and its locks are released even when the migrating process is frozen right after sending it', async () => {
  const { version } = await migrate(database.ownerUrl, folder)
  await addColumnNext(version)
  let frozen: string | undefined
  const freezeUntilCommitted = () => {
    // This process is blocked until psql has ended.
    const args = ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--command', COLUMN_IS_THERE]
    frozen = spawnSync(join(findPostgres(), 'psql'), [...args, database.superuserUrl]).stderr.toString()
  }
  await migrate(database.ownerUrl, folder, () => void setImmediate(freezeUntilCommitted))
  expect(frozen).toBe('')
})

const COLUMN_IS_THERE = `
  do $$ begin
    for i in 1..60 loop
      if exists (select from pg_attribute where attrelid = 'orders'::regclass and attname = 'added_later') then return; end if;
      perform pg_sleep(0.05);
    end loop;
    raise exception 'the migration is not committed';
  end $$`

async function addColumnNext(version: number) {
  const next = `${String(version + 1).padStart(4, '0')}_adds_a_column.sql`
  await writeFile(
    new URL(next, folder),
    'alter table orders add column added_later text; -- without a line end',
  )
}

describe('with a transaction open that has read orders', () => {
  const SALE_MS_MAX = 1_500
  let reader: pg.Client
  let readerPid: number

  beforeEach(async () => {
    const { version } = await migrate(database.ownerUrl, folder)
    await addColumnNext(version)
    reader = new pg.Client({ connectionString: database.superuserUrl, application_name: 'nightly-export' })
    await reader.connect()
    await reader.query('begin')
    await reader.query('select count(*) from orders')
    const { rows } = await reader.query<{ pid: number }>('select pg_backend_pid() as pid')
    readerPid = rows[0]?.pid ?? 0
  })
  afterEach(() => reader.end())

  test('a migration of orders is retried until the reader has ended, and no insert waits longer than 1.5 s', async () => {
    const lines: string[] = []
    const retried = Promise.withResolvers<void>()
    const migrating = migrate(database.ownerUrl, folder, (line) => {
      lines.push(line)
      if (line.includes('attempt 2')) retried.resolve()
    })
    const sales = sellUntil(migrating)
    await retried.promise
    await reader.query('commit')
    const { applied } = await migrating
    const waits = await sales
    expect(applied).toEqual([expect.stringContaining('adds_a_column')])
    expect(lines.filter((line) => line.includes(`pid ${readerPid}`)).length).toBeGreaterThanOrEqual(2)
    expect(waits.length).toBeGreaterThan(10)
    // Some did wait: the migration blocked them for a moment.
    expect(Math.max(...waits)).toBeGreaterThan(100)
    expect(Math.max(...waits)).toBeLessThan(SALE_MS_MAX)
  })

  test('a migration that stays blocked fails, is rolled back, and names the blocking session', async () => {
    const blocked = migrate(database.ownerUrl, folder, () => {}, { patienceMs: 1_000 })
    await expect(blocked).rejects.toThrow(/rolled back/)
    await expect(blocked).rejects.toThrow(
      new RegExp(`pid ${readerPid} \\(application "nightly-export".*transaction open for .*\\d s`),
    )
    await expect(blocked).rejects.toThrow(/pg_terminate_backend/)
    expect(await schemaMismatch(query, folder)).toMatch(/Run "shopwire-admin migrate"/)
  })

  /** Repeats a write to orders that matches no row; returns how long each statement took. */
  async function sellUntil(ended: Promise<unknown>): Promise<number[]> {
    let isOver = false
    const over = () => {
      isOver = true
    }
    ended.then(over, over)
    const waits: number[] = []
    await asSuperuser(async (client) => {
      while (!isOver) {
        const startedMs = performance.now()
        await client.query(`insert into orders select o.* from orders o where false`)
        waits.push(performance.now() - startedMs)
        await sleep(20)
      }
    }, database.superuserUrl)
    return waits
  }
})

test('a reference that had credited two accounts belongs to the first of them after the migration', async () => {
  const files = (await readdir(folder)).sort()
  const at = files.findIndex((name) => name.endsWith('_funding_references.sql'))
  for (const name of files.slice(at)) await rm(new URL(name, folder))
  await migrate(database.ownerUrl, folder)
  await query(`
    insert into accounts (id, name, created_at) values ('acct_a', 'A', now()), ('acct_b', 'B', now());
    insert into transfers (account_id, seq, id, kind, debit, credit, amount_cents, balance_after_cents, reference, created_at)
    values ('acct_a', 1, 'tr_2', 'funding', 'house:cash', 'customer', 5, 5, 'wire', '2026-02-02'),
           ('acct_b', 1, 'tr_1', 'funding', 'house:cash', 'customer', 5, 5, 'wire', '2026-01-01'),
           ('acct_a', 2, 'tr_3', 'adjustment', 'house:adjustments', 'customer', 5, 10, 'case', '2026-03-03')`)
  await migrate(database.ownerUrl, MIGRATIONS)
  expect(await query('select reference, account_id from funding_references')).toEqual([
    { reference: 'wire', account_id: 'acct_b' },
  ])
})
