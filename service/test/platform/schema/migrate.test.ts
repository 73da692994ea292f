import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { findPostgres } from '@shopwire/test-kit/servers'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SCHEMA } from '../../../src/installation.ts'
import { migrate } from '../../../src/platform/schema/migrate.ts'
import { schemaMismatch } from '../../../src/platform/schema/schema-version.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

let database: TestDatabase
let schema: URL
let path: string
beforeEach(async () => {
  database = await openTestDatabase()
  path = await mkdtemp(join(tmpdir(), 'schema-'))
  schema = await copySchema('ours')
})
afterEach(async () => {
  await database.close()
  await rm(path, { recursive: true })
})

/** Instead of the migrated database that the others begin with. */
async function useEmptyDatabase() {
  await database.close()
  database = await openTestDatabase({ isEmpty: true })
}

/** The schema of today in a folder of its own, to be made into another release. */
async function copySchema(name: string): Promise<URL> {
  const folder = pathToFileURL(`${join(path, name)}/`)
  await cp(SCHEMA, folder, { recursive: true })
  return folder
}

/** Writes the next migration of this release; returns its name. */
async function addMigration(to: URL, number: number, what: string, text: string): Promise<string> {
  const name = `${String(number).padStart(4, '0')}_${what}.sql`
  await writeFile(new URL(`tables/${name}`, to), text)
  return name
}

const query = (text: string) =>
  asSuperuser(async (client) => (await client.query(text)).rows, database.superuserUrl)
const countFiles = async () => (await query('select number from schema_migrations')).length

test('processes that start at once all succeed, and each file is applied once', async () => {
  await useEmptyDatabase()
  const reports = await Promise.all(Array.from({ length: 6 }, () => migrate(database.ownerUrl, schema)))
  const applied = reports.flatMap((report) => report.applied)
  expect(new Set(applied).size).toBe(applied.length)
  expect(applied).toHaveLength(await countFiles())
  expect(await schemaMismatch(query, schema)).toBeUndefined()
})

test('whoever makes a store is told when it refunds by itself: after 24 hours, at most 50 an hour', async () => {
  const lines: string[] = []
  await useEmptyDatabase()
  await migrate(database.ownerUrl, schema, (line) => lines.push(line))
  expect(lines.at(-1)).toMatch(
    /not be delivered for 24 hours is cancelled and refunded, at most 50 an hour; .* refunds rule/,
  )
  lines.length = 0
  await migrate(database.ownerUrl, schema, (line) => lines.push(line))
  expect(lines).toEqual([])
})

test('a database that is behind is named, with the command that helps', async () => {
  await useEmptyDatabase()
  expect(await schemaMismatch(query, schema)).toMatch(/version 0.*shopwire-admin migrate/)
})

test('a database newer than the program is refused', async () => {
  const { version } = await migrate(database.ownerUrl, schema)
  await query(
    `insert into schema_migrations (number, name, checksum, compatible_with) values (${version + 1}, 'later', 'x', ${version + 1})`,
  )
  await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(/newer than this program/)
  expect(await schemaMismatch(query, schema)).toMatch(/newer than this program/)
})

test('an applied file that was edited is refused', async () => {
  await migrate(database.ownerUrl, schema)
  const file = new URL('tables/0002_accounts.sql', schema)
  await writeFile(file, `${await readFile(file, 'utf8')}\n-- a thought`)
  await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
    /0002_accounts.sql was applied with other contents/,
  )
})

test('a file that fails leaves nothing behind and says which it was', async () => {
  const { version } = await migrate(database.ownerUrl, schema)
  const next = await addMigration(
    schema,
    version + 1,
    'broken',
    'create table half (id int); select nonsense;',
  )
  await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
    new RegExp(`${next} failed and was rolled back`),
  )
  expect(await query(`select to_regclass('half') as found`)).toEqual([{ found: null }])
  expect(await countFiles()).toBe(version)
})

test('a role that the server lacks is named before anything runs, with where its statements are', async () => {
  await useEmptyDatabase()
  await writeFile(new URL('rights/auditor.txt', schema), 'role: shopwire_auditor\ntransfers select\n')
  await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
    /lacks the roles shopwire_auditor\..*docs\/database-roles\.md, "Making the roles"/,
  )
  expect(await query(`select to_regclass('schema_migrations') as found`)).toEqual([{ found: null }])
})

