import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Buyer } from '@shopwire/test-kit/people/buyer'
import { until } from '@shopwire/test-kit/servers'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  describeSales,
  type SteadySales,
  startSteadySales,
  untilDelivered,
} from '@shopwire/test-kit/shops/steady-sales'
import {
  type ApiProcess,
  capture,
  limitless,
  openSession,
  ownerSettings,
  runProgram,
  type ServerProcess,
  START_MS_MAX,
  type System,
  spawnProgram,
  startApi,
  startSystem,
  startWorker,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seedHistory } from './history.ts'
import { makeNextRelease, type NextRelease } from './next-release.ts'

const IS_LONG = process.env.SHOPWIRE_LONG === '1'
const MINUTE_MS = 60_000
const ORDERS_PER_S = IS_LONG ? 200 : 100
/** Orders that are there before the first one is sold. */
const HISTORY = IS_LONG ? 1_000_000 : 3_000
/** One order in so many is delivered from a pool, the others wait for an operator: links for all would take longer than the test. */
const POOLED_SHARE = 5
const LINKS = IS_LONG ? 30_000 : 6_000
const LINKS_AT_ONCE = 10_000
const BUYERS = 4
/** So often the migration gives way before the reader ends. */
const ATTEMPTS = IS_LONG ? 15 : 2
/** How long each release sells alone. */
const ALONE_MS = IS_LONG ? 10_000 : 1_000
const SALE_MS_MAX = 1_500
const SOON_MS = 60_000

let system: System
let shop: Shop
let next: NextRelease
let pooled: string
let byHand: string
const buyers: Buyer[] = []
const others: ServerProcess[] = []

beforeAll(
  async () => {
    system = await startSystem({
      admission: 'postgres',
      apis: 2,
      settings: {
        ...limitless,
        SHOPWIRE_LOG_LEVEL: 'warn',
        // For the load balancer, which sends new calls elsewhere meanwhile.
        SHOPWIRE_SHUTDOWN_DELAY_MS: '500',
      },
    })
    await seedHistory(system.superuserUrl, HISTORY)
    shop = openShop(system)
    ;[pooled = '', byHand = ''] = await shop.sell(1, 1)
    for (let left = LINKS; left > 0; left -= LINKS_AT_ONCE)
      await shop.stock(pooled, Math.min(left, LINKS_AT_ONCE))
    for (let n = 0; n < BUYERS; n += 1) buyers.push(await shop.openBuyer(100_000))
    next = await makeNextRelease({
      migrations: (today) => ({
        columns:
          `-- compatible-with: ${today}\nalter table orders add column sold_by text;\n` +
          'alter table transfers add column added_later text;\n',
        orders_index: `-- migrate: no-transaction\n-- compatible-with: ${today}\ncreate index concurrently orders_sold_by on orders (account_id, sold_by);\n`,
        transfers_index: `-- migrate: no-transaction\n-- compatible-with: ${today}\n-- needed: no\ncreate index concurrently transfers_time on transfers (account_id, created_at);\n`,
      }),
      functions: {
        'orders/place_orders.sql': (text) =>
          text
            .replace('client_address, created_at)', 'client_address, created_at, sold_by)')
            .replace(
              'client_address, created_at\n      from bought',
              `client_address, created_at, 'next'\n      from bought`,
            ),
      },
    })
  },
  START_MS_MAX + (IS_LONG ? 20 * MINUTE_MS : 0),
)
afterAll(async () => {
  await Promise.all(others.map((one) => one.pid() !== undefined && one.kill('SIGKILL')))
  await next?.remove()
  await system?.stop()
})

