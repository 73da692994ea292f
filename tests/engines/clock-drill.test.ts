import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Postgres, startPostgres } from '@shopwire/test-kit/servers'
import {
  HURRIED_TIMERS,
  newItem,
  newLinks,
  SHIFTED_CLOCK,
  START_MS_MAX,
  type System,
  startSystem,
  untilMetric,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'

const DAY_S = 86_400
const YEAR_MS = 365 * DAY_S * 1_000
const MINUTE_MS = 60_000
const SEEN_MS_MAX = 30_000
/** Twenty rounds of what is done once a minute, and of what is done once an hour. */
const ROUNDS_MS = 10_000

let folder: string
let postgres: Postgres
let system: System
let account_id: string
const item = newItem(500)
const file = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-clock-drill-'))
  await mkdir(file('journal'))
  // The server of the database runs as another user.
  await chmod(folder, 0o755)
  await writeFile(file('database'), '+0\n', { mode: 0o644 })
  postgres = await startPostgres({ clockFile: file('database') })
  system = await startSystem({
    admission: 'postgres',
    postgres,
    settings: {
      SHOPWIRE_JOURNAL: file('journal'),
      // As short as can be set, so that a year makes everything old.
      SHOPWIRE_EVENT_RETENTION_DAYS: '2',
      SHOPWIRE_LINK_RETENTION_DAYS: '2',
      SHOPWIRE_EVIDENCE_RETENTION_DAYS: '30',
      SHOPWIRE_JOURNAL_DAYS: '2',
    },
  })
  ;({ account_id } = await system.createAccount({ balanceCents: 100_000 }))
  await system.importItems([item])
  await system.loadPool(item.id, newLinks(20))
}, START_MS_MAX)
afterAll(async () => {
  await system?.stop()
  await postgres?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** A worker that does in seconds what others do in hours, with a clock that the test sets. */
async function hurriedWorker(name: string): Promise<WorkerProcess> {
  await writeFile(file(name), '0')
  return system.startWorker({
    NODE_OPTIONS: `--import=${HURRIED_TIMERS} --import=${SHIFTED_CLOCK}`,
    TEST_CLOCK_FILE: file(name),
  })
}

let orders = 0
async function buyDelivered(): Promise<void> {
  orders += 1
  const placed = await system.runAdmin(
    'orders',
    'place',
    account_id,
    item.id,
    '--key',
    `clock-drill-${orders}`,
    '--json',
  )
  expect(placed.code, placed.stderr).toBe(0)
  await expect
    .poll(() => system.query(`select count(*) from orders where status = 'delivered'`), { timeout: 20_000 })
    .toBe(String(orders))
}

/** What time alone may remove, close or seal. */
async function countAll() {
  const count = (what: string) => system.query(`select count(*) from ${what}`)
  const names = (await readdir(file('journal'))).filter((name) => name.startsWith('sold.'))
  const texts = await Promise.all(names.map((name) => readFile(join(file('journal'), name), 'utf8')))
  return {
    links: await count('order_links where link_sealed is not null'),
    events: await count('events'),
    journal: texts
      .join('')
      .split('\n')
      .filter((line) => line.includes(' sold ')).length,
    days: await count('account_days'),
    digests: await count('seal_digests'),
    // By the clock of this machine, which is right.
    sealedAhead: await count(
      `seal_segments where sealed_at > '${new Date(Date.now() + MINUTE_MS).toISOString()}'`,
    ),
  }
}

const isUntrusted = (worker: WorkerProcess, wanted: 0 | 1) =>
  untilMetric(worker, 'shopwire_time_untrusted', (value) => value === wanted, SEEN_MS_MAX)
const rounds = () => new Promise((resolve) => setTimeout(resolve, ROUNDS_MS))

test('threat 75: workers a year ahead and behind, and a database whose clock jumps by a day, remove, close and seal nothing early', async ({
  annotate,
}) => {
  const [ahead, behind] = await Promise.all([hurriedWorker('ahead'), hurriedWorker('behind')])
  const workers = [ahead, behind]
  await buyDelivered()
  // The first round of a new store ends with one; it may still be under way.
  await expect.poll(() => system.query('select count(*) from seal_digests')).toBe('1')
  const seen: Record<string, object> = {}
  seen.before = await countAll()

  await writeFile(file('ahead'), String(YEAR_MS))
  await writeFile(file('behind'), String(-YEAR_MS))
  await Promise.all(workers.map((worker) => isUntrusted(worker, 1)))
  expect(await ahead.readiness()).toBe(503)
  await rounds()
  seen['workers a year off'] = await countAll()
  expect(seen['workers a year off']).toEqual(seen.before)
  // Whoever has paid is served all the same.
  await buyDelivered()
  await Promise.all(['ahead', 'behind'].map((name) => writeFile(file(name), '0')))
  await Promise.all(workers.map((worker) => isUntrusted(worker, 0)))

  for (const step of [`+${DAY_S}`, `-${DAY_S}`, `+${400 * DAY_S}`]) {
    const before = await countAll()
    await writeFile(file('database'), `${step}\n`)
    await Promise.all(workers.map((worker) => isUntrusted(worker, 1)))
    await rounds()
    seen[`database ${step} s`] = await countAll()
    expect(seen[`database ${step} s`]).toEqual(before)
    await writeFile(file('database'), '+0\n')
    await Promise.all(workers.map((worker) => isUntrusted(worker, 0)))
    await buyDelivered()
  }

  // With the time right again a round of everything is done: nothing is old yet.
  await rounds()
  expect(await Promise.all(workers.map((worker) => worker.readiness()))).toEqual([200, 200])
  seen.afterwards = await countAll()
  await annotate(JSON.stringify(seen))
  expect(seen.afterwards).toEqual({ ...seen.before, ...counts(orders) })
  const verified = await system.runAdmin('verify')
  expect(verified.code, verified.stdout).toBe(0)
}, 300_000)

/** Of so many orders with one link each. */
const counts = (n: number) => ({ links: String(n), events: String(2 * n), journal: n })
