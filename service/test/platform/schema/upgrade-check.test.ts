import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runAdmin } from '../../../src/admin/program.ts'
import type { CommandContext } from '../../../src/admin/terminal/command-context.ts'
import { SCHEMA } from '../../../src/installation.ts'
import { MIGRATION_LOCK_ID, migrate } from '../../../src/platform/schema/migrate.ts'
import { readSchema } from '../../../src/platform/schema/schema-files.ts'
import {
  checkUpgrade,
  type UpgradeCheck,
  type UpgradeCheckOptions,
} from '../../../src/platform/schema/upgrade-check.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const OPTIONS: UpgradeCheckOptions = { lookMs: 50, pauseSecondsMax: 5, isOneWayAccepted: false }
let database: TestDatabase
let next: URL
let path: string
let today: number
const sessions: pg.Client[] = []

beforeEach(async () => {
  database = await openTestDatabase()
  path = await mkdtemp(join(tmpdir(), 'next-'))
  next = pathToFileURL(`${path}/`)
  await cp(SCHEMA, next, { recursive: true })
  today = (await readSchema(SCHEMA)).migrations.length
})
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((one) => one.end()))
  await database.close()
  await rm(path, { recursive: true })
})

const check = (options: Partial<UpgradeCheckOptions> = {}, url = database.ownerUrl) =>
  checkUpgrade(url, next, { ...OPTIONS, ...options })

/** Files of the next release, in their order. */
async function add(...texts: string[]): Promise<void> {
  for (const [n, text] of texts.entries()) {
    const name = `${String(today + n + 1).padStart(4, '0')}_change.sql`
    await writeFile(new URL(`tables/${name}`, next), text.replaceAll('{today}', String(today)))
  }
}
const ADDS_COLUMN =
  '-- compatible-with: {today}\n-- Who sold it. Programs of the release before leave it empty.\nalter table orders add column sold_by text;\n'
const BUILDS_INDEX =
  '-- migrate: no-transaction\n-- compatible-with: {today}\n-- needed: no\n-- For lists by seller.\ncreate index concurrently orders_sold_by on orders (account_id, status);\n'

async function session(url: string, ...statements: string[]): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'report' })
  client.on('error', () => {})
  sessions.push(client)
  await client.connect()
  for (const statement of statements) await client.query(statement)
  return client
}

test('a database that is up to date: nothing to do, go', async () => {
  expect(await check()).toMatchObject({
    go: true,
    database_version: today,
    program_version: today,
    migrations: [],
    functions: { replaced: [] },
    estimate: { seconds: 0, pause_seconds: 0 },
    programs: { way_back_open: true },
  })
})

test('pending files are listed with description, locks, sizes and what they say about older programs', async () => {
  await add(ADDS_COLUMN, BUILDS_INDEX)
  const file = new URL('functions/orders/place_orders.sql', next)
  await writeFile(file, `-- changed\n${await readFile(file, 'utf8')}`)
  await database.asOwner('analyze orders')
  const found = await check()
  expect(found).toMatchObject({ go: true, database_version: today, program_version: today + 2 })
  expect(found.migrations).toMatchObject([
    {
      description: 'Who sold it.',
      notes: ['Programs of the release before leave it empty.'],
      is_needed: true,
      compatible_with: today,
      steps: [{ table: 'orders', lock: 'ACCESS EXCLUSIVE', blocks: 'reads and writes', work: [], rows: 0 }],
    },
    {
      description: 'For lists by seller.',
      is_needed: false,
      steps: [{ table: 'orders', lock: 'SHARE UPDATE EXCLUSIVE', blocks: 'nothing', work: ['index'] }],
    },
  ])
  expect(found.functions.replaced).toEqual(['orders/place_orders.sql'])
  // It did nothing.
  expect((await check()).database_version).toBe(today)
})

test('the estimate is not below what the migration takes, with 100,000 rows', async () => {
  await database.asOwner(
    `create table many as select n, md5(n::text) as text from generate_series(1, 100000) n; alter table many owner to shopwire_owner; analyze many`,
  )
  await add(
    '-- compatible-with: {today}\n-- A.\nalter table many alter column text set not null;\n',
    '-- migrate: no-transaction\n-- compatible-with: {today}\n-- B.\ncreate index concurrently many_text on many (text);\n',
    `-- compatible-with: {today}\n-- C.\nupdate many set text = text || 'x';\n`,
  )
  const found = await check({ pauseSecondsMax: 100 })
  expect(found.migrations.map(({ steps }) => steps[0]?.rows)).toEqual([100_000, 100_000, 100_000])
  expect(found.estimate.seconds).toBeGreaterThan(20)
  expect(found.disk.needed_bytes).toBeGreaterThan(15_000_000)
  const startedMs = performance.now()
  await migrate(database.ownerUrl, next)
  expect((performance.now() - startedMs) / 1_000).toBeLessThan(found.estimate.seconds)
})

test('a reader that stays open in the way of a lock: stop, with its pid and what to do', async () => {
  await add(ADDS_COLUMN)
  const reader = await session(database.processUrls.readonly, 'begin', 'select count(*) from orders')
  const { rows } = await reader.query('select pg_backend_pid() as pid')
  const found = await check()
  expect(found).toMatchObject({ go: false, blockers: [{ pid: rows[0].pid, tables: ['orders'] }] })
  expect(found.reasons).toEqual([
    expect.stringMatching(
      new RegExp(
        `^Session ${rows[0].pid} \\(application "report", user shopwire_\\w+.*\\) has .* open .*on orders\\. .*pg_terminate_backend\\(${rows[0].pid}\\)`,
      ),
    ),
  ])
  await reader.query('commit')
  expect((await check()).go).toBe(true)
})

