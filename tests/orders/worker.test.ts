import { setTimeout as sleep } from 'node:timers/promises'
import { type Buyer, newOrder } from '@shopwire/test-kit/people/buyer'
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

const SOON_MS = 60_000
const LOOK_EVERY_MS = 200
/** Of a worker on its jobs; see the job runner. */
const LEASE_MS = 10_000

test('threat 68: on SIGTERM a worker finishes its claimed jobs, claims no more, and exits with 0', async (context) => {
  const { system, shop, supplier, item } = await openStore(context)
  const buyer = await shop.openBuyer(100)
  // One supplier may use an eighth of the worker's slots.
  const worker = await startWorkerFor(context, system, { SHOPWIRE_WORKER_ORDERS: '24' })
  supplier.hang(true)
  const claimed = await placeAll(system, buyer, item, 3)
  await until(
    () => supplier.asked.length === 3,
    SOON_MS,
    () => 'the supplier is not asked',
  )
  const exited = worker.kill('SIGTERM')
  await until(
    () => worker.logs().includes('stopping'),
    SOON_MS,
    () => 'the worker does not stop',
  )
  const waiting = await placeAll(system, buyer, item, 3)
  supplier.release()
  expect(await exited).toBe(0)
  expect(await statuses(system, buyer, claimed)).toEqual(['delivered', 'delivered', 'delivered'])
  expect(await statuses(system, buyer, waiting)).toEqual(['paid', 'paid', 'paid'])
  expect(supplier.asked).toHaveLength(3)
  await shop.expectCleanBooks()
})

test('threat 68: a stopping worker releases the leases of jobs that do not finish in time', async (context) => {
  const { system, shop, supplier, item } = await openStore(context)
  const buyer = await shop.openBuyer(100)
  const worker = await startWorkerFor(context, system, { SHOPWIRE_SHUTDOWN_MS: '4000' })
  supplier.hang(true)
  const orders = await placeAll(system, buyer, item, 2)
  await until(
    () => supplier.asked.length === 2,
    SOON_MS,
    () => 'the supplier is not asked',
  )
  expect(await worker.kill('SIGTERM')).toBe(0)
  const due =
    "select count(*) from jobs where queue = 'fulfil' and run_at <= clock_timestamp() and leased_until <= clock_timestamp()"
  expect(await system.query(due)).toBe('2')
  supplier.hang(false)
  await startWorkerFor(context, system)
  await untilDelivered(system, buyer, orders.length)
  await shop.expectCleanBooks()
})

test('two workers process a backlog of 200 orders, and each order is delivered once', async (context) => {
  const { system, shop } = await openStore(context)
  const [item = ''] = await shop.sell(1)
  await shop.stock(item, 400)
  const buyer = await shop.openBuyer(400)
  const orders = await placeAll(system, buyer, item, 200, 2)
  const workers = await Promise.all([0, 1].map(() => startWorkerFor(context, system)))
  await untilDelivered(system, buyer, 200)
  const shares = await Promise.all(workers.map(deliveredBy))
  await context.annotate(`${shares.join(' and ')} orders`)
  expect(shares.reduce((sum, share) => sum + share)).toBe(200)
  const links = await linksOf(system, buyer, orders)
  expect(links).toHaveLength(400)
  expect(new Set(links).size).toBe(400)
  expect(await system.query('select count(*) from pool_links')).toBe('0')
  await shop.expectCleanBooks()
})

test('a worker frozen for longer than its lease finds its orders delivered by another, and changes nothing', async (context) => {
  const { system, shop, supplier, item } = await openStore(context)
  const buyer = await shop.openBuyer(100)
  const frozen = await startWorkerFor(context, system)
  supplier.hang(true)
  const orders = await placeAll(system, buyer, item, 4)
  await until(
    () => supplier.asked.length === orders.length,
    SOON_MS,
    () => 'the supplier is not asked',
  )
  process.kill(frozen.pid() as number, 'SIGSTOP')
  // The answers arrive while it cannot read them: when it resumes, it has links under an expired lease.
  supplier.release()
  await sleep(LEASE_MS)
  const other = await startWorkerFor(context, system)
  await untilDelivered(system, buyer, orders.length)
  const before = await linksOf(system, buyer, orders)
  process.kill(frozen.pid() as number, 'SIGCONT')
  const late = await placeAll(system, buyer, item, 5)
  await untilDelivered(system, buyer, orders.length + late.length)
  expect(await frozen.kill('SIGTERM')).toBe(0)
  expect(await other.kill('SIGTERM')).toBe(0)
  expect(await linksOf(system, buyer, orders)).toEqual(before)
  expect(await system.query('select count(*) from pool_links')).toBe('0')
  await shop.expectCleanBooks()
})

