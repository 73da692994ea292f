import {
  AbortedError,
  InsufficientFundsError,
  OrderPendingError,
  Shopwire,
  ShopwireError,
  type ShopwireOptions,
} from '@shopwire/sdk'
import { checkInvariants } from '@shopwire/test-kit/invariants'
import { type CuttingProxy, startCuttingProxy } from '@shopwire/test-kit/proxies/cutting-proxy'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import { limitless, newLinks, START_MS_MAX, type System, startSystem } from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

const PRICE_CENTS = 500
const BALANCE_CENTS = 2_000
const ABORTED_ORDERS = IS_SHORT ? 50 : 500

let system: System
let shop: Shop
let proxy: CuttingProxy

beforeAll(async () => {
  system = await startSystem({ admission: 'postgres', settings: limitless })
  shop = openShop(system)
  proxy = await startCuttingProxy(system.ports[0] ?? 0)
}, START_MS_MAX)

afterAll(async () => {
  await proxy?.close()
  await system?.stop()
})

test('an order whose answers are lost twice is bought once', async () => {
  const [id = ''] = await shop.sell(PRICE_CENTS)
  const { account_id, client } = await openClient()
  expect(await client.balance()).toEqual({ balance_cents: BALANCE_CENTS, currency: 'USD' })

  proxy.loseAnswers(2)
  const order = { items: [{ id, expected_price_cents: PRICE_CENTS }], idempotencyKey: 'sdk-lost-answers' }
  const { data: placed, attempts } = await client.orders.create(order).withResponse()
  expect(attempts).toBe(3)
  // The first attempt bought; this answer is the third one's.
  expect(placed).toMatchObject({ status: 'paid', total_cents: PRICE_CENTS, replayed: true })

  expect(await all(client.orders.iterate())).toEqual([expect.objectContaining({ id: placed.id })])
  expect((await client.balance()).balance_cents).toBe(BALANCE_CENTS - PRICE_CENTS)
  const debits = `select count(*) from transfers where account_id = '${account_id}' and order_id is not null`
  expect(await system.query(debits)).toBe('1')
  expect(await checkInvariants(system.superuserUrl)).toEqual([])
})

test('when every answer is lost the SDK reports an unknown outcome, and a retry with the same key resolves it', async () => {
  const [id = ''] = await shop.sell(PRICE_CENTS)
  const { client } = await openClient()
  const order = { items: [{ id, qty: 2 }], idempotencyKey: 'sdk-all-lost' }
  await client.ping()

  proxy.loseAnswers(1)
  const lost = client.orders.create(order, { maxRetries: 0 })
  await expect(lost).rejects.toMatchObject({ name: 'ConnectionError', isOutcomeUnknown: true })
  expect(await client.orders.create(order)).toMatchObject({ total_cents: 2 * PRICE_CENTS, replayed: true })
  expect((await client.balance()).balance_cents).toBe(BALANCE_CENTS - 2 * PRICE_CENTS)
})

test(`${ABORTED_ORDERS} orders aborted at random moments: none that was bought is reported as a plain failure`, async () => {
  const [id = ''] = await shop.sell(PRICE_CENTS)
  const { account_id, client } = await openClient({}, (ABORTED_ORDERS + 2) * PRICE_CENTS)
  const buy = (key: string, signal?: AbortSignal) =>
    client.orders.create({ items: [{ id }], idempotencyKey: key }, { signal, maxRetries: 0 })
  const began = performance.now()
  await buy('sdk-abort-warm-up')
  const usualMs = performance.now() - began

  const failures = new Map<string, unknown>()
  const keys = Array.from({ length: ABORTED_ORDERS }, (_, n) => `sdk-abort-${n}`)
  for (const key of keys) {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), Math.random() * usualMs)
    await buy(key, controller.signal).catch((error: unknown) => failures.set(key, error))
    clearTimeout(timer)
  }
  // By its answer, what was under way before it has been bought.
  await buy('sdk-abort-last')
  const bought = await system.query(
    `select string_agg(idempotency_key, ' ') from orders where account_id = '${account_id}'`,
  )
  const isBought = new Set(bought.split(' '))
  const plain = [...failures].filter(
    ([key, error]) => isBought.has(key) && !(error instanceof ShopwireError && error.isOutcomeUnknown),
  )
  expect(plain).toEqual([])
  expect([...failures.values()].filter((error) => !(error instanceof AbortedError))).toEqual([])
  // Otherwise the moments proved nothing.
  expect([...failures.keys()].filter((key) => isBought.has(key)).length).toBeGreaterThan(0)
})

