import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { createFulfilment } from '../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../src/orders/fulfilment/fulfil-queue.ts'
import { systemClock as clock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/database/db.ts'
import { claimJobs, type Job, LeaseLostError, postponeJob } from '../../src/platform/jobs/jobs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { createObtainer } from '../../src/supply/obtain.ts'
import type { SupplierRequest } from '../../src/supply/request-queries.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
})
afterAll(() => shop.close())

let count = 0
const next = () => {
  count += 1
  return count
}

/** An item from a supplier made for it, with a second one as fallback. */
async function suppliedItem(timeout_ms = 5_000) {
  const [first, second] = [await startSupplier(`first-${next()}`), await startSupplier(`second-${count}`)]
  for (const supplier of [first, second]) {
    const { name, url } = supplier
    const { secret } = await shop.operator.createSupplier({ name, url, timeout_ms, allowHttp: true })
    supplier.setSecret(secret)
  }
  const item = `4${String(next()).padStart(16, '0')}`
  await putItems(shop.database.operator, [itemOf(item)])
  await shop.operator.chooseSource(item, { supplier: first.name, fallback: second.name })
  return { item, first, second, close: () => Promise.all([first.close(), second.close()]) }
}

async function buy(id: string, qty = 1) {
  const items = [{ id, qty }]
  const bought = await shop.operator.placeOrder(shop.account.id, {
    items,
    idempotency_key: `request-${next()}`,
  })
  return bought.kind === 'bought' ? bought.order.id : bought.order_id
}

/** One worker process, with its own circuit breakers. */
function newWorker() {
  const { database, keyring, vault } = shop
  const { worker: db } = database
  const log = createLog('silent')
  const metrics = createMetrics('test')
  const obtain = createObtainer({ db, keyring, clock, asksMax: 4, fetch, log, metrics })
  const fulfil = createFulfilment({ db, vault, clock, log, metrics, obtain })
  /** Runs the job and returns when it is due again. */
  async function work(job: Job) {
    const end = await fulfil(job)
    if (end.kind !== 'done') await postponeJob(db, job, end)
    return end
  }
  /** Claims this order's job at once, due or not, and no other. */
  async function take(order: string, leaseMs = 60_000): Promise<Job> {
    await shop.database.asOwner(
      `update jobs set run_at = case when subject = '${order}' then now() else 'infinity' end`,
    )
    for (const job of (await claimJobs(db, FULFIL_QUEUE, 'usual', { limit: 10, leaseMs })).jobs)
      if (job.subject === order) return job
    throw new Error(`${order} is not due`)
  }
  return { take, work, run: async (order: string) => work(await take(order)) }
}

const requestsOf = (order: string) =>
  shop.database.owner.many<Pick<SupplierRequest, 'supplier' | 'stage' | 'round'>>(
    sql`select supplier, stage, round from supplier_requests where order_id = ${order} order by round, first_at`,
  )
const statusOf = async (order: string) =>
  (await shop.database.owner.one<{ status: string }>(sql`select status from orders where id = ${order}`))
    .status

test('a refusal that arrives after the lease was taken over changes nothing: the request stays open under the next worker', async () => {
  const { item, first, second, close } = await suppliedItem()
  const [stale, current] = [newWorker(), newWorker()]
  const refuse = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  let askings = 0
  first.answers(async () => {
    askings += 1
    if (askings > 1) return { status: 202 }
    asked.resolve()
    await refuse.promise
    return { status: 409 }
  })
  const order = await buy(item)
  const late = stale.work(await stale.take(order, 1))
  await asked.promise
  expect(await current.run(order)).toMatchObject({ kind: 'again', note: expect.stringMatching(/being_made/) })
  refuse.resolve()
  await expect(late).rejects.toBeInstanceOf(LeaseLostError)
  expect(await requestsOf(order)).toEqual([{ supplier: first.name, stage: 'accepted', round: 1 }])

  first.answers(undefined)
  expect(await current.run(order)).toEqual({ kind: 'done' })
  expect(await statusOf(order)).toBe('delivered')
  expect(first.asked.map(({ id }) => id)).toEqual([`${order}-1`, `${order}-1`, `${order}-1`])
  expect(second.asked).toEqual([])
  await close()
})

