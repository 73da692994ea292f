import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFulfilment } from '../../src/orders/fulfil.ts'
import { FULFIL_QUEUE } from '../../src/orders/waiting.ts'
import { systemClock as clock } from '../../src/platform/clock.ts'
import { sql } from '../../src/platform/db.ts'
import { type Job, LeaseLost, postponeJob, takeJobs } from '../../src/platform/jobs.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { createObtainer } from '../../src/supply/obtain.ts'
import type { SupplierRequest } from '../../src/supply/queries.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startSupplier } from '../../testing/supplier.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

let count = 0
const next = () => {
  count += 1
  return count
}

/** An item that comes from a supplier of its own, and a second one behind it. */
async function suppliedItem(timeout_ms = 5_000) {
  const [first, second] = [await startSupplier(`first-${next()}`), await startSupplier(`second-${count}`)]
  for (const supplier of [first, second]) {
    const { name, url } = supplier
    const { secret } = await shop.operator.createSupplier({ name, url, timeout_ms, allowHttp: true })
    supplier.knows(secret)
  }
  const item = `4${String(next()).padStart(16, '0')}`
  await putItems(shop.db, [itemOf(item)])
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

/** One worker process: its own circuit breakers. */
function newWorker() {
  const { db, keyring, vault } = shop
  const obtain = createObtainer({ db, keyring, clock, asksMax: 4, fetch })
  const log = createLog('silent')
  const fulfil = createFulfilment({ db, vault, clock, log, metrics: createMetrics('test'), obtain })
  /** Does the job, and says when it is due again. */
  async function work(job: Job) {
    const end = await fulfil(job)
    if (end.kind !== 'done') await postponeJob(db, job, end)
    return end
  }
  /** Takes the order up at once, whenever it is due. */
  async function take(order: string, leaseMs = 60_000): Promise<Job> {
    await shop.database.asOwner(`update jobs set run_at = now() where subject = '${order}'`)
    for (const job of await takeJobs(db, FULFIL_QUEUE, false, 10, leaseMs))
      if (job.subject === order) return job
    throw new Error(`${order} is not due`)
  }
  return { take, work, run: async (order: string) => work(await take(order)) }
}

const requestsOf = (order: string) =>
  shop.db.many<Pick<SupplierRequest, 'supplier' | 'state' | 'round'>>(
    sql`select supplier, state, round from supplier_requests where order_id = ${order} order by first_at`,
  )
const statusOf = async (order: string) =>
  (await shop.db.one<{ status: string }>(sql`select status from orders where id = ${order}`)).status

test('a refusal that reaches a worker after its lease was taken over changes nothing: the request stays open under the next worker', async () => {
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
  await expect(late).rejects.toBeInstanceOf(LeaseLost)
  expect(await requestsOf(order)).toEqual([{ supplier: first.name, state: 'asked', round: 1 }])

  first.answers(undefined)
  expect(await current.run(order)).toEqual({ kind: 'done' })
  expect(await statusOf(order)).toBe('delivered')
  expect(first.asked.map(({ id }) => id)).toEqual([`${order}-1`, `${order}-1`, `${order}-1`])
  expect(second.asked).toEqual([])
  await close()
})
