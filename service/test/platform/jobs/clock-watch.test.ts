import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAccount } from '../../../src/accounts/account.ts'
import { loadConfig } from '../../../src/config/config.ts'
import type { Db } from '../../../src/platform/database/db.ts'
import { acceptClock, createDatabaseTime, type DatabaseTime } from '../../../src/platform/jobs/clock-watch.ts'
import { claimJobs, extendLeases, LEASE_MS, postponeJob, wakeJob } from '../../../src/platform/jobs/jobs.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createMetrics, type Metrics } from '../../../src/programs/metrics.ts'
import { createWorker } from '../../../src/programs/worker-program.ts'
import { openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const QUEUE = 'test'
const HOUR_MS = 3_600_000
const CHECK_MS = 3_000

let database: TestDatabase
let account_id: string
let lines: { level: string; msg: string; jobs?: number }[]
let metrics: Metrics
/** Elapsed time: moves the monotonic clock, this process's clock and the database's clock. */
let passedMs: number
let check: () => Promise<void>

beforeEach(async () => {
  database = await openTestDatabase()
  await fakeClock()
  account_id = (await database.operator.transaction((tx) => createAccount(tx, 'Clocks', Date.now()))).id
  lines = []
  passedMs = 0
  check = watch(database.worker)
})
afterEach(() => database.close())

test('a database clock that steps back an hour is logged with its size, counted, and exported as an offset', async () => {
  await check()
  await pass(CHECK_MS)
  await setBack(HOUR_MS)
  await check()
  expect(errors()).toEqual([
    expect.stringMatching(/stepped back by 3(599|600)\.\d s: .*wait.*chronyc/),
    expect.stringMatching(/60 minutes behind the time that it should show/),
  ])
  expect(await metric('shopwire_database_clock_steps_total{direction="back"}')).toBe(1)
  expect(await metric('shopwire_database_clock_offset_seconds')).toBeCloseTo(-3_600, -1)
  // The next comparison uses the new time, so one step is logged once.
  await pass(CHECK_MS)
  await check()
  expect(errors()).toHaveLength(2)
})

test('a step forward is logged and counted as a forward step', async () => {
  await check()
  await setBack(-HOUR_MS)
  await check()
  expect(errors()).toEqual([
    expect.stringMatching(/stepped forward by 3(599|600)\.\d s/),
    expect.stringMatching(/60 minutes ahead of the time that it should show/),
  ])
  expect(await metric('shopwire_database_clock_steps_total{direction="forward"}')).toBe(1)
})

test('neither a step of one second nor a slow answer is reported as a step', async () => {
  let answersAfterMs = 0
  const slow = { ...database.worker, one: slowly(() => answersAfterMs) } as Db
  const checkSlow = watch(slow)
  await checkSlow()
  await setBack(1_000)
  await checkSlow()
  answersAfterMs = 8_000
  await checkSlow()
  answersAfterMs = 0
  await checkSlow()
  expect(errors()).toEqual([])
})

test('one lease after a step back, jobs that were due or held by a dead worker are due again; waiting jobs and jobs of a live worker are not', async () => {
  await wake('of a dead worker')
  await take()
  await wake('of a living worker')
  const [living] = await take()
  await wake('postponed')
  const [postponed] = await take()
  await postponeJob(database.worker, postponed as never, { waitMs: 60_000, note: 'later' })
  await wake('parked')
  const [parked] = await take()
  await postponeJob(database.worker, parked as never, { note: 'needs an operator' })
  await wake('never taken')
  await check()

  await setBack(HOUR_MS)
  await check()
  expect(await take()).toEqual([])
  await extendLeases(database.worker, QUEUE, [living as never], LEASE_MS)
  await pass(LEASE_MS - 1_000)
  await check()
  expect(await take()).toEqual([])

  await extendLeases(database.worker, QUEUE, [living as never], LEASE_MS)
  await pass(1_000)
  await check()
  expect((await take()).map(({ subject }) => subject).sort()).toEqual(['never taken', 'of a dead worker'])
  expect(lines.at(-1)).toMatchObject({ level: 'error', jobs: 2 })
})

test('a worker that starts after the step makes frozen jobs due, one lease later', async () => {
  await wake('never taken')
  await setBack(HOUR_MS)
  const checkAnew = watch(database.worker)
  await checkAnew()
  expect(await take()).toEqual([])
  await pass(LEASE_MS)
  await checkAnew()
  expect((await take()).map(({ subject }) => subject)).toEqual(['never taken'])
})

test('a running worker detects the step without a restart', async () => {
  const config = loadConfig({
    SHOPWIRE_DATABASE_URL: database.processUrls.worker,
    SHOPWIRE_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  })
  metrics = createMetrics('test')
  const worker = createWorker(config, { db: database.worker, log: createLog('debug', logTo), metrics })
  await worker.open((_part, work) => work())
  try {
    // No series before the first reading.
    await expect.poll(() => metric('shopwire_database_clock_offset_seconds').then(Number.isFinite)).toBe(true)
    await setBack(HOUR_MS)
    await expect.poll(() => errors().join()).toMatch(/stepped back by/)
  } finally {
    for (const { run } of worker.stops) await run()
  }
})

test.each([
  ['a day ahead', -24 * HOUR_MS],
  ['a day behind', 24 * HOUR_MS],
])(
  'a database clock that jumps %s together with that of the worker is not trusted until it is right again',
  async (_, ms) => {
    // Both are one machine: only the monotonic clock shows it.
    let together = 0
    const clock = { nowMs: () => Date.now() + passedMs - together }
    const time = timeOf(database.worker, { clock })
    await time.measure()
    expect(time.problem()).toBeUndefined()
    await setBack(ms)
    together = ms
    await time.measure()
    expect(time.problem()).toMatch(
      /14\d\d minutes (ahead of|behind) the time that it should show.*clock accept/,
    )
    expect(await metric('shopwire_time_untrusted')).toBe(1)
    // Neither the next reading nor a restart makes it the new normal.
    await pass(CHECK_MS)
    await time.measure()
    const restarted = timeOf(database.worker, { clock })
    await restarted.measure()
    expect([time.problem(), restarted.problem()].every((one) => one !== undefined)).toBe(true)
    await setBack(-ms)
    together = 0
    await pass(CHECK_MS)
    for (const one of [time, restarted]) {
      await one.measure()
      expect(one.problem()).toBeUndefined()
    }
  },
)

test('threat 75: a worker whose own clock is a year off goes by that of the database, and does nothing periodic', async () => {
  const time = timeOf(database.worker, { clock: { nowMs: () => Date.now() + 365 * 24 * HOUR_MS } })
  await time.measure()
  expect(time.problem()).toMatch(/the clock of this worker is \d+ minutes ahead of that of the database/)
  expect(Math.abs(time.nowMs() - Date.now())).toBeLessThan(60_000)
})

test('an operator accepts the time after a jump: running workers and those started later go on', async () => {
  const time = timeOf(database.worker)
  await time.measure()
  await setBack(-48 * HOUR_MS)
  passedMs = 0
  await time.measure()
  expect(time.problem()).toBeDefined()
  await database.operator.transaction(acceptClock)
  const clock = { nowMs: () => Date.now() + 48 * HOUR_MS }
  const later = timeOf(database.worker, { clock, boot_id: 'boot-2' })
  await later.measure()
  expect(later.problem()).toBeUndefined()
})

test('on a machine that was started anew, a time before the last one, or more than a day after it, is not trusted', async () => {
  await timeOf(database.worker).measure()
  const anew = async (ms: number) => {
    await shift(ms)
    const time = timeOf(database.worker, { clock: { nowMs: () => Date.now() + ms }, boot_id: `boot-${ms}` })
    await time.measure()
    await shift(-ms)
    return time.problem()
  }
  expect(await anew(-HOUR_MS)).toMatch(/60 minutes behind/)
  expect(await anew(25 * HOUR_MS)).toMatch(/1500 minutes ahead of/)
  expect(await anew(2 * HOUR_MS)).toBeUndefined()
})

const wake = (subject: string) => wakeJob(database.worker, account_id, QUEUE, subject)
const take = async () =>
  (await claimJobs(database.worker, QUEUE, 'usual', { limit: 10, leaseMs: LEASE_MS })).jobs
const errors = () => lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)
const logTo = { write: (line: string) => void lines.push(JSON.parse(line)) }
const monotonicMs = () => performance.now() + passedMs

