import { setTimeout as sleep } from 'node:timers/promises'
import { type Buyer, newOrder } from '@shopwire/test-kit/people/buyer'
import { type PostgresProxy, startPostgresProxy, type Trap } from '@shopwire/test-kit/proxies/postgres-proxy'
import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { until } from '@shopwire/test-kit/servers'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  limitless,
  type System,
  startSystem,
  startWorker,
  type WorkerProcess,
} from '@shopwire/test-kit/systems'
import { expect, type TestContext, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

const IS_LONG = process.env.SHOPWIRE_LONG === '1'
/** At least once at each of the cuts below. */
const KILLS = IS_LONG ? 200 : IS_SHORT ? 5 : 50
const TEST_MS_MAX = IS_LONG ? 1_800_000 : 400_000
/** Killed side by side, each at work on an order of its own: a lease of ten seconds runs out for all of them at once. */
const AT_ONCE = Math.min(25, KILLS)
const SOON_MS = 60_000
/** A lease, and time for the next worker to find the order and do the work. */
const DELIVERED_MS_MAX = 15_000
const QTY = 2
const BATCH = 8
const LOOK_EVERY_MS = 200

type Statement = Pick<Trap, 'isMeant'>['isMeant']

const includes =
  (part: string): Statement =>
  (statement) =>
    statement.includes(part)
const commitAfter =
  (step: Statement): Statement =>
  (statement, earlier) =>
    statement === 'commit' && earlier.some((before) => step(before, []))

const takesMany = includes('take_for_orders')
const deliversMany = includes('deliver_orders')
const takesForOne = includes('delete from pool_links')

type Cut = Pick<Trap, 'how' | 'isMeant'>

/**
 * Where a delivery from a pool can be interrupted: links taken, all written but not committed, committed and not acknowledged. An order
 * whose pool runs low with it is delivered by itself, every other one together with those that are due.
 */
const cutsOfMany: readonly Cut[] = [
  { how: 'unanswered', isMeant: takesMany },
  { how: 'held', isMeant: deliversMany },
  { how: 'unanswered', isMeant: deliversMany },
  { how: 'held', isMeant: commitAfter(deliversMany) },
  { how: 'unanswered', isMeant: commitAfter(deliversMany) },
]
const cutsOfOne: readonly Cut[] = [
  { how: 'unanswered', isMeant: takesForOne },
  { how: 'held', isMeant: commitAfter(takesForOne) },
  { how: 'unanswered', isMeant: commitAfter(takesForOne) },
]

/** Few enough workers to wait for both leases at the same time. */
const testKills = IS_SHORT ? test.concurrent : test

testKills.for([
  ['one order from a pool that runs low', cutsOfOne],
  ['an order from a well-filled pool', cutsOfMany],
] as const)(
  `a worker killed while it delivers %s, ${KILLS} times: every order is delivered, half of them within 15 s; no link is lost or sold twice`,
  { timeout: TEST_MS_MAX },
  async ([, cuts], context) => {
    const { system, shop, buyer } = await openStore(context)
    // One item per worker: taking links locks the pool of the item until the commit.
    const items = await shop.sell(...Array(AT_ONCE).fill(1))
    const rounds = KILLS / AT_ONCE
    // More than is sold: emptying a pool changes the catalogue, and other workers that do so wait for that lock.
    await Promise.all(items.map((item) => shop.stock(item, QTY * (rounds + 1))))
    const delays: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const left = String(QTY * (rounds + 1 - round))
      if (cuts === cutsOfOne)
        for (const item of items) await system.admin('supply', 'set', item, '--warn-below', left)
      const victims = await Promise.all(items.map(() => startVictim(context, system)))
      const dying = victims.map(async ({ worker, proxy }, n) => {
        await proxy.trap({ ...(cuts[(n + round) % cuts.length] as Cut), count: 1 })
        await worker.kill('SIGKILL')
      })
      const orders = await placeAll(system, buyer, items)
      await Promise.all(dying)
      const killedAt = Date.now()
      // Only now: it must not have taken the orders before their victims did.
      const rescuer = await startWorker(system.settingsOf('worker'))
      delays.push(...(await deliveredAfter(system, buyer, orders, killedAt)))
      expect(await rescuer.kill('SIGTERM')).toBe(0)
    }
    await context.annotate(`delivered after ${describe(delays)}`)
    await expectEachDelivered(system, buyer, KILLS)
    expect(await system.query('select count(*) from pool_links')).toBe(String(AT_ONCE * QTY))
    expect(half(delays)).toBeLessThan(DELIVERED_MS_MAX)
    await shop.expectCleanBooks()
  },
)

testKills(
  'a worker killed while it delivers many orders at once: all of them are delivered, no link is lost or sold twice',
  { timeout: TEST_MS_MAX },
  async (context) => {
    const { system, shop, buyer } = await openStore(context)
    const [item = ''] = await shop.sell(1)
    const rounds = IS_SHORT ? cutsOfMany.filter(({ how }) => how === 'unanswered') : cutsOfMany
    await shop.stock(item, QTY * (rounds.length * BATCH + 1))
    for (const cut of rounds) {
      // All of them are due when the victim starts.
      await placeAll(system, buyer, Array(BATCH).fill(item))
      const { worker, caught } = await startVictim(context, system, { slots: BATCH, cut })
      await caught
      await worker.kill('SIGKILL')
      await system.query('update jobs set leased_until = null where leased_until is not null')
      const rescuer = await startWorker(system.settingsOf('worker'))
      await untilDelivered(system, buyer)
      expect(await rescuer.kill('SIGTERM')).toBe(0)
    }
    await expectEachDelivered(system, buyer, rounds.length * BATCH)
    expect(await system.query('select count(*) from pool_links')).toBe(String(QTY))
    await shop.expectCleanBooks()
  },
)

