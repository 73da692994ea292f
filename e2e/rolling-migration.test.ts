import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@shopwire/engines'
import {
  capture,
  limitless,
  openSession,
  ownerSettings,
  START_MS_MAX,
  type System,
  spawnProgram,
  startSystem,
} from '@shopwire/harness'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Buyer, newOrder } from './support/buyer.ts'
import { type Connection, connect } from './support/connection.ts'
import { type Outcome, outcomeOf, tally } from './support/load.ts'
import { makeNextRelease, type NextRelease } from './support/next-release.ts'
import { openShop, type Shop } from './support/shop.ts'

const IS_LONG = process.env.SHOPWIRE_LONG === '1'
const ORDERS_PER_S = 100
const BUYERS = 4
/** Room for what comes while a sale waits; a machine that cannot keep up sells less instead of measuring its own queue. */
const CONNECTIONS_PER_PORT = 30
/** So often the migration gives way before the reader ends. */
const ATTEMPTS = IS_LONG ? 15 : 2
const AFTER_MS = IS_LONG ? 10_000 : 1_500
const SALE_MS_MAX = 1_500
const SOON_MS = 60_000

let system: System
let shop: Shop
let next: NextRelease
let item: string
const buyers: Buyer[] = []

beforeAll(async () => {
  system = await startSystem({
    admission: 'postgres',
    apis: 2,
    settings: { ...limitless, SHOPWIRE_LOG_LEVEL: 'warn' },
  })
  shop = await openShop(system)
  ;[item = ''] = await shop.sell(1)
  for (let n = 0; n < BUYERS; n += 1) buyers.push(await shop.openBuyer(100_000))
  next = await makeNextRelease(
    'alter table orders add column added_later text;\nalter table transfers add column added_later text;\n',
  )
}, START_MS_MAX)
afterAll(async () => {
  await next?.remove()
  await shop?.close()
  await system?.stop()
})

test(`a migration that adds columns to orders and transfers at ${ORDERS_PER_S} orders/s, beside a long reader: no call fails, none waits longer than 1.5 s`, async ({
  annotate,
}) => {
  const reader = await openSession(system.superuserUrl)
  await reader.run('begin; select count(*) from orders; select count(*) from transfers;')
  const sales = await startSales()
  await until(
    () => sales.outcomes.length > ORDERS_PER_S,
    SOON_MS,
    () => 'no sales',
  )

  const migration = startNextMigration()
  await until(
    () => migration.attempts() >= ATTEMPTS,
    SOON_MS,
    () => `the migration does not wait for the reader: ${migration.printed()}`,
  )
  expect(await columns()).toBe('0')
  await reader.run('commit;')
  expect(await migration.ended, migration.printed()).toBe(0)
  const soldBefore = sales.outcomes.length
  await sleep(AFTER_MS)
  const perSecond = await sales.stop()
  const { outcomes } = sales
  await reader.end()

  const waits = outcomes.map(({ sentMs, receivedMs }) => receivedMs - sentMs).sort((a, b) => a - b)
  const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
  const longest = waits.at(-1) ?? 0
  await annotate(
    `${outcomes.length} orders at ${perSecond.toFixed(0)}/s, ${migration.attempts()} attempts of the migration gave way; ` +
      `p50 ${waits[Math.floor(waits.length / 2)]?.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`,
  )
  expect(await columns()).toBe('2')
  expect(outcomes.length).toBeGreaterThan(soldBefore)
  expect(tally(outcomes)).toEqual({ '201': outcomes.length })
  expect(longest).toBeLessThan(SALE_MS_MAX)
  await shop.expectCleanBooks()
})

const columns = () =>
  system.query(`select count(*) from information_schema.columns where column_name = 'added_later'`)

function startNextMigration() {
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

/** Orders at a steady rate, whether or not the ones before have been answered: what waits is seen to wait. */
async function startSales() {
  const lines: { via: Connection; port: number }[] = []
  for (let n = 0; n < CONNECTIONS_PER_PORT; n += 1) {
    for (const port of system.ports) lines.push({ via: await connect(port), port })
  }
  const free = [...lines]
  const outcomes: Outcome[] = []
  const underWay = new Set<Promise<void>>()
  const startedMs = performance.now()
  let [due, sent] = [0, 0]
  let failure: unknown

  async function sell(line: { via: Connection; port: number }): Promise<void> {
    sent += 1
    const answer = await (buyers[sent % BUYERS] as Buyer).place(line.via, newOrder({ id: item }))
    outcomes.push(outcomeOf(line.port, answer))
    free.push(line)
  }
  const timer = setInterval(() => {
    for (; due < ((performance.now() - startedMs) * ORDERS_PER_S) / 1_000; due += 1) {
      const line = free.shift()
      if (!line) continue
      const sale: Promise<void> = sell(line)
        .catch((error: unknown) => {
          failure ??= error
        })
        .finally(() => underWay.delete(sale))
      underWay.add(sale)
    }
  }, 5)
  return {
    outcomes,
    async stop() {
      clearInterval(timer)
      const perSecond = (sent / (performance.now() - startedMs)) * 1_000
      await Promise.all(underWay)
      for (const { via } of lines) via.close()
      if (failure !== undefined) throw failure
      return perSecond
    },
  }
}
