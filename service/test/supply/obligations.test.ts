import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { createFulfilment } from '../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../src/orders/fulfilment/fulfil-queue.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { type Db, sql } from '../../src/platform/database/db.ts'
import { type Job, LeaseLostError } from '../../src/platform/jobs/jobs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { type Stage, TRANSITIONS } from '../../src/supply/obligation.ts'
import { createObtainer } from '../../src/supply/obtain.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
let aheadMs = 0
const clock = { nowMs: () => systemClock.nowMs() + aheadMs }
beforeAll(async () => {
  shop = await openShop({ clock })
  await shop.operator.fundAccount(shop.account.id, { amount_cents: 1_000_000, reference: 'more' })
})
afterAll(() => shop.close())

let count = 0
const next = () => {
  count += 1
  return count
}

const COST = 40
const FALLBACK_COST = 55

/** An item from a supplier made for it, with a second one as fallback, and what a link costs at each. */
async function suppliedItem(hourly_limit_cents?: number) {
  const [first, second] = [await startSupplier(`one-${next()}`), await startSupplier(`two-${count}`)]
  for (const supplier of [first, second]) {
    const { name, url } = supplier
    const limit = supplier === first ? hourly_limit_cents : undefined
    const wanted = { name, url, timeout_ms: 5_000, hourly_limit_cents: limit, allowHttp: true }
    supplier.setSecret((await shop.operator.createSupplier(wanted)).secret)
  }
  const item = `5${String(next()).padStart(16, '0')}`
  await putItems(shop.database.operator, [itemOf(item)])
  const costs = { cost_cents: COST, fallback_cost_cents: FALLBACK_COST }
  await shop.operator.chooseSource(item, { supplier: first.name, fallback: second.name, ...costs })
  return { item, first, second, close: () => Promise.all([first.close(), second.close()]) }
}

async function buy(id: string, qty = 1) {
  const request = { items: [{ id, qty }], idempotency_key: `obligation-${next()}` }
  const bought = await shop.operator.placeOrder(shop.account.id, request)
  return bought.kind === 'bought' ? bought.order.id : bought.order_id
}

const lines: string[] = []
const metrics = createMetrics('test')
function newWorker(db: Db = shop.database.worker) {
  const { keyring, vault } = shop
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const obtain = createObtainer({ db, keyring, clock, asksMax: 4, fetch, log, metrics })
  const fulfil = createFulfilment({ db, vault, clock, log, metrics, obtain })
  return async (order: string) => {
    const job = await db.one<Job>(sql`
      update jobs
         set attempts = attempts + 1
       where queue = ${FULFIL_QUEUE}
         and subject = ${order}
      returning account_id, queue, subject, attempts, created_at, is_failing`)
    return fulfil(job)
  }
}

const requestsOf = (order: string) =>
  shop.database.owner.many(sql`
    select supplier, round, stage, links, said_cents, cost_cents
      from supplier_requests
     where order_id = ${order}
     order by round`)
const bookedFor = (supplier: string) =>
  shop.database.owner.many(sql`
    select kind, reference, amount_cents
      from supplier_transfers
     where supplier = ${supplier}
     order by kind, reference`)
const poolLeft = async (item: string) =>
  (
    await shop.database.owner.one<{ left: number }>(
      sql`select pool_left as left from item_supply where item_id = ${item}`,
    )
  ).left

