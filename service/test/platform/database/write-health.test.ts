import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Db, openDatabase, sql } from '../../../src/platform/database/db.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

let database: TestDatabase
let db: Db
const changes: (string | undefined)[] = []
beforeAll(async () => {
  database = await openTestDatabase()
  db = openDatabase(
    {
      url: database.processUrls.api,
      application_name: 'test',
      connectionsMax: 2,
      connectMsMax: 5_000,
      statementMsMax: 5_000,
      lockMsMax: 2_000,
      namedStatements: true,
    },
    () => {},
    (problem) => changes.push(problem),
  )
})
afterAll(async () => {
  await db.close()
  await database.close()
})

test.each([
  ['disk_full', sql`do $$ begin raise exception using errcode = 'disk_full'; end $$`, /its disk is full/],
  ['io_error', sql`do $$ begin raise exception using errcode = 'io_error'; end $$`, /input\/output error/],
])('a statement that fails with %s is reported until a trial write succeeds', async (_, failing, words) => {
  changes.length = 0
  await expect(db.run(failing)).rejects.toThrow()
  expect(db.writeProblem()).toMatch(words)
  await expect.poll(() => db.writeProblem()).toBeUndefined()
  expect(changes).toEqual([expect.stringMatching(words), undefined])
})

test('while the trial write fails too, the problem stays', async () => {
  await database.asOwner(`create or replace function probe_writes() returns void language plpgsql as $$
    begin raise exception using errcode = 'disk_full'; end $$`)
  changes.length = 0
  await expect(
    db.transaction((tx) => tx.run(sql`do $$ begin raise exception using errcode = 'io_error'; end $$`)),
  ).rejects.toThrow()
  // The problem is that of the latest trial write.
  await expect.poll(() => db.writeProblem()).toMatch(/its disk is full/)
  expect(changes).toHaveLength(2)
})

test('other failures do not report a write problem', async () => {
  const fresh = await openTestDatabase()
  await expect(fresh.api.run(sql`select 1 / 0`)).rejects.toThrow()
  await expect(
    fresh.api.run(sql`do $$ begin raise exception using errcode = 'out_of_memory'; end $$`),
  ).rejects.toThrow()
  expect(fresh.api.writeProblem()).toBeUndefined()
  await fresh.close()
})