test('a clock that is two minutes off is corrected on the first call, and each refusal has its error class', async () => {
  const [id = ''] = await shop.sell(BALANCE_CENTS + 1)
  const { client } = await openClient({ now: () => Date.now() - 120_000 })
  const order = { items: [{ id }], idempotencyKey: 'sdk-too-dear' }
  const failure = client.orders.create(order)
  await expect(failure).rejects.toBeInstanceOf(InsufficientFundsError)
  await expect(failure).rejects.toMatchObject({ attempts: 2, isOutcomeUnknown: false })
  expect(client.clockOffsetMs).toBeGreaterThan(115_000)

  const ids = (await all(client.catalogue.iterate({ limit: 2 }))).map((item) => item.id)
  expect(ids).toContain(id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('waiting for an order returns when it is delivered or cancelled, despite lost answers', async () => {
  const [id = ''] = await shop.sell(PRICE_CENTS)
  const { client } = await openClient()
  const buy = (key: string) => client.orders.create({ items: [{ id }], idempotencyKey: key })
  const [toDeliver, toCancel] = [await buy('sdk-wait-delivered'), await buy('sdk-wait-cancelled')]

  await expect(client.orders.wait(toDeliver.id, { within: 1_500 })).rejects.toThrow(OrderPendingError)
  const waits = [toDeliver, toCancel].map((order) => client.orders.wait(order.id))
  proxy.loseAnswers(2)
  const links = newLinks(1)
  await system.admin('orders', 'deliver', toDeliver.id, await shop.writeLines(links))
  await system.admin('orders', 'cancel', toCancel.id, '--reason', 'e2e')
  const [delivered, cancelled] = await Promise.all(waits)
  expect(delivered).toMatchObject({ id: toDeliver.id, status: 'delivered', links })
  expect(cancelled).toMatchObject({ id: toCancel.id, status: 'cancelled', links: [] })
  expect((await client.orders.wait(toDeliver.id).withResponse()).attempts).toBe(1)
})

test('an unchanged catalogue is answered with 304, and a change is returned', async () => {
  const sold = await shop.sell(PRICE_CENTS, PRICE_CENTS, PRICE_CENTS)
  const statuses: number[] = []
  const { client } = await openClient({
    async fetch(...request) {
      const response = await fetch(...request)
      statuses.push(response.status)
      return response
    },
  })
  const query = { category: 'e2e', limit: 2 }
  // So that asking does not use up the account's requests.
  const unhurried = { interval: 250 }
  const read = async (ifNoneMatch?: string) => {
    statuses.length = 0
    const snapshot = await client.catalogue.snapshot({ ...query, ifNoneMatch })
    return { snapshot, ids: snapshot.unchanged ? [] : snapshot.items.map((item) => item.id) }
  }
  // What was just imported may reach the server between two pages.
  await expect.poll(async () => (await read()).ids, unhurried).toEqual(expect.arrayContaining(sold))
  const { snapshot, ids } = await read()
  expect(ids).toEqual((await all(client.catalogue.iterate({ category: 'e2e' }))).map((item) => item.id))
  const etag = snapshot.etag ?? ''
  expect(etag).toMatch(/^"[^"]+"$/)

  expect((await read(etag)).snapshot).toEqual({ unchanged: true, etag })
  expect(statuses).toEqual([304])

  const [added = ''] = await shop.sell(PRICE_CENTS)
  await expect.poll(async () => (await read(etag)).snapshot.unchanged, unhurried).toBe(false)
  expect(statuses[0]).toBe(200)
  expect((await read(etag)).ids).toEqual(expect.arrayContaining([...sold, added]))
})

async function openClient(options: ShopwireOptions = {}, balanceCents = BALANCE_CENTS) {
  const { account_id, key } = await shop.openBuyer(balanceCents)
  const baseUrl = `http://127.0.0.1:${proxy.port}/v1`
  return { account_id, client: new Shopwire({ keyId: key.id, secret: key.secret, baseUrl, ...options }) }
}

async function all<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const read: Row[] = []
  for await (const row of rows) read.push(row)
  return read
}