describe('the lifecycle', () => {
  const stages = Object.keys(TRANSITIONS) as Stage[]

  /** A request that was brought into this stage by allowed steps. */
  async function requestIn(order: string, round: number, stage: Stage) {
    await shop.database.owner.run(sql`
      insert into supplier_requests (account_id, order_id, line, supplier, round, sku, qty, stage, attempts, first_at, last_at)
      values (${shop.account.id}, ${order}, 1, 'nobody', ${round}, 'x', 1, 'requested', 1, now(), now())`)
    if (stage !== 'requested') await moveTo(order, round, stage)
  }
  const moveTo = (order: string, round: number, stage: Stage) =>
    shop.database.owner.run(sql`
      update supplier_requests set stage = ${stage} where order_id = ${order} and supplier = 'nobody' and round = ${round}`)

  test('the database allows the transitions of the service and no others', async () => {
    const { item, close } = await suppliedItem()
    const order = await buy(item)
    await shop.database.owner.run(sql`
      insert into suppliers (name, url, secret_sealed, secret_kek_id, timeout_ms, created_at)
      values ('nobody', 'https://nobody.example/', '', 'none', 1000, now())`)
    let round = 0
    const allowed: [Stage, Stage][] = []
    for (const from of stages) {
      for (const to of stages) {
        if (from === to) continue
        round += 1
        await requestIn(order, round, from)
        await moveTo(order, round, to).then(
          () => allowed.push([from, to]),
          (error) => expect(String(error)).toMatch(/cannot become/),
        )
      }
    }
    expect(allowed).toEqual(
      stages.flatMap((from) =>
        stages.filter((to) => (TRANSITIONS[from] as readonly Stage[]).includes(to)).map((to) => [from, to]),
      ),
    )
    await expect(
      shop.database.owner.run(
        sql`update supplier_requests set qty = 2 where order_id = ${order} and supplier = 'nobody' and round = 1`,
      ),
    ).rejects.toThrow(/cannot be changed/)
    await shop.database.asOwner(`delete from supplier_requests where supplier = 'nobody'`)
    await close()
  })
})

test('every request has its own row: refusals stay in the history, and only what was delivered is booked', async () => {
  const { item, first, second, close } = await suppliedItem()
  const work = newWorker()
  first.answers(() => ({ status: 409 }))
  second.answers(() => ({ status: 409 }))
  const order = await buy(item, 2)
  await work(order)
  second.answers(undefined)
  expect(await work(order)).toEqual({ kind: 'done' })
  const none = { links: null, said_cents: null, cost_cents: null }
  expect(await requestsOf(order)).toEqual([
    { supplier: first.name, round: 1, stage: 'refused', ...none },
    { supplier: second.name, round: 2, stage: 'refused', ...none },
    { supplier: first.name, round: 3, stage: 'refused', ...none },
    { supplier: second.name, round: 4, stage: 'fulfilled', ...none, links: 2, cost_cents: 2 * FALLBACK_COST },
  ])
  expect(await bookedFor(first.name)).toEqual([])
  expect(await bookedFor(second.name)).toEqual([
    {
      kind: 'cost',
      reference: `${order}-1-4`,
      amount_cents: 2 * FALLBACK_COST,
    },
  ])
  await close()
})

test('a worker whose lease ended before it recorded its first request makes none: the next worker has one open', async () => {
  const { item, first, close } = await suppliedItem()
  first.answers(() => ({ status: 202 }))
  const order = await buy(item)
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  // Its first transaction looks what is missing, its second records the request.
  let transactions = 0
  const late = newWorker({
    ...shop.database.worker,
    async transaction(work) {
      transactions += 1
      if (transactions === 2) {
        reached.resolve()
        await goOn.promise
      }
      return shop.database.worker.transaction(work)
    },
  })(order)
  await reached.promise
  await newWorker()(order)
  goOn.resolve()
  await expect(late).rejects.toBeInstanceOf(LeaseLostError)
  expect(await requestsOf(order)).toMatchObject([{ round: 1, stage: 'accepted' }])
  expect(first.asked).toHaveLength(1)
  await close()
})

test('of a line that is refused again and again only the newest refusals are kept, and its ids go on', async () => {
  const { item, first, second, close } = await suppliedItem()
  const work = newWorker()
  for (const supplier of [first, second]) supplier.answers(() => ({ status: 409 }))
  const order = await buy(item)
  for (let n = 0; n < 22; n += 1) await work(order)
  const kept = (await requestsOf(order)) as { round: number }[]
  expect(kept.map(({ round }) => round)).toEqual(Array.from({ length: 24 }, (_, n) => n + 21))
  first.answers(undefined)
  expect(await work(order)).toEqual({ kind: 'done' })
  expect(first.sold()).toEqual([`${order}-1-45`])
  await close()
})