test('a transaction on another table is in the way of an index build only, and only while it may hold a snapshot', async () => {
  await add(ADDS_COLUMN)
  const idle = await session(database.superuserUrl, 'begin', 'select count(*) from items')
  expect((await check({}, database.superuserUrl)).go).toBe(true)
  await add(ADDS_COLUMN, BUILDS_INDEX)
  // Idle in a transaction without a snapshot: PostgreSQL does not wait for it, and this role can see that.
  expect((await check({}, database.superuserUrl)).go).toBe(true)
  await idle.query('commit; begin isolation level repeatable read; select count(*) from items')
  const found = await check({}, database.superuserUrl)
  expect(found.reasons).toEqual([
    expect.stringMatching(/idle in transaction.*which the build of an index would wait for/),
  ])
  expect(found.blockers).toMatchObject([{ tables: [], state: 'idle in transaction' }])
})

test('transactions that end between the two looks are no reason to stop', async () => {
  await add(ADDS_COLUMN)
  const seller = await session(database.ownerUrl)
  let isOver = false
  const selling = (async () => {
    while (!isOver) await seller.query('begin; select count(*) from orders; commit')
  })()
  expect((await check({ lookMs: 300 })).reasons).toEqual([])
  isOver = true
  await selling
})

test('another migration that runs: stop, with its session', async () => {
  await add(ADDS_COLUMN)
  await session(database.ownerUrl, `select pg_advisory_lock(${MIGRATION_LOCK_ID})`)
  expect((await check()).reasons).toEqual([
    expect.stringMatching(/^Another migration is running: pid \d+ \(application "report"/),
  ])
})

test('a file that programs of now do not work with: stop, the way back is closed, unless that is accepted', async () => {
  await add(
    `-- compatible-with: ${today + 1}\n-- No longer used.\nalter table orders drop column cancel_reason;\n`,
  )
  const found = await check()
  expect(found.programs).toEqual({
    oldest_version: today + 1,
    way_back_open: false,
    closed_by: [`${String(today + 1).padStart(4, '0')}_change.sql`],
  })
  expect(found.reasons).toEqual([expect.stringMatching(/do not work after \d+_change.sql.*--one-way/)])
  expect((await check({ isOneWayAccepted: true })).go).toBe(true)
})

test('a pause longer than allowed, or a disk too small: stop', async () => {
  await database.asOwner(
    `create table many as select n, repeat('x', 500) as text from generate_series(1, 100000) n; alter table many owner to shopwire_owner; analyze many`,
  )
  await add('-- compatible-with: {today}\n-- Wider.\nalter table many alter column n type bigint;\n')
  const found = await check({ diskFreeBytes: 10_000_000 })
  expect(found.reasons).toEqual([
    expect.stringMatching(/^Calls would wait for about \d+ s at a time, and 5 s are allowed\./),
    expect.stringMatching(/^The volume of the database has 10 MB free, and .* may need \d+ MB/),
  ])
  expect((await check({ pauseSecondsMax: 60, diskFreeBytes: 1e9 })).go).toBe(true)
})

test('a program older than the database: go when it works there, stop with the file when not', async () => {
  await add(ADDS_COLUMN)
  await migrate(database.ownerUrl, next)
  const former = await checkUpgrade(database.ownerUrl, SCHEMA, OPTIONS)
  expect(former).toMatchObject({ go: true, database_version: today + 1, migrations: [] })
  await database.asOwner(`update schema_migrations set compatible_with = number where number > ${today}`)
  expect((await checkUpgrade(database.ownerUrl, SCHEMA, OPTIONS)).reasons).toEqual([
    expect.stringMatching(/since \d+_change.sql only programs that know version/),
  ])
})

test('a new database: everything is to do, and nothing is in use', async () => {
  const empty = await openTestDatabase({ isEmpty: true })
  const found = await check({}, empty.ownerUrl)
  await empty.close()
  expect(found).toMatchObject({ go: true, database_version: 0, programs: { way_back_open: true } })
  expect(found.migrations).toHaveLength(today)
  expect(found.migrations.flatMap(({ steps }) => steps)).toEqual([])
})

test('shopwire-admin upgrade check prints the plan and exits with 0, or with 1 and the reasons', async () => {
  await add(ADDS_COLUMN, BUILDS_INDEX)
  const go = await runCommand('upgrade', 'check', '--watch', '1s')
  expect(go).toMatchObject({ code: 0, err: '' })
  expect(go.out).toMatch(
    /^\d+_change\.sql: Who sold it\.\n {2}Programs of the release before leave it empty\.\n {2}TABLE +LOCK/,
  )
  expect(go.out).toMatch(/Way back +open\n/)
  expect(go.out).toMatch(/Go\.\n$/)
  await session(database.processUrls.readonly, 'begin', 'select count(*) from orders')
  const stop = await runCommand('upgrade', 'check', '--watch', '1s')
  expect(stop).toMatchObject({ code: 1, err: expect.stringContaining('do not upgrade now') })
  expect(stop.out).toMatch(/STOP: Session \d+/)
  const json = await runCommand('upgrade', 'check', '--watch', '1s', '--json')
  expect({ code: json.code, check: JSON.parse(json.out) as UpgradeCheck }).toMatchObject({
    code: 1,
    check: { go: false, reasons: [expect.stringContaining('on orders')] },
  })
})

async function runCommand(...args: string[]) {
  let [out, err] = ['', '']
  const context = {
    checkUpgrade: (options: UpgradeCheckOptions) => checkUpgrade(database.ownerUrl, next, options),
    out(text: string) {
      out += text
    },
    err(text: string) {
      err += text
    },
  } as unknown as CommandContext
  return { code: await runAdmin(context, args), out, err }
}
