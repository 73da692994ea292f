import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createFulfilment } from '../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../src/orders/fulfilment/fulfil-queue.ts'
import { readBacklogLane } from '../../src/orders/fulfilment/waiting-lines.ts'
import { markOverlooked, wakeRestocked } from '../../src/orders/fulfilment/wake-waiting.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/database/db.ts'
import type { Job } from '../../src/platform/jobs/jobs.ts'
import { postponeJob } from '../../src/platform/jobs/jobs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { lockRestocked } from '../../src/supply/restocked.ts'
import { claimFromAllLanes } from '../../testing/claim.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
let fulfil: ReturnType<typeof createFulfilment>
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  fulfil = createFulfilment({
    db: shop.database.worker,
    vault: shop.vault,
    clock: systemClock,
    log: createLog('silent'),
    metrics: shop.metrics,
    obtain: async () => ({ kind: 'not yet', note: 'no supplier' }),
  })
})
afterAll(() => shop.close())
beforeEach(() => shop.database.asOwner('truncate jobs, waiting_lines, restocked_items'))

let count = 0
async function newItem() {
  count += 1
  const id = String(4 * 10 ** 16 + count * 8)
  await untilFollowed(
    shop.catalogue,
    await putItems(shop.database.operator, [itemOf(id, { price_cents: 5 })]),
  )
  return id
}
const load = (item: string, links: number) => {
  count += 1
  const names = Array.from({ length: links }, (_, n) => `https://gift.example/wake-${count}-${n}-xxxxxxxx`)
  return shop.operator.loadPool(item, names)
}
async function buy(...items: { id: string; qty?: number }[]) {
  count += 1
  const { status, body } = await shop.call('POST', '/v1/orders', {
    body: JSON.stringify({ items, idempotency_key: `wake-${count}-xxxxxxxx` }),
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id as string
}
/** Does all that is due, once. */
async function workAll(): Promise<readonly Job[]> {
  const jobs = await claimFromAllLanes(shop.database.worker, FULFIL_QUEUE, { limit: 1_000, leaseMs: 60_000 })
  for (const job of jobs) {
    const end = await fulfil(job)
    if (end.kind !== 'done') await postponeJob(shop.database.worker, job, end)
  }
  return jobs
}
/** An item with more links than are bought. They are taken away before anybody delivers them. */
async function emptyItem() {
  const id = await newItem()
  await load(id, 30)
  return id
}
async function buyMany(item: string, orders: number, qty = 1) {
  const ids: string[] = []
  for (let n = 0; n < orders; n += 1) ids.push(await buy({ id: item, qty }))
  await shop.database.asOwner(`delete from pool_links where item_id = '${item}'`)
  await shop.database.asOwner(`update item_supply set pool_left = 0 where item_id = '${item}'`)
  await shop.database.asOwner('delete from restocked_items')
  await workAll()
  expect(await due()).toEqual([])
  return ids
}
const due = async () =>
  (
    await shop.database.owner.many<{ subject: string }>(
      sql`select subject from jobs where run_at <= clock_timestamp() and leased_until is null order by subject`,
    )
  ).map(({ subject }) => subject)
const wakeAll = async () => {
  while (await wakeRestocked(shop.database.worker));
}
const waiting = async () =>
  (await shop.database.owner.one<{ n: number }>(sql`select count(*) as n from waiting_lines`)).n

test('new links wake as many orders as they serve, the oldest first', async () => {
  const item = await emptyItem()
  const orders = await buyMany(item, 6, 2)
  expect(await waiting()).toBe(6)
  await load(item, 5)
  await wakeAll()
  // The third is served in part, and keeps what it gets.
  expect(await due()).toEqual(orders.slice(0, 3))
  await workAll()
  expect(await waiting()).toBe(4)
  await load(item, 1)
  await wakeAll()
  expect(await due()).toEqual([orders[2]])
})

test('an order that waits for two items is woken by either and registered for what it still lacks', async () => {
  const [first, second] = [await emptyItem(), await emptyItem()]
  const id = await buy({ id: first }, { id: second })
  await shop.database.asOwner(
    `update item_supply set pool_left = 0 where item_id in ('${first}', '${second}')`,
  )
  await shop.database.asOwner(`delete from pool_links where item_id in ('${first}', '${second}')`)
  await shop.database.asOwner('delete from restocked_items')
  await workAll()
  expect(await waiting()).toBe(2)
  await load(second, 1)
  await wakeAll()
  expect(await due()).toEqual([id])
  await workAll()
  expect(
    await shop.database.owner.many(sql`select item_id from waiting_lines where order_id = ${id}`),
  ).toEqual([{ item_id: first }])
  await load(first, 1)
  await wakeAll()
  await workAll()
  expect((await shop.call('GET', `/v1/orders/${id}`)).body.status).toBe('delivered')
  expect(await waiting()).toBe(0)
})

test('a round takes items marked up to the microsecond of its start, and none marked after it', async () => {
  const { now } = await readBacklogLane(shop.database.worker, 1)
  const take = () => shop.database.worker.transaction((tx) => lockRestocked(tx, now))
  await shop.database.asOwner(
    `insert into restocked_items (item_id, restocked_at) values ('1', timestamptz '${now}' + interval '1 microsecond')`,
  )
  expect(await take()).toBeUndefined()
  await shop.database.asOwner(`update restocked_items set restocked_at = '${now}'`)
  expect(await take()).toMatchObject({ item_id: '1' })
})

test('another source wakes all orders of the item', async () => {
  const item = await emptyItem()
  const orders = await buyMany(item, 3)
  await shop.operator.chooseSource(item, { source: 'hand' })
  await wakeAll()
  expect(await due()).toEqual(orders)
})

test('an item with many waiting orders is woken in chunks, and another item is not behind it', async () => {
  const [large, small] = [await emptyItem(), await emptyItem()]
  const [one] = (await buyMany(small, 1)) as [string]
  const [first] = (await buyMany(large, 1)) as [string]
  // As if very many had been bought and parked.
  await shop.database.asOwner(
    `set session_replication_role = replica;
     insert into waiting_lines (account_id, order_id, line, item_id, missing)
     select account_id, order_id || '-' || n, line, item_id, missing from waiting_lines, generate_series(1, 1000) n
      where order_id = '${first}'`,
  )
  await shop.database.asOwner(
    `insert into jobs (account_id, queue, subject, run_at, created_at)
     select account_id, 'fulfil', order_id, 'infinity', now() from waiting_lines where order_id like '${first}-%'`,
  )
  await load(large, 1_500)
  await load(small, 1)
  await wakeAll()
  const woken = await due()
  expect(woken).toContain(one)
  // One chunk and the small item; nothing more until workers have taken some.
  expect(woken.length).toBe(101)
  expect(woken).toContain(first)
})

test('a wake-up that comes while the order is being parked is not lost', async () => {
  const item = await emptyItem()
  const [id] = (await buyMany(item, 1)) as [string]
  await shop.operator.retryOrder(id)
  const [job] = (await claimFromAllLanes(shop.database.worker, FULFIL_QUEUE, {
    limit: 1,
    leaseMs: 60_000,
  })) as [Job]
  const end = await fulfil(job)
  expect(end.kind).toBe('parked')
  await load(item, 1)
  await wakeAll()
  if (end.kind !== 'done') await postponeJob(shop.database.worker, job, end)
  expect(await due()).toEqual([id])
})

test('links that a woken order no longer needs go to the next one', async () => {
  const item = await emptyItem()
  const [first, second] = (await buyMany(item, 2)) as [string, string]
  await load(item, 1)
  await wakeAll()
  expect(await due()).toEqual([first])
  await shop.operator.cancelOrder(first, 'test')
  expect(await markOverlooked(shop.database.worker)).toBe(1)
  await wakeAll()
  expect(await due()).toEqual([second])
  await workAll()
  expect(await markOverlooked(shop.database.worker)).toBe(0)
})