test('a supplier may say what its links cost: it is booked as said, and more than configured is flagged', async () => {
  const { item, first, close } = await suppliedItem()
  const work = newWorker()
  let said: unknown = 75
  first.answers((ask) => {
    const given = first.give(ask)
    return { ...given, body: { ...(given.body as object), cost_cents: said } }
  })
  const cheaper = await buy(item, 2)
  await work(cheaper)
  said = 101
  const dearer = await buy(item, 2)
  await work(dearer)
  expect(await requestsOf(cheaper)).toMatchObject([{ said_cents: 75, cost_cents: 75 }])
  expect(await requestsOf(dearer)).toMatchObject([{ said_cents: 101, cost_cents: 101 }])
  expect(lines.filter((line) => line.includes('charges more than'))).toHaveLength(1)
  expect(await metrics.registry.metrics()).toMatch(/^shopwire_supplier_over_cost_total\S* 1$/m)

  for (const wrong of [-1, 1.5, '75', 100_000_001]) {
    said = wrong
    const order = await buy(item)
    expect(await newWorker()(order)).toMatchObject({ note: expect.stringContaining('bad_reply') })
  }
  await close()
})

test('links that this store had held before are not paid for', async () => {
  const { item, first, second, close } = await suppliedItem()
  await shop.operator.loadPool(item, [`https://gift.example/${first.name}/known`])
  await newWorker()(await buy(item))
  first.answers((ask) => ({
    status: 200,
    body: { links: [`https://gift.example/${first.name}/known`, `https://gift.example/${ask.id}`] },
  }))
  const order = await buy(item, 2)
  const work = newWorker()
  await work(order)
  expect(await work(order)).toEqual({ kind: 'done' })
  expect(await requestsOf(order)).toMatchObject([
    { supplier: first.name, stage: 'fulfilled', links: 1, cost_cents: COST },
    { supplier: second.name, stage: 'fulfilled', links: 1, cost_cents: FALLBACK_COST },
  ])
  await close()
})

test('a written-off request is asked for once more: its links go to the pool, its cost is booked, and that only once', async () => {
  const { item, first, second, close } = await suppliedItem()
  const work = newWorker()
  first.answers((ask) => ({ ...first.give(ask), status: 500 }))
  const order = await buy(item, 2)
  await work(order)
  const id = `${order}-1`
  const early = await runAdminOn(shop, 'suppliers', 'collect', id)
  expect([early.code, early.err]).toEqual([EXIT.notFound, expect.stringMatching(/is open: workers retry/)])
  await shop.operator.giveUpRequests(order, 1)
  expect(await work(order)).toEqual({ kind: 'done' })
  expect(second.sold()).toEqual([`${id}-2`])
  const owed = await runAdminOn(shop, '--json', 'suppliers', 'owed')
  const mine = () =>
    owed.json().suppliers.find(({ supplier }: { supplier: string }) => supplier === first.name)
  expect(mine()).toMatchObject({ owed_cents: 0, written_off_requests: 1, written_off_cents: 2 * COST })

  const inVain = await runAdminOn(shop, 'suppliers', 'collect', id)
  expect([inVain.code, inVain.err]).toEqual([EXIT.conflict, expect.stringMatching(/stays written off/)])
  first.answers(undefined)
  const done = await runAdminOn(shop, 'suppliers', 'collect', id)
  expect([done.code, done.out]).toEqual([0, expect.stringContaining(`Collected 2 links of ${id}`)])
  expect([await poolLeft(item), await bookedFor(first.name)]).toEqual([
    2,
    [expect.objectContaining({ reference: id, amount_cents: 2 * COST })],
  ])
  const again = await runAdminOn(shop, 'suppliers', 'collect', id)
  expect([again.code, again.err]).toEqual([
    EXIT.notFound,
    expect.stringMatching(/is collected: there is nothing/),
  ])
  await close()
})

