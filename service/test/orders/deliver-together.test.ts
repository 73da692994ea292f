import fc from 'fast-check'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { INVARIANTS } from '../../src/installation.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { createDeliverTogether } from '../../src/orders/fulfilment/deliver-together.ts'
import { createFulfilment } from '../../src/orders/fulfilment/fulfil.ts'
import { FULFIL_QUEUE } from '../../src/orders/fulfilment/fulfil-queue.ts'
import { readOrders } from '../../src/orders/reading/read-orders.ts'
import { systemClock as clock } from '../../src/platform/clock.ts'
import { type Db, sql } from '../../src/platform/database/db.ts'
import { type Job, LEASE_MS } from '../../src/platform/jobs/jobs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import type { Journal, SoldLink } from '../../src/supply/journal.ts'
import { setEndpoint } from '../../src/webhooks/endpoint.ts'
import { claimFromAllLanes } from '../../testing/claim.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

let shop: Shop
beforeEach(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
})
afterEach(async () => {
  const findings = await verifyData(shop.database.owner, await readRules(INVARIANTS), () => {})
  await shop.close()
  expect(findings.filter(({ violations }) => violations > 0)).toEqual([])
})

let count = 0
const next = () => {
  count += 1
  return count
}
const linksOf = (n: number) => Array.from({ length: n }, () => `https://gift.example/together-${next()}`)

async function newItem(links: number) {
  const id = `4${String(next()).padStart(16, '0')}`
  await putItems(shop.database.operator, [itemOf(id)])
  if (links > 0) await shop.operator.loadPool(id, linksOf(links))
  return id
}

async function newAccount({ hasEndpoint = true } = {}) {
  const { id } = await shop.operator.createAccount('Together')
  await shop.operator.fundAccount(id, { amount_cents: 20_000, reference: `opening ${id}` })
  if (hasEndpoint)
    await shop.database.api.transaction((tx) =>
      setEndpoint(
        tx,
        shop.keyring,
        { account_id: id, url: 'https://93.184.216.34/hook', set_by: 'test' },
        Date.now(),
      ),
    )
  return id
}

async function buy(account_id: string, ...items: { id: string; qty?: number }[]) {
  const idempotency_key = `together-${next()}`
  const bought = await shop.operator.placeOrder(account_id, { items, idempotency_key })
  return bought.kind === 'bought' ? bought.order.id : bought.order_id
}

const claim = () => claimFromAllLanes(shop.database.worker, FULFIL_QUEUE, { limit: 50, leaseMs: LEASE_MS })

/** Everything goes into one call, as for a worker that found all these jobs due. */
function deliverer(parts: { db?: Db; journal?: Journal } = {}) {
  const { db = shop.database.worker, journal } = parts
  const deliver = createDeliverTogether({ db, vault: shop.vault, clock, journal, batching: 'always' })
  return async (jobs: readonly Job[]) => {
    const outcomes = await Promise.all(jobs.map(async (job) => [job.subject, (await deliver(job)).verdict]))
    return Object.fromEntries(outcomes) as Record<string, string>
  }
}

const statusOf = async (id: string) =>
  (await shop.database.owner.one<{ status: string }>(sql`select status from orders where id = ${id}`)).status

const transactionsOf = async (ids: readonly string[]) =>
  (
    await shop.database.owner.one<{ n: number }>(
      sql`select count(distinct xmin::text) as n from orders where id = any(${ids})`,
    )
  ).n

const linksSold = async () =>
  (await shop.database.owner.one<{ links: number }>(sql`select count(*) as links from order_links`)).links

const damageOldest = (item: string) =>
  shop.database.owner.run(sql`
    update pool_links
       set link_sealed = set_byte(link_sealed, length(link_sealed) - 1, get_byte(link_sealed, length(link_sealed) - 1) # 1)
     where item_id = ${item}
       and id = (select min(id) from pool_links where item_id = ${item})`)

/** Another transaction that holds a lock until it is released. */
async function holding(statement: string) {
  const client = new pg.Client({ connectionString: shop.database.ownerUrl })
  await client.connect()
  await client.query('begin')
  await client.query(statement)
  return async () => {
    await client.query('commit')
    await client.end()
  }
}

function fulfiller(db: Db) {
  const obtain = async () => ({ kind: 'not yet', note: 'there are no suppliers here' }) as const
  const [log, metrics] = [createLog('silent'), createMetrics('test')]
  return createFulfilment({ db, vault: shop.vault, clock, log, metrics, obtain })
}