function watch(db: Db) {
  const clock = { nowMs: () => Date.now() + passedMs }
  return timeOf(db, { clock }).measure
}

function timeOf(
  db: Db,
  { clock = { nowMs: () => Date.now() + passedMs }, boot_id = 'boot-1' } = {},
): DatabaseTime {
  metrics = createMetrics('test')
  const log = createLog('debug', logTo)
  return createDatabaseTime({ db, log, metrics, clock, monotonicMs, boot_id, awayMsMax: 24 * HOUR_MS })
}

async function metric(name: string): Promise<number> {
  const line = (await metrics.registry.metrics()).split('\n').find((text) => text.startsWith(`${name} `))
  return Number(line?.split(' ').at(-1))
}

/** Queries at once and returns the answer after this much time has passed. */
const slowly =
  (afterMs: () => number): Db['one'] =>
  async (statement) => {
    const answer = await database.worker.one(statement)
    await pass(afterMs())
    return answer as never
  }

/** Replaces clock_timestamp() in this database: ours is found before the built-in one, in statements and functions. */
async function fakeClock() {
  const name = new URL(database.superuserUrl).pathname.slice(1)
  await database.asOwner(`
    create schema faked;
    create table faked.clock (shift interval not null);
    insert into faked.clock values ('0');
    create function faked.clock_timestamp() returns timestamptz language sql volatile as
      'select pg_catalog.clock_timestamp() + shift from faked.clock';
    grant usage on schema faked to public;
    grant select on faked.clock to public;
    alter database ${name} set search_path = faked, pg_catalog, shopwire`)
}

const shift = (ms: number) =>
  database.asOwner(`update faked.clock set shift = shift + ${ms} * interval '1 ms'`)
const setBack = (ms: number) => shift(-ms)
async function pass(ms: number) {
  passedMs += ms
  await shift(ms)
}