test('an idle worker claims a new order promptly; the latency is printed', async (context) => {
  const { system, shop } = await openStore(context)
  const [item = ''] = await shop.sell(1)
  await shop.stock(item, 50)
  const buyer = await shop.openBuyer(50)
  await startWorkerFor(context, system)
  for (let n = 0; n < 30; n += 1) {
    await placeAll(system, buyer, item, 1)
    await untilDelivered(system, buyer, n + 1)
    // The time of day differs, so that the order does not always come right after the same look.
    await sleep(7 * (n % 15))
  }
  const rows = await system.query(
    'select extract(milliseconds from delivered_at - created_at)::integer from orders order by 1',
  )
  const delaysMs = rows.split('\n').map(Number)
  await context.annotate(`bought to delivered: ${delaysMs[15]} ms (p50), ${delaysMs.at(-1)} ms (most)`)
  await shop.expectCleanBooks()
})

/** With an item whose links come from a supplier. */
async function openStore({ onTestFinished }: TestContext) {
  const system = await startSystem({
    admission: 'postgres',
    settings: { ...limitless, SHOPWIRE_DATABASE_CONNECT_MS: '20000' },
  })
  onTestFinished(() => system.stop())
  const shop: Shop = openShop(system)
  const supplier = await startSupplier()
  onTestFinished(() => supplier.close())
  const [item = ''] = await shop.sell(1)
  await system.admin('suppliers', 'create', 'maker', supplier.url, '--timeout', '60s')
  await system.admin('supply', 'set', item, '--source', 'supplier', '--supplier', 'maker')
  return { system, shop, supplier, item }
}

async function startWorkerFor(
  { onTestFinished }: TestContext,
  system: System,
  changed = {},
): Promise<WorkerProcess> {
  const worker = await startWorker({ ...system.settingsOf('worker'), ...changed })
  onTestFinished(async () => {
    const crash = worker.crash()
    if (worker.pid() !== undefined) await worker.kill('SIGKILL')
    if (crash !== undefined) throw new Error(`a worker ended by itself:\n${crash}`)
  })
  return worker
}

/** Answers with the ids. */
function placeAll({ ports }: System, buyer: Buyer, id: string, count: number, qty = 1): Promise<string[]> {
  const place = async () => (await buyer.settle(ports[0] ?? 0, newOrder({ id, qty }))).body.id
  return Promise.all(Array.from({ length: count }, place))
}

async function untilDelivered({ query }: System, { account_id }: Buyer, count: number): Promise<void> {
  const delivered = `select count(*) from orders where account_id = '${account_id}' and status = 'delivered'`
  await until(
    async () => {
      await sleep(LOOK_EVERY_MS)
      return Number(await query(delivered)) === count
    },
    SOON_MS,
    () => `${count} orders should be delivered`,
  )
}

async function statuses({ ports }: System, buyer: Buyer, ids: readonly string[]): Promise<string[]> {
  const orders = await Promise.all(ids.map((id) => buyer.readOrder(ports[0] ?? 0, id)))
  return orders.map(({ status }) => status)
}

async function linksOf({ ports }: System, buyer: Buyer, ids: readonly string[]): Promise<string[]> {
  const orders = await Promise.all(ids.map((id) => buyer.readOrder(ports[0] ?? 0, id)))
  return orders.flatMap(({ links }) => links)
}

async function deliveredBy({ healthUrl }: WorkerProcess): Promise<number> {
  const metrics = await (await fetch(`${healthUrl}/metrics`)).text()
  return Number(/^shopwire_orders_delivered_total (\d+)$/m.exec(metrics)?.[1])
}
