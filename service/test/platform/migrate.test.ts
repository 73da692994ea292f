import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
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

test('processes that start at once all succeed, and each file is applied once', async () => {
  const reports = await Promise.all(Array.from({ length: 6 }, () => migrate(database.ownerUrl, folder)))
  const applied = reports.flatMap((report) => report.applied)
  expect(new Set(applied).size).toBe(applied.length)
  expect(applied).toHaveLength(await countFiles())
  expect(await schemaMismatch(query, folder)).toBeUndefined()
})

test('a database that is behind is named, with the command that helps', async () => {
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

test('a file that fails leaves nothing behind and says which it was', async () => {
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
  await expect(migrate(database.ownerUrl, folder)).rejects.toThrow(/0099_far.sql breaks the row/)
})