test('links that arrive after another worker has delivered them change nothing: the request stays given', async () => {
  const { item, first, close } = await suppliedItem()
  const [stale, current] = [newWorker(), newWorker()]
  const answer = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  let askings = 0
  first.answers(async (ask) => {
    askings += 1
    if (askings === 1) {
      asked.resolve()
      await answer.promise
    }
    return first.give(ask)
  })
  const order = await buy(item)
  const late = stale.work(await stale.take(order, 1))
  await asked.promise
  expect(await current.run(order)).toEqual({ kind: 'done' })
  answer.resolve()
  await expect(late).rejects.toBeInstanceOf(LeaseLostError)
  expect(await requestsOf(order)).toEqual([{ supplier: first.name, stage: 'fulfilled', round: 1 }])
  await close()
})

const noteOf = async (order: string) =>
  (await shop.database.owner.maybeOne<{ note: string }>(sql`select note from jobs where subject = ${order}`))
    ?.note
const poolLeft = async (item: string) =>
  (
    await shop.database.owner.one<{ left: number }>(
      sql`select pool_left as left from item_supply where item_id = ${item}`,
    )
  ).left
const sellersOf = (order: string, ...suppliers: Awaited<ReturnType<typeof startSupplier>>[]) =>
  suppliers.filter((supplier) => supplier.sold().some((id) => id.startsWith(order))).map(({ name }) => name)

test('the first supplier refuses, the fallback answers 202: only the fallback is asked again, and only it has sold', async () => {
  const { item, first, second, close } = await suppliedItem()
  const worker = newWorker()
  first.answers(() => ({ status: 409 }))
  second.answers(() => ({ status: 202 }))
  const order = await buy(item)
  expect(await worker.run(order)).toMatchObject({ kind: 'again' })
  first.answers(undefined)
  expect(await worker.run(order)).toMatchObject({
    kind: 'again',
    note: expect.not.stringContaining(first.name),
  })
  second.answers(undefined)
  expect(await worker.run(order)).toEqual({ kind: 'done' })
  expect(sellersOf(order, first, second)).toEqual([second.name])
  expect(first.asked).toHaveLength(1)
  await close()
})

test('the first supplier answers 202 and its circuit breaker opens: the order waits, and only the first has sold', async () => {
  const { item, first, second, close } = await suppliedItem()
  const worker = newWorker()
  first.answers(() => ({ status: 202 }))
  const order = await buy(item)
  await worker.run(order)
  first.answers(() => ({ status: 500 }))
  for (let n = 0; n < 5; n += 1) await worker.run(await buy(item))
  expect(await worker.run(order)).toMatchObject({
    kind: 'again',
    note: expect.stringMatching(/keeps failing/),
  })
  expect(second.asked).toEqual([])
  first.answers(undefined)
  expect(await newWorker().run(order)).toEqual({ kind: 'done' })
  expect(sellersOf(order, first, second)).toEqual([first.name])
  await close()
})

test('the first supplier makes links and its answers are lost, for six orders: each order is sold by exactly one supplier', async () => {
  const { item, first, second, close } = await suppliedItem(100)
  const worker = newWorker()
  first.answers((ask) => ({ ...first.give(ask), hangs: true }))
  const orders: string[] = []
  for (let n = 0; n < 6; n += 1) orders.push(await buy(item))
  for (let round = 0; round < 4; round += 1) {
    for (const order of orders) if ((await statusOf(order)) === 'paid') await worker.run(order)
  }
  first.answers(undefined)
  const recovered = newWorker()
  for (const order of orders) if ((await statusOf(order)) === 'paid') await recovered.run(order)
  for (const order of orders) {
    expect(await statusOf(order)).toBe('delivered')
    expect(sellersOf(order, first, second)).toHaveLength(1)
  }
  // After five failures the breaker is open: requests never sent to the first supplier go to the fallback at once.
  expect([first.sold().length, second.sold().length]).toEqual([5, 1])
  await close()
})

test('when no connection to a supplier can be made, it has received nothing: the fallback is asked at once', async () => {
  const { item, first, second } = await suppliedItem()
  await first.close()
  const order = await buy(item)
  expect(await newWorker().run(order)).toEqual({ kind: 'done' })
  expect(await requestsOf(order)).toEqual([
    { supplier: first.name, stage: 'unsent', round: 1 },
    { supplier: second.name, stage: 'fulfilled', round: 2 },
  ])
  await second.close()
})