test('orders of several accounts are delivered in one transaction, each with links, event, delivery and woken endpoint', async () => {
  const [first, second] = [await newItem(10), await newItem(10)]
  const [one, two, three] = [await newAccount(), await newAccount(), await newAccount({ hasEndpoint: false })]
  const ids = [
    await buy(one, { id: first, qty: 2 }, { id: second }),
    await buy(two, { id: second, qty: 3 }),
    await buy(three, { id: first }),
    await buy(one, { id: second }),
  ]
  const outcomes = await deliverer()(await claim())
  expect(outcomes).toEqual(Object.fromEntries(ids.map((id) => [id, 'delivered'])))
  expect(await transactionsOf(ids)).toBe(1)
  const { owner } = shop.database
  const kept = await owner.many<{ order_id: string; units: string; hashes: number }>(sql`
    select order_id, string_agg(line || '.' || unit, ' ' order by line, unit) as units, count(distinct link_hash) as hashes
      from order_links group by order_id order by order_id`)
  expect(kept.map(({ units, hashes }) => [units, hashes])).toEqual([
    ['1.1 1.2 2.1', 3],
    ['1.1 1.2 1.3', 3],
    ['1.1', 1],
    ['1.1', 1],
  ])
  const events = await owner.many<{ deliveries: number }>(sql`
    select (select count(*) from deliveries d where d.event_id = e.id) as deliveries
      from events e
     where e.type = 'order.delivered'
     order by e.order_id`)
  expect(events.map(({ deliveries }) => deliveries)).toEqual([1, 1, 0, 1])
  expect(await owner.many(sql`select from jobs where queue = 'fulfil'`)).toEqual([])
})

test('what is not plain is left alone, and everything else in the batch is delivered', async () => {
  const [good, empty, byHand, low, unreadable] = [
    await newItem(20),
    await newItem(1),
    await newItem(0),
    await newItem(5),
    await newItem(3),
  ]
  await shop.operator.chooseSource(low, { warn_below: 5 })
  const account = await newAccount()
  const plain = [await buy(account, { id: good }), await buy(account, { id: good, qty: 2 })]
  const cancelled = await buy(account, { id: good })
  const takenOver = await buy(account, { id: good })
  const emptying = await buy(account, { id: empty })
  const manual = await buy(account, { id: good }, { id: byHand })
  const lowering = await buy(account, { id: low })
  const jobs = await claim()
  await shop.operator.cancelOrder(cancelled, 'test')
  // Its lease ran out, and another worker claimed the job.
  await shop.database.owner.run(sql`update jobs set attempts = attempts + 1 where subject = ${takenOver}`)
  expect(await deliverer()(jobs)).toEqual({
    [plain[0] as string]: 'delivered',
    [plain[1] as string]: 'delivered',
    [cancelled]: 'alone',
    [takenOver]: 'lost',
    [emptying]: 'alone',
    [manual]: 'alone',
    [lowering]: 'alone',
  })
  expect([await statusOf(takenOver), await statusOf(cancelled)]).toEqual(['paid', 'cancelled'])

  const [damaged, beside] = [await buy(account, { id: unreadable }), await buy(account, { id: good })]
  await damageOldest(unreadable)
  const both = (await claim()).filter(({ subject }) => [damaged, beside].includes(subject))
  expect(await deliverer()(both)).toEqual({ [damaged]: 'alone', [beside]: 'delivered' })
  // By itself the order is delivered with the next link; the damaged one is set aside.
  await shop.database.owner.run(sql`update jobs set leased_until = null, run_at = now()`)
  const worker = startWorker(shop)
  const rest = [damaged, takenOver, emptying, lowering]
  await expect.poll(() => Promise.all(rest.map(statusOf))).toEqual(rest.map(() => 'delivered'))
  await worker.stop()
  expect(
    await shop.database.owner.many(sql`select from pool_links where set_aside_at is not null`),
  ).toHaveLength(1)
})

test('one order read for several events at once has its links only where they belong, and each once', async () => {
  const account_id = await newAccount()
  const id = await buy(account_id, { id: await newItem(10), qty: 2 })
  await deliverer()(await claim())
  const asked = [false, true, true].map((withLinks) => ({ account_id, id, withLinks }))
  const read = await readOrders(shop.database.worker, shop.vault, asked)
  expect(read.map((order) => order?.links.length)).toEqual([0, 2, 2])
})

