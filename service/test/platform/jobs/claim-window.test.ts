import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createAccount } from '../../../src/accounts/account.ts'
import type { Db, Statement } from '../../../src/platform/database/db.ts'
import { createClaimWindow } from '../../../src/platform/jobs/claim-window.ts'
import { claimJobs, extendLeases, type Job } from '../../../src/platform/jobs/jobs.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const QUEUE = 'test'
const FINISHED = 20_000

let database: TestDatabase
let account_id: string
let nowMs = 0
beforeAll(async () => {
  database = await openTestDatabase()
  account_id = (await database.operator.transaction((tx) => createAccount(tx, 'Windows', Date.now()))).id
})
afterAll(() => database.close())
beforeEach(() => database.asOwner('delete from jobs'))

const add = (subject: string, runAt = 'clock_timestamp()') =>
  database.asOwner(
    `insert into jobs (account_id, queue, subject, run_at, created_at)
     values ('${account_id}', '${QUEUE}', '${subject}', ${runAt}, now())`,
  )
const subjects = (jobs: readonly Job[]) => jobs.map(({ subject }) => subject)
const openWindow = (db: Db = database.worker) => createClaimWindow(db, QUEUE, 'usual', () => nowMs)

test('while a snapshot is held, a claim does not read the jobs that ended before', async () => {
  const reader = new pg.Client({ connectionString: database.superuserUrl })
  await reader.connect()
  await reader.query('begin isolation level repeatable read')
  await reader.query('select from jobs')
  await database.asOwner(
    `insert into jobs (account_id, queue, subject, run_at, created_at)
     select '${account_id}', '${QUEUE}', 'done ' || n, now() - interval '10 minutes' + n * interval '1 ms', now()
       from generate_series(1, ${FINISHED}) n`,
  )
  await database.asOwner('delete from jobs')
  const statements: { text: string; values: unknown[] }[] = []
  const watched = {
    ...database.worker,
    many: (statement: Statement) => {
      statements.push(statement as unknown as { text: string; values: unknown[] })
      return database.worker.many(statement)
    },
  } as Db
  const claim = openWindow(watched)
  await claim(10)
  await claim(10)
  const [wholeLook, window] = await asSuperuser(async (client) => {
    const counted: number[] = []
    for (const { text, values } of statements) {
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values)
      counted.push(rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'])
    }
    return counted as [number, number]
  }, database.superuserUrl)
  await reader.end()
  expect(wholeLook).toBeGreaterThan(100)
  expect(window).toBeLessThan(20)
})

test('jobs are claimed in the order in which they became due, and none is passed over', async () => {
  const claim = openWindow()
  await Promise.all(Array.from({ length: 60 }, (_, n) => add(`job ${n}`)))
  const taken: string[] = []
  for (let n = 0; n < 20; n += 1) taken.push(...subjects(await claim(3)))
  expect(new Set(taken).size).toBe(60)
  expect(await claim(3)).toEqual([])
})

test('a job that is committed after later ones were claimed is found', async () => {
  const claim = openWindow()
  await claim(10)
  await add('later', "clock_timestamp() - interval '1 second'")
  await add('early', "clock_timestamp() - interval '2 seconds'")
  expect(subjects(await claim(10)).sort()).toEqual(['early', 'later'])
})

test('what lies before the window is found by the next look at all jobs', async () => {
  const claim = openWindow()
  await claim(10)
  await add('forgotten', "clock_timestamp() - interval '1 minute'")
  expect(await claim(10)).toEqual([])
  nowMs += 5_001
  expect(subjects(await claim(10))).toEqual(['forgotten'])
})

test('a job that a stopping worker gives back is due at once', async () => {
  await add('given back', "clock_timestamp() - interval '1 minute'")
  const { jobs } = await claimJobs(database.worker, QUEUE, 'usual', { limit: 1, leaseMs: 60_000 })
  const claim = openWindow()
  await claim(10)
  await extendLeases(database.worker, QUEUE, jobs, 0)
  expect(subjects(await claim(10))).toEqual(['given back'])
})