const TITLE = `the next release adds columns and indexes to orders and transfers (${HISTORY} orders, ${ORDERS_PER_S} orders/s), takes over, and is rolled back: every call succeeds, at most after one retry, and none waits longer than 1.5 s`
test(TITLE, { timeout: IS_LONG ? 30 * MINUTE_MS : 4 * MINUTE_MS }, async ({ annotate }) => {
  const reader = await openSession(system.superuserUrl)
  await reader.run('begin; select count(*) from orders; select count(*) from transfers;')
  const worker = await keep(startWorker(system.settingsOf('worker')))
  const selling = await startSteadySales({
    buyers,
    item: (n) => (n % POOLED_SHARE === 0 ? pooled : byHand),
    perSecond: ORDERS_PER_S,
    ports: system.ports,
  })
  const soldAtLeast = (count: number) =>
    until(
      () => selling.sales.length >= count,
      SOON_MS,
      () => `only ${selling.sales.length} sales`,
    )
  await soldAtLeast(ORDERS_PER_S)

  // A program of the next release cannot run yet, and says what to do.
  const anyPort = { ...system.settingsOf('worker'), SHOPWIRE_HEALTH_PORT: '0' }
  const early = await runProgram('worker', [], anyPort, { release: next.folder })
  expect({ code: early.code, stdout: early.stdout }).toEqual({
    code: 3,
    stdout: expect.stringContaining('Run \\"shopwire-admin migrate\\" of this release first'),
  })

  const migratingFromMs = performance.now()
  const migration = startMigration()
  await until(
    () => migration.attempts() >= ATTEMPTS,
    SOON_MS,
    () => `the migration does not wait for the reader: ${migration.printed()}`,
  )
  expect(await columns()).toBe('0')
  await reader.run('commit;')
  await reader.end()
  expect(await migration.ended, migration.printed()).toBe(0)
  expect(await columns()).toBe('2')
  expect(await validIndexes()).toBe('2')
  await soldAtLeast(selling.sales.length + ORDERS_PER_S)
  const migratedMs = performance.now()

  // Roll forward: the next release starts beside this one, then this one stops.
  const apis: ApiProcess[] = []
  for (const _ of system.apis)
    apis.push(await keep(startApi(system.settingsOf('api'), { release: next.folder })))
  const nextWorker = await keep(startWorker(system.settingsOf('worker'), { release: next.folder }))
  await switchOver(selling, { from: [...system.apis, worker], to: apis.map(({ port }) => port) })
  const soldByNextFrom = selling.sales.length
  await sleep(ALONE_MS)
  await soldAtLeast(soldByNextFrom + ORDERS_PER_S)

  // Roll back: this release starts on the schema of the next one, as its deployment does, then the next one stops.
  const rolledBack = await runProgram('migrate', [], {
    ...system.settings,
    ...ownerSettings(system.database),
  })
  expect(rolledBack).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('compatible with it; nothing to do'),
  })
  for (const one of [...system.apis, worker]) await one.start()
  await switchOver(selling, { from: [...apis, nextWorker], to: system.ports })
  const soldAfterFrom = selling.sales.length
  await sleep(ALONE_MS)
  await soldAtLeast(soldAfterFrom + ORDERS_PER_S)
  const perSecond = await selling.stop()

  const { sales } = selling
  // What the machine does by itself, to hold the other figures against.
  const before = sales.filter(({ startedMs }) => startedMs < migratingFromMs)
  const between = sales.filter(({ startedMs }) => startedMs >= migratingFromMs && startedMs < migratedMs)
  await annotate(
    `${HISTORY} orders before; ${sales.length} sold at ${perSecond.toFixed(0)}/s; ${migration.attempts()} attempts of the migration gave way; ` +
      `before ${describeSales(before)}; while migrating ${describeSales(between)}; in all ${describeSales(sales)}`,
  )
  expect(sales.filter(({ status }) => status !== 200 && status !== 201)).toEqual([])
  // No process stops while the schema changes, so no call needs a second attempt.
  expect(between.filter(({ firstFailure }) => firstFailure !== undefined)).toEqual([])
  expect(await system.query(`select count(*) > 0 from orders where sold_by = 'next'`)).toBe('t')
  await untilDelivered(system, pooled, 2 * SOON_MS)
  // The rules read whole tables; planned for the few rows that were there at the start, they would take for ever.
  await system.query('analyze')
  await shop.expectCleanBooks()
  // Last: a machine that is too slow for it has still proved the rest.
  expect(sales.filter(({ waitedMs }) => waitedMs >= SALE_MS_MAX)).toEqual([])
})

const columns = () =>
  system.query(
    `select count(*) from information_schema.columns where column_name in ('sold_by', 'added_later') and table_name in ('orders', 'transfers')`,
  )
const validIndexes = () =>
  system.query(
    `select count(*) from pg_index where indisvalid and indexrelid in (to_regclass('orders_sold_by'), to_regclass('transfers_time'))`,
  )

async function keep<Process extends ServerProcess>(starting: Promise<Process>): Promise<Process> {
  const started = await starting
  others.push(started)
  return started
}

/** As a load balancer and a platform do: new calls go to the new processes, then the old ones are stopped. */
async function switchOver(
  selling: SteadySales,
  { from, to }: { from: readonly ServerProcess[]; to: readonly number[] },
): Promise<void> {
  selling.sendTo(to)
  expect(await Promise.all(from.map((one) => one.kill('SIGTERM')))).toEqual(from.map(() => 0))
}

function startMigration() {
  const settings = { ...system.settings, ...ownerSettings(system.database) }
  const child = spawnProgram('migrate', [], settings, { release: next.folder })
  const [stdout, stderr] = [capture(child, 'stdout'), capture(child, 'stderr')]
  return {
    ended: once(child, 'close').then(([code]) => code as number | null),
    printed: () => `${stdout()}${stderr()}`,
    /** Those that gave way. */
    attempts: () => stdout().match(/did not get a lock/g)?.length ?? 0,
  }
}