test('a supplier that may have received an earlier request is waited for when no connection can be made any more', async () => {
  const { item, first, second } = await suppliedItem()
  const worker = newWorker()
  first.answers(() => ({ status: 500 }))
  const order = await buy(item)
  await worker.run(order)
  await first.close()
  expect(await worker.run(order)).toMatchObject({ kind: 'again', note: expect.stringMatching(/connect/) })
  expect(await requestsOf(order)).toEqual([{ supplier: first.name, stage: 'unknown', round: 1 }])
  expect(second.asked).toEqual([])
  await second.close()
})

test('an open request is settled first, even with a supplier that is paused and no longer configured for the item', async () => {
  const { item, first, second, close } = await suppliedItem()
  const worker = newWorker()
  first.answers(() => ({ status: 202 }))
  const order = await buy(item)
  await worker.run(order)
  await shop.operator.pauseSupplier(first.name, true)
  await shop.operator.chooseSource(item, { supplier: second.name, fallback: null })
  expect(await worker.run(order)).toMatchObject({ kind: 'again', note: expect.stringMatching(/being_made/) })
  await shop.operator.chooseSource(item, { source: 'hand' })
  expect(await worker.run(order)).toMatchObject({ kind: 'again' })
  first.answers(undefined)
  expect(await worker.run(order)).toEqual({ kind: 'done' })
  expect(await statusOf(order)).toBe('delivered')
  expect(sellersOf(order, first, second)).toEqual([first.name])
  await close()
})

test.each([
  ['cancelled', (order: string) => shop.operator.cancelOrder(order, 'test')],
  [
    'delivered by hand',
    (order: string) => shop.operator.deliverOrder(order, [`https://gift.example/by-hand-${next()}`]),
  ],
])(
  'links requested before the order was %s are collected into the pool, and then its job is deleted',
  async (_how, end) => {
    const { item, first, second, close } = await suppliedItem()
    const worker = newWorker()
    first.answers(() => ({ status: 202 }))
    const order = await buy(item)
    await worker.run(order)
    await end(order)
    expect(await worker.run(order)).toMatchObject({
      kind: 'again',
      note: expect.stringMatching(/being_made/),
    })
    first.answers(undefined)
    expect(await worker.run(order)).toEqual({ kind: 'done' })
    expect([await poolLeft(item), await noteOf(order), second.asked]).toEqual([1, undefined, []])
    expect(await requestsOf(order)).toEqual([{ supplier: first.name, stage: 'collected', round: 1 }])
    await close()
  },
)

test('the job of a cancelled order is deleted once its supplier has refused', async () => {
  const { item, first, second, close } = await suppliedItem()
  const worker = newWorker()
  first.answers(() => ({ status: 202 }))
  const order = await buy(item)
  await worker.run(order)
  await shop.operator.cancelOrder(order, 'test')
  first.answers(() => ({ status: 409 }))
  expect(await worker.run(order)).toEqual({ kind: 'done' })
  expect([await noteOf(order), second.asked]).toEqual([undefined, []])
  await close()
})

test('an operator gives up a request: it is listed until then, audited, and the fallback is asked', async () => {
  const { item, first, second, close } = await suppliedItem()
  const worker = newWorker()
  first.answers(() => ({ status: 500 }))
  const order = await buy(item)
  await worker.run(order)
  const listed = await runAdminOn(shop, 'suppliers', 'unsettled')
  expect(listed.out).toContain(`${order}-1`)
  const wrong = await runAdminOn(shop, 'suppliers', 'give-up', order, '2')
  expect([wrong.code, wrong.err]).toEqual([
    EXIT.notFound,
    expect.stringMatching(/no open request for line 2/),
  ])
  const done = await runAdminOn(shop, 'suppliers', 'give-up', order, '1')
  expect([done.code, done.out]).toEqual([0, expect.stringContaining(`Gave up ${order}-1 at "${first.name}"`)])
  expect((await runAdminOn(shop, 'suppliers', 'unsettled')).out).not.toContain(order)
  const audited = await shop.database.owner.many(
    sql`select details->'requests'->0->>'supplier' as supplier from audit_log
         where action = 'supplier.give_up' and target = ${order}`,
  )
  expect(audited).toEqual([{ supplier: first.name }])
  expect(await worker.run(order)).toEqual({ kind: 'done' })
  expect(sellersOf(order, first, second)).toEqual([second.name])
  expect(first.asked).toHaveLength(1)
  await close()
})