test('rights that changed are applied: what was given by hand or is no longer in the file is taken away', async () => {
  await migrate(database.ownerUrl, schema)
  await query('grant delete on transfers to shopwire_worker_rights')
  const file = new URL('rights/worker.txt', schema)
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/^worker_heartbeats .*$/m, 'worker_heartbeats select (id)'))
  expect(await schemaMismatch(query, schema)).toMatch(/its rights are not those of this program/)
  const lines: string[] = []
  await migrate(database.ownerUrl, schema, (line) => lines.push(line))
  expect(lines).toEqual(['replacing functions: rights'])
  expect(
    await query(`
      select has_table_privilege('shopwire_worker_rights', 'transfers', 'delete') as transfers,
             has_table_privilege('shopwire_worker_rights', 'worker_heartbeats', 'select') as heartbeats,
             has_column_privilege('shopwire_worker_rights', 'worker_heartbeats', 'id', 'select') as ids`),
  ).toEqual([{ transfers: false, heartbeats: false, ids: true }])
})

test('a gap in the numbers is refused before anything runs', async () => {
  await addMigration(schema, 99, 'far', 'select 1')
  await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(/0099_far.sql is out of sequence/)
})

test('a file is committed, and its locks are gone, even when the migrating process is frozen right after sending it', async () => {
  const { version } = await migrate(database.ownerUrl, schema)
  await addColumnNext(version)
  let frozen: string | undefined
  const freezeUntilCommitted = () => {
    // This process is blocked until psql has ended.
    const args = ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--command', COLUMN_IS_THERE]
    frozen = spawnSync(join(findPostgres(), 'psql'), [...args, database.superuserUrl]).stderr.toString()
  }
  await migrate(database.ownerUrl, schema, () => void setImmediate(freezeUntilCommitted))
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

const addColumnNext = (version: number) =>
  addMigration(
    schema,
    version + 1,
    'adds_a_column',
    'alter table orders add column added_later text; -- without a line end',
  )

describe('with a transaction open that has read orders', () => {
  const SALE_MS_MAX = 1_500
  let reader: pg.Client
  let readerPid: number

  beforeEach(async () => {
    const { version } = await migrate(database.ownerUrl, schema)
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
    const migrating = migrate(database.ownerUrl, schema, (line) => {
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

  test('a migration that is blocked for good ends, rolled back, and names the blocking session', async () => {
    const blocked = migrate(database.ownerUrl, schema, () => {}, { patienceMs: 1_000 })
    await expect(blocked).rejects.toThrow(/rolled back/)
    await expect(blocked).rejects.toThrow(
      new RegExp(`pid ${readerPid} \\(application "nightly-export".*transaction open for .*\\d s`),
    )
    await expect(blocked).rejects.toThrow(/pg_terminate_backend/)
    expect(await schemaMismatch(query, schema)).toMatch(/Run "shopwire-admin migrate"/)
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

describe('a database of a newer release', () => {
  /** Of tomorrow, with a migration that programs of today either survive or not. */
  async function migrateToNext(compatible_with: (today: number) => number) {
    const { version } = await migrate(database.ownerUrl, schema)
    const next = await copySchema('next')
    const header = `-- compatible-with: ${compatible_with(version)}\n`
    await addMigration(next, version + 1, 'next', `${header}alter table orders add column added_later text;`)
    const changed = new URL('functions/catalogue/store_is_open.sql', next)
    await writeFile(changed, `${await readFile(changed, 'utf8')}-- as of tomorrow`)
    expect(await schemaMismatch(query, next)).toMatch(
      new RegExp(`at version ${version}, this program needs ${version + 1}\\. Run "shopwire-admin migrate"`),
    )
    await migrate(database.ownerUrl, next)
    return { version, next }
  }

  test('fits programs of today when its migrations say so, and their "migrate" leaves it and its functions as they are', async () => {
    const { version, next } = await migrateToNext((today) => today)
    expect(await schemaMismatch(query, schema)).toBeUndefined()
    const lines: string[] = []
    const report = await migrate(database.ownerUrl, schema, (line) => lines.push(line))
    expect(report).toEqual({ applied: [], version: version + 1 })
    expect(lines.join()).toMatch(/newer than this program.*compatible/)
    expect(await schemaMismatch(query, next)).toBeUndefined()
  })

  test('is refused by programs of today when one of its migrations needs newer ones, and the message names it', async () => {
    const { version } = await migrateToNext((today) => today + 1)
    const refused = new RegExp(
      `newer than this program.*_next\\.sql only programs that know version ${version + 1} or later`,
    )
    expect(await schemaMismatch(query, schema)).toMatch(refused)
    await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(refused)
  })

  test('is refused when the part that both releases share differs', async () => {
    await migrateToNext((today) => today)
    await query(`update schema_migrations set checksum = 'x' where number = 2`)
    expect(await schemaMismatch(query, schema)).toMatch(/0002_accounts.sql was applied with other contents/)
  })
})

test('a header that cannot be read is refused before anything runs', async () => {
  await useEmptyDatabase()
  await rm(new URL('tables/', schema), { recursive: true })
  await mkdir(new URL('tables/', schema))
  const at = async (text: string) => {
    await addMigration(schema, 1, 'x', text)
    return migrate(database.ownerUrl, schema)
  }
  await expect(at('-- compatible-with: soon\nselect 1')).rejects.toThrow(/takes a version from 1 to 1/)
  await expect(at('-- compatible-with: 2\nselect 1')).rejects.toThrow(/takes a version from 1 to 1/)
  await expect(at('-- needed: maybe\nselect 1')).rejects.toThrow(/"-- needed:" takes "no"/)
  await expect(at('-- migrate: fast\nselect 1')).rejects.toThrow(/"-- migrate:" takes "no-transaction"/)
  expect(await query(`select to_regclass('schema_migrations') as found`)).toEqual([{ found: null }])
})

describe('functions', () => {
  const body = async () =>
    (await query(`select prosrc from pg_proc where proname = 'store_is_open'`))[0]?.prosrc as string
  const change = async (to: URL, from: string, by: string) => {
    const file = new URL('functions/catalogue/store_is_open.sql', to)
    await writeFile(file, (await readFile(file, 'utf8')).replace(from, by))
  }

  test('a changed file is applied again, alone, and the program says so until then', async () => {
    await migrate(database.ownerUrl, schema)
    const before = await query('select path, applied_at from schema_functions order by path')
    await change(schema, 'select s.is_open', 'select /* changed */ s.is_open')
    expect(await schemaMismatch(query, schema)).toMatch(
      /function catalogue\/store_is_open.sql is not the one of this program.*shopwire-admin migrate/,
    )
    const lines: string[] = []
    await migrate(database.ownerUrl, schema, (line) => lines.push(line))
    expect(lines).toEqual(['replacing functions: catalogue/store_is_open.sql'])
    expect(await body()).toContain('/* changed */')
    expect(await schemaMismatch(query, schema)).toBeUndefined()
    const after = await query('select path, applied_at from schema_functions order by path')
    expect(
      after.filter((row, n) => +row.applied_at !== +before[n]?.applied_at).map(({ path }) => path),
    ).toEqual(['catalogue/store_is_open.sql'])
  })

  test('when one of them fails none is replaced, and the next run tries again', async () => {
    await migrate(database.ownerUrl, schema)
    await change(schema, 'select s.is_open', 'select /* changed */ s.is_open')
    const broken = new URL('functions/webhooks/record_event.sql', schema)
    const text = await readFile(broken, 'utf8')
    await writeFile(broken, text.replace('returns void', 'returns text'))
    await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
      /replaces functions failed and was rolled back: cannot change return type/,
    )
    expect(await body()).not.toContain('/* changed */')
    await writeFile(broken, text)
    await migrate(database.ownerUrl, schema)
    expect(await body()).toContain('/* changed */')
  })

  test('one with other arguments is refused instead of existing beside the old one', async () => {
    await migrate(database.ownerUrl, schema)
    await change(schema, 'store_is_open()', 'store_is_open(p_now timestamptz)')
    await expect(migrate(database.ownerUrl, schema)).rejects.toThrow(
      /function name "store_is_open" is not unique/,
    )
    expect(await query(`select pronargs from pg_proc where proname = 'store_is_open'`)).toEqual([
      { pronargs: 0 },
    ])
  })

  test('one whose file is gone is dropped by the migration that says so', async () => {
    const old = new URL('functions/catalogue/old.sql', schema)
    await writeFile(old, 'create or replace function old() returns int language sql as $$ select 1 $$;')
    const { version } = await migrate(database.ownerUrl, schema)
    await rm(old)
    await addMigration(schema, version + 1, 'drops_old', 'drop function if exists old;')
    await migrate(database.ownerUrl, schema)
    expect(await query(`select from pg_proc where proname = 'old'`)).toEqual([])
    expect(await query(`select path from schema_functions where path = 'catalogue/old.sql'`)).toEqual([])
  })
})