testKills(
  `a worker killed while its supplier answers, ${KILLS} times: the next worker repeats the same supplier request id and delivers`,
  {
    timeout: TEST_MS_MAX,
  },
  async (context) => {
    const { system, shop, buyer } = await openStore(context)
    const supplier = await startSupplier()
    context.onTestFinished(() => supplier.close())
    const [item = ''] = await shop.sell(1)
    await system.admin('suppliers', 'create', 'maker', supplier.url, '--timeout', '60s')
    await system.admin('supply', 'set', item, '--source', 'supplier', '--supplier', 'maker')
    const delays: number[] = []
    for (let round = 0; round < KILLS / AT_ONCE; round += 1) {
      const before = supplier.asked.length
      supplier.hang(true)
      const victims = await Promise.all(Array.from({ length: AT_ONCE }, () => startVictim(context, system)))
      const orders = await placeAll(system, buyer, Array(AT_ONCE).fill(item))
      await until(
        () => supplier.asked.length === before + AT_ONCE,
        SOON_MS,
        () => `the supplier was asked ${supplier.asked.length - before} times`,
      )
      supplier.hang(false)
      await Promise.all(victims.map(({ worker }) => worker.kill('SIGKILL')))
      const killedAt = Date.now()
      const rescuer = await startWorker(system.settingsOf('worker'))
      delays.push(...(await deliveredAfter(system, buyer, orders, killedAt)))
      expect(await rescuer.kill('SIGTERM')).toBe(0)
    }
    await context.annotate(`delivered after ${describe(delays)}`)
    const listed = await expectEachDelivered(system, buyer, KILLS)
    // Every order was requested again with the same request id, so the supplier made its links once.
    const asks = Map.groupBy(supplier.asked, ({ id }) => id)
    expect([...asks.keys()].sort()).toEqual(listed.map((id) => `${id}-1`).sort())
    for (const [id, same] of asks) {
      expect(same.length).toBeGreaterThanOrEqual(2)
      expect(same).toMatchObject(same.map(() => ({ id, sku: item, qty: QTY })))
    }
    expect(half(delays)).toBeLessThan(DELIVERED_MS_MAX)
    await shop.expectCleanBooks()
  },
)

async function openStore({
  onTestFinished,
}: TestContext): Promise<{ system: System; shop: Shop; buyer: Buyer }> {
  const system = await startSystem({
    admission: 'postgres',
    settings: { ...limitless, SHOPWIRE_LOG_LEVEL: 'warn' },
  })
  onTestFinished(() => system.stop())
  const shop = openShop(system)
  return { system, shop, buyer: await shop.openBuyer(Math.max(KILLS, cutsOfMany.length * BATCH) * QTY) }
}

interface Victim {
  readonly worker: WorkerProcess
  readonly proxy: PostgresProxy
  /** Settles at the given cut. */
  readonly caught: Promise<unknown> | undefined
}

/** Takes one order at a time, so that each victim has exactly one claimed. */
async function startVictim(
  { onTestFinished }: TestContext,
  system: System,
  { slots = 1, cut }: { slots?: number; cut?: Cut } = {},
): Promise<Victim> {
  const proxy = await startPostgresProxy(system.postgres)
  onTestFinished(() => proxy.close())
  // Before the worker starts: what is due already is delivered at once.
  const caught = cut && proxy.trap({ ...cut, count: 1 })
  const worker = await startWorker({
    ...system.settingsOf('worker'),
    SHOPWIRE_DATABASE_URL: proxy.url(system.database.processUrls.worker),
    SHOPWIRE_WORKER_ORDERS: String(slots),
    SHOPWIRE_DATABASE_CONNECTIONS: '3',
  })
  return { worker, proxy, caught }
}

/** Answers with the ids. */
function placeAll({ ports }: System, buyer: Buyer, items: readonly string[]): Promise<string[]> {
  return Promise.all(
    items.map(async (id) => (await buyer.settle(ports[0] ?? 0, newOrder({ id, qty: QTY }))).body.id),
  )
}

/** Milliseconds from the last kill, for each order; less than none when it had been delivered before. */
async function deliveredAfter(
  { ports }: System,
  buyer: Buyer,
  orders: readonly string[],
  killedAt: number,
): Promise<number[]> {
  const [port = 0] = ports
  await untilDelivered({ ports }, buyer)
  const delivered = await Promise.all(orders.map((id) => buyer.readOrder(port, id)))
  return delivered.map(({ delivered_at }) => Date.parse(delivered_at) - killedAt)
}

const untilDelivered = ({ ports }: Pick<System, 'ports'>, buyer: Buyer) =>
  until(
    async () => {
      await sleep(LOOK_EVERY_MS)
      return (await buyer.listOrders(ports[0] ?? 0)).every(({ status }) => status === 'delivered')
    },
    SOON_MS,
    () => 'not every order is delivered',
  )

async function expectEachDelivered({ ports }: System, buyer: Buyer, count: number): Promise<string[]> {
  const listed = await buyer.listOrders(ports[0] ?? 0)
  expect(listed).toHaveLength(count)
  const orders = await Promise.all(listed.map(({ id }) => buyer.readOrder(ports[0] ?? 0, id)))
  expect(orders.every(({ status, links }) => status === 'delivered' && links.length === QTY)).toBe(true)
  expect(new Set(orders.flatMap(({ links }) => links)).size).toBe(count * QTY)
  return listed.map(({ id }) => id)
}

function half(delays: readonly number[]): number {
  return delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)] as number
}

function describe(delays: readonly number[]): string {
  return `${Math.min(...delays)} to ${Math.max(...delays)} ms, half of them within ${half(delays)} ms`
}