test('while a transaction holds the supply of one item, orders of other items are delivered; its own follow', async () => {
  const [held, free] = [await newItem(10), await newItem(10)]
  const account = await newAccount()
  const [slow, prompt] = [await buy(account, { id: held }), await buy(account, { id: free })]
  const release = await holding(`select from item_supply where item_id = '${held}' for update`)
  const delivering = deliverer()(await claim())
  await expect.poll(() => statusOf(prompt)).toBe('delivered')
  expect(await statusOf(slow)).toBe('paid')
  await release()
  expect(await delivering).toEqual({ [slow]: 'delivered', [prompt]: 'delivered' })
})

test('while the endpoint of one account is being changed, orders of other accounts are delivered', async () => {
  const item = await newItem(10)
  const [busy, other] = [await newAccount(), await newAccount()]
  // The other account has an order of another item too: the order that waits holds the supply of its own.
  const [slow, prompt] = [await buy(busy, { id: item }), await buy(other, { id: await newItem(10) })]
  const release = await holding(`select from webhook_endpoints where account_id = '${busy}' for update`)
  const delivering = deliverer()(await claim())
  await expect.poll(() => statusOf(prompt)).toBe('delivered')
  expect(await statusOf(slow)).toBe('paid')
  await release()
  expect(await delivering).toEqual({ [slow]: 'delivered', [prompt]: 'delivered' })
})

test('two workers deliver a popular item in turn: every order once, every link once', async () => {
  const item = await newItem(130)
  const accounts = [await newAccount(), await newAccount(), await newAccount()]
  const ids: string[] = []
  for (let n = 0; n < 60; n += 1)
    ids.push(await buy(accounts[n % 3] as string, { id: item, qty: 1 + (n % 3) }))
  const workers = [startWorker(shop), startWorker(shop)]
  await expect.poll(() => Promise.all(ids.map(statusOf))).toEqual(ids.map(() => 'delivered'))
  for (const worker of workers) await worker.stop()
  expect(await linksSold()).toBe(120)
})

test('links are in the journal before any caller can read them; without the journal nothing is delivered', async () => {
  const item = await newItem(10)
  const account = await newAccount()
  const ids = [await buy(account, { id: item }), await buy(account, { id: item, qty: 2 })]
  let isWritable = false
  const written: SoldLink[] = []
  const journal = {
    async append(links: readonly SoldLink[]) {
      expect(await Promise.all(ids.map(statusOf))).toEqual(['paid', 'paid'])
      if (!isWritable) throw new Unavailable('journal', new Error('full'))
      written.push(...links)
    },
  } as Journal
  const jobs = await claim()
  await expect(deliverer({ journal })(jobs)).rejects.toThrow(Unavailable)
  expect(await Promise.all(ids.map(statusOf))).toEqual(['paid', 'paid'])
  isWritable = true
  expect(await deliverer({ journal })(jobs)).toEqual(Object.fromEntries(ids.map((id) => [id, 'delivered'])))
  const stored = await shop.database.owner.many<{
    order_id: string
    line: number
    unit: number
    hash: Buffer
  }>(sql`select order_id, line, unit, link_hash as hash from order_links`)
  const named = (links: readonly Pick<SoldLink, 'order_id' | 'line' | 'unit' | 'hash'>[]) =>
    links
      .map(({ order_id, line, unit, hash }) => `${order_id} ${line}.${unit} ${hash.toString('hex')}`)
      .sort()
  expect(named(written)).toEqual(named(stored))
})

test('a commit whose answer was lost: the orders are tried again, and none is delivered twice', async () => {
  const item = await newItem(10)
  const account = await newAccount()
  const ids = [await buy(account, { id: item }), await buy(account, { id: item })]
  const jobs = await claim()
  const db = {
    ...shop.database.worker,
    async transaction(work) {
      await shop.database.worker.transaction(work)
      throw new Unavailable('database', new Error('the connection was lost'))
    },
  } as Db
  await expect(deliverer({ db })(jobs)).rejects.toThrow(Unavailable)
  expect(await Promise.all(ids.map(statusOf))).toEqual(['delivered', 'delivered'])
  const ends = await Promise.all(jobs.map((job) => fulfiller(shop.database.worker)(job)))
  expect(ends).toMatchObject([{ kind: 'done' }, { kind: 'done' }])
  expect(await linksSold()).toBe(2)
})