test('a written-off request that the supplier refuses when it is asked once more is no longer a possible debt', async () => {
  const { item, first, close } = await suppliedItem()
  first.answers(() => ({ status: 500 }))
  const order = await buy(item)
  await newWorker()(order)
  await shop.operator.giveUpRequests(order, 1)
  first.answers(() => ({ status: 409 }))
  expect(await shop.operator.collectRequest(`${order}-1`)).toMatchObject({ outcome: 'refused' })
  expect(await requestsOf(order)).toMatchObject([{ stage: 'refused' }])
  await close()
})

test('changing the supplier says what is open and with whom, and nothing new is asked for those lines until then', async () => {
  const { item, first, second, close } = await suppliedItem()
  const work = newWorker()
  first.answers(() => ({ status: 202 }))
  const orders = [await buy(item, 2), await buy(item)]
  for (const order of orders) await work(order)
  const args = ['--supplier', second.name, '--fallback', 'none', '--cost', '60']
  const changed = await runAdminOn(shop, 'supply', 'set', item, ...args)
  expect(changed.out).toContain(`2 requests for 3 links are open at "${first.name}"`)
  expect(changed.out).toContain('at $0.60 a link')
  // A cost stays with its supplier.
  const swapped = await shop.operator.chooseSource(item, { supplier: first.name, fallback: second.name })
  expect(swapped).toMatchObject({ cost_cents: null, fallback_cost_cents: 60 })
  await shop.operator.chooseSource(item, { supplier: second.name, fallback: null })
  for (const order of orders) await work(order)
  expect(second.asked).toEqual([])
  first.answers(() => ({ status: 409 }))
  for (const order of orders) await work(order)
  for (const order of orders)
    expect(await work(order).catch(() => ({ kind: 'done' }))).toEqual({ kind: 'done' })
  expect(second.sold()).toHaveLength(2)
  await close()
})

describe('the hourly limit', () => {
  test('a line waits at the limit, the fallback is not asked, and an hour later it goes on', async () => {
    const { item, first, second, close } = await suppliedItem(2 * COST)
    const work = newWorker()
    await work(await buy(item, 2))
    const order = await buy(item)
    const expected = {
      kind: 'again',
      note: expect.stringMatching(/hourly limit of 80 cents is reached: 80 cents/),
    }
    expect(await work(order)).toMatchObject(expected)
    expect([first.asked.length, second.asked, await requestsOf(order)]).toEqual([1, [], []])
    expect(lines.some((line) => line.includes('a line waits for a supplier'))).toBe(true)
    expect(await metrics.registry.metrics()).toMatch(/^shopwire_supplier_limit_waits_total\{[^}]*\} 1$/m)
    aheadMs += 62 * 60_000
    expect(await work(order)).toEqual({ kind: 'done' })
    await close()
  })

  test('several workers together stay within it', async () => {
    const { item, first, close } = await suppliedItem(3 * COST)
    const orders = await Promise.all(Array.from({ length: 8 }, () => buy(item)))
    const ends = await Promise.all(orders.map((order) => newWorker()(order)))
    expect(ends.filter(({ kind }) => kind === 'done')).toHaveLength(3)
    expect(first.sold()).toHaveLength(3)
    await close()
  })

  test('what a supplier refuses does not count', async () => {
    const { item, first, second, close } = await suppliedItem(COST)
    const work = newWorker()
    first.answers(() => ({ status: 409 }))
    for (let n = 0; n < 3; n += 1) expect(await work(await buy(item))).toEqual({ kind: 'done' })
    expect(second.sold()).toHaveLength(3)
    first.answers(undefined)
    expect(await work(await buy(item))).toEqual({ kind: 'done' })
    expect(first.sold()).toHaveLength(1)
    await close()
  })

  test('a limit that is set later counts the last hour; without a cost of its items it is refused', async () => {
    const { item, first, close } = await suppliedItem()
    const work = newWorker()
    await work(await buy(item))
    const set = (limit: string) => runAdminOn(shop, 'suppliers', 'set', first.name, '--hourly-limit', limit)
    expect((await set(String(COST))).out).toContain('$0.40 an hour')
    const order = await buy(item)
    expect(await work(order)).toMatchObject({ note: expect.stringMatching(/limit of 40 cents is reached/) })
    expect((await set('none')).code).toBe(0)
    expect(await work(order)).toEqual({ kind: 'done' })
    await shop.database.owner.run(sql`update item_supply set cost_cents = null where item_id = ${item}`)
    const refused = await set('100')
    expect([refused.code, refused.err]).toEqual([EXIT.usage, expect.stringContaining(item)])
    await close()
  })
})

test('a payment is recorded once for each reference, and the statement of a month adds up', async () => {
  const { item, first, close } = await suppliedItem()
  const work = newWorker()
  const delivered = await buy(item, 2)
  await work(delivered)
  first.answers(() => ({ status: 202 }))
  const open = await buy(item)
  await work(open)
  const pay = (cents: string) =>
    runAdminOn(shop, 'suppliers', 'pay', first.name, '--cents', cents, '--reference', 'wire 7')
  expect((await pay('30')).out).toContain('Recorded a payment of $0.30')
  expect((await pay('30')).out).toContain('was recorded before; nothing was booked again')
  const other = await pay('31')
  expect([other.code, other.err]).toEqual([
    EXIT.conflict,
    expect.stringContaining('recorded before with 30 cents'),
  ])

  const month = new Date(clock.nowMs()).toISOString().slice(0, 7)
  const statement = (...args: string[]) =>
    runAdminOn(shop, ...args, 'suppliers', 'statement', first.name, '--month', month)
  const json = (await statement('--json')).json()
  expect(json).toMatchObject({
    owed_before_cents: 0,
    booked_cents: 2 * COST,
    paid_cents: 30,
    owed_after_cents: 2 * COST - 30,
    now: { owed_cents: 2 * COST - 30, open_requests: 1, open_cents: COST },
    obligations: [
      { id: `${delivered}-1`, sku: item, qty: 2, links: 2, stage: 'fulfilled', cost_cents: 2 * COST },
      { id: `${open}-1`, stage: 'accepted', cost_cents: null, ended_at: null },
    ],
    payments: [{ reference: 'wire 7', amount_cents: 30 }],
  })
  const text = (await statement()).out
  expect(text).toMatch(/Owed when it ended +\$0\.50/)
  expect(text).toContain('open requests $0.40 (1)')
  const csv = (await runAdminOn(shop, 'suppliers', 'statement', first.name, '--month', month, '--csv')).out
  expect(csv.split('\r\n')[1]).toMatch(new RegExp(`^${delivered}-1,${item},2,2,fulfilled,.*,80,,80,no$`))
  const wrong = await runAdminOn(shop, 'suppliers', 'statement', first.name, '--month', '2026-13')
  expect([wrong.code, wrong.err]).toEqual([EXIT.usage, expect.stringContaining('is not a month')])
  await close()
})

test('the house ledger can be changed neither by operators nor by the worker, and is closed to the dashboard', async () => {
  for (const statement of [
    sql`update supplier_transfers set amount_cents = 1`,
    sql`delete from supplier_transfers`,
  ])
    for (const db of [shop.database.operator, shop.database.worker])
      await expect(db.run(statement)).rejects.toThrow(/permission denied/)
  for (const table of [
    sql`select supplier from supplier_transfers`,
    sql`select supplier from supplier_spending`,
  ])
    await expect(shop.database.dashboard.many(table)).rejects.toThrow(/permission denied/)
})