interface Schedule {
  readonly pools: readonly { links: number; warnBelow: number; isDamaged: boolean }[]
  readonly orders: readonly { account: number; items: readonly number[]; qty: number; isCancelled: boolean }[]
}

const schedules: fc.Arbitrary<Schedule> = fc.record({
  pools: fc.array(
    fc.record({
      links: fc.integer({ min: 0, max: 12 }),
      warnBelow: fc.integer({ min: 0, max: 5 }),
      isDamaged: fc.boolean(),
    }),
    { minLength: 3, maxLength: 3 },
  ),
  orders: fc.array(
    fc.record({
      account: fc.integer({ min: 0, max: 2 }),
      items: fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 }),
      qty: fc.integer({ min: 1, max: 3 }),
      isCancelled: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
})

/** Fulfils the orders of the schedule one after the other, and says what became of them without ids and times. */
async function outcomeOf({ pools, orders }: Schedule, accounts: readonly string[], db: Db) {
  const items: string[] = []
  const linkNames = new Map<string, string>()
  for (const [p, { links, warnBelow, isDamaged }] of pools.entries()) {
    const item = await newItem(0)
    const loaded = linksOf(links)
    for (const [n, link] of loaded.entries())
      linkNames.set(shop.vault.fingerprint(link).toString('hex'), `${p}/${n}`)
    // Without a pool the item is for an operator to deliver.
    if (links > 0) await shop.operator.loadPool(item, loaded)
    if (links > 0) await shop.operator.chooseSource(item, { warn_below: warnBelow })
    if (isDamaged && links > 0) await damageOldest(item)
    items.push(item)
  }
  const work = fulfiller(db)
  const result: object[] = []
  for (const { account, items: wanted, qty, isCancelled } of orders) {
    const cart = wanted.map((n) => ({ id: items[n] as string, qty }))
    const id = await buy(accounts[account] as string, ...cart).catch((error: Error) => error.message)
    const [job] = (await claim()).filter(({ subject }) => subject === id)
    if (isCancelled && job) await shop.operator.cancelOrder(id, 'test')
    const end = job && (await work(job))
    result.push({ end, ...(job && (await factsOf(id))) })
  }
  const supply = await shop.database.owner.many<{ item_id: string }>(sql`
    select s.item_id, s.pool_left, i.has_supply,
           (select count(*) from pool_links p where p.item_id = s.item_id and p.set_aside_at is not null) as aside,
           (select coalesce(sum(u.units), 0) from unassigned_units u where u.item_id = s.item_id) as unassigned
      from item_supply s
      join items i on i.id = s.item_id
     where s.item_id = any(${items})
     order by s.item_id`)
  let text = JSON.stringify({ result, supply })
  for (const [hash, name] of linkNames) text = text.replaceAll(hash, name)
  for (const [n, item] of items.entries()) text = text.replaceAll(item, `item ${n}`)
  return JSON.parse(text) as object
}

const factsOf = (id: string) =>
  shop.database.owner.one<object>(sql`
    select o.status,
           (select array_agg(k.line || '.' || k.unit || ' ' || k.source || ' ' || encode(k.link_hash, 'hex') order by k.line, k.unit)
              from order_links k where k.order_id = o.id) as links,
           (select array_agg(e.type || ' ' || (select count(*) from deliveries d where d.event_id = e.id) order by e.type)
              from events e where e.order_id = o.id) as events,
           (select array_agg(w.line || ' ' || w.missing order by w.line) from waiting_lines w where w.order_id = o.id) as waiting,
           (select count(*) from jobs j where j.queue = 'fulfil' and j.subject = o.id) as jobs
      from orders o
     where o.id = ${id}`)

test('an order that could be delivered with others gets the same by itself', async () => {
  const accounts = [await newAccount(), await newAccount({ hasEndpoint: false }), await newAccount()]
  const { worker } = shop.database
  const withoutFunctions = {
    ...worker,
    transaction: (work) =>
      worker.transaction((tx) =>
        work({
          ...tx,
          many(statement) {
            if (statement.text.includes('take_for_orders')) throw new Error('not together')
            return tx.many(statement)
          },
        }),
      ),
  } as Db
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      const together = await outcomeOf(schedule, accounts, worker)
      expect(together).toEqual(await outcomeOf(schedule, accounts, withoutFunctions))
    }),
    { numRuns: process.env.SHOPWIRE_LONG ? 200 : 12 },
  )
})
