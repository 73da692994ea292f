import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteOldUsage } from '../../src/access/key-usage.ts'
import { deliveryOf, todayOf } from '../../src/dashboard/home/home-figures.ts'
import { homeSources } from '../../src/dashboard/home/home-sources.ts'
import { createRemembered } from '../../src/dashboard/live/remembered.ts'
import { type MoneyDeps, moneyArea } from '../../src/dashboard/money/money.ts'
import { dayOf } from '../../src/ledger/account-days.ts'
import type { Sent } from '../../src/platform/outbound/guarded-client.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { setEndpoint } from '../../src/webhooks/endpoint.ts'
import { buy, delivered, openAccount, openAreas, startDeliveries } from '../../testing/dashboard-shop.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { callAs, memberOf } from '../../testing/member.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [ring, manual, leaving] = ['10000000000000001', '10000000000000002', '10000000000000003'] as const
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

let shop: Shop
let worker: ReturnType<typeof startWorker>
let deliveries: ReturnType<typeof startDeliveries>
let answer: Sent = { error: null, status: 200, remote_address: '93.184.216.34' }
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  worker = startWorker(shop)
  deliveries = startDeliveries(shop, () => answer)
  await putItems(shop.database.operator, [
    itemOf(ring, { name: 'Aurora Ring', price_cents: 1_000 }),
    itemOf(manual, { name: 'By hand', price_cents: 500 }),
    itemOf(leaving, {
      name: 'Midnight Bloom',
      price_cents: 900,
      available_until: new Date(Date.now() + 2 * DAY_MS),
    }),
  ])
  for (const [n, item] of [ring, leaving].entries())
    await shop.operator.loadPool(
      item,
      Array.from({ length: 40 }, (_, unit) => `https://gift.example/home-${n}-${unit}`),
    )
  await shop.operator.chooseSource(manual, { source: 'hand' })
})
afterAll(async () => {
  await worker.stop()
  await deliveries.stop()
  await shop.close()
})

const setUrl = (account_id: string) =>
  shop.database.api.transaction((tx) =>
    setEndpoint(tx, shop.keyring, { account_id, url: 'https://hook.example/', set_by: 'test' }, Date.now()),
  )
const kindsOf = ({ attention }: { attention: readonly { kind: string }[] }) =>
  attention.map(({ kind }) => kind)

describe('figures', () => {
  test('equal what the API says about balance and orders', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop, 20_000)
    await setUrl(account_id)
    const done = await buy(shop, key, [{ id: ring, qty: 2 }])
    const finished = await delivered(shop, key, done.body.id)
    await buy(shop, key, [{ id: manual }])
    const gone = await buy(shop, key, [{ id: manual, qty: 3 }])
    await shop.operator.cancelOrder(gone.body.id, 'out of stock')
    const today_since = new Date(Date.now() - 3 * HOUR_MS).toISOString()
    await expect
      .poll(async () => (await call(account_id, 'getHome')).webhook?.accepted_first, { timeout: 10_000 })
      .toBe(5)
    const home = await call(account_id, 'getHome', { query: { today_since } })
    const balance = (await shop.call('GET', '/v1/balance', { key })).body
    expect(home.balance_cents).toBe(balance.balance_cents)
    expect(home.today).toMatchObject({
      since: today_since,
      orders: 3,
      delivered: 1,
      paid: 1,
      cancelled: 1,
      total_cents: 4_000,
    })
    expect(home.today.by_hour.reduce((sum, n) => sum + n)).toBe(3)
    expect(home.waiting).toBe(1)
    const seconds = (Date.parse(finished.delivered_at) - Date.parse(finished.created_at)) / 1000
    // Counted in tenths of a second.
    expect(home.delivery).toMatchObject({ orders: 1, median_s: Math.floor(seconds * 10) / 10 })
    expect(home.delivery.histogram.reduce((sum, n) => sum + n)).toBe(1)
    expect(home.webhook).toMatchObject({ events: 5, accepted_first: 5, retrying: 0, failed: 0 })
    expect(home.webhook?.by_hour).toHaveLength(24)
    expect(home.webhook?.by_hour.reduce((sum, { events }) => sum + events, 0)).toBe(5)
    expect(home.spend.days).toHaveLength(31)
    expect(home.spend.days.at(-1)).toEqual({
      day: dayOf(Date.now()),
      order_cents: 4_000,
      refund_cents: 1_500,
      orders: 3,
    })
    // The first day: what was spent so far is the burn.
    expect(home.burn).toEqual({ days: 1, per_day_cents: 2_500, days_left: 7, alert_cents: null })
    expect(home.latest.map(({ status }) => status)).toEqual(['cancelled', 'paid', 'delivered'])
    expect(home.checklist).toBeNull()
  })

  test('an account in which nothing has happened yet', async () => {
    const { call } = openAreas(shop)
    const { account_id } = await openAccount(shop, 0)
    const home = await call(account_id, 'getHome')
    expect(home).toMatchObject({
      balance_cents: 0,
      burn: { per_day_cents: 0, days_left: null },
      today: { orders: 0 },
      delivery: { orders: 0, median_s: null, histogram: [] },
      webhook: null,
      latest: [],
      attention: [],
    })
  })

  test('refuses a day of the reader that began in the future or days ago', async () => {
    const { call } = openAreas(shop)
    for (const ms of [Date.now() + HOUR_MS, Date.now() - 27 * HOUR_MS]) {
      const query = { today_since: new Date(ms).toISOString() }
      await expect(call(shop.account.id, 'getHome', { query })).rejects.toThrow(Refusal)
    }
  })

  test('Home and Balance say the same about a day and about how long the balance lasts', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop, 100_000)
    await buy(shop, key, [{ id: ring, qty: 3 }])
    const { alert_cents: _, ...said } = (await call(account_id, 'getHome')).burn
    const { getBalance } = moneyArea({
      db: shop.database.dashboard,
      funding: { min_cents: 1, max_cents: 1 },
    } as MoneyDeps)
    const { burn } = await callAs(memberOf(account_id), getBalance, { query: {} })
    expect(burn).toMatchObject(said)
    expect(said).toEqual({ days: 1, per_day_cents: 3_000, days_left: 32 })
  })

  test('hours and steps without orders are zeros; times beyond ten seconds are counted in seconds', () => {
    const nowMs = Date.parse('2026-05-20T03:30:00Z')
    const group = { hour: null, status: 'delivered' as const, step: null, total_cents: 0 }
    const today = [{ ...group, hour: 2, status: 'paid' as const, orders: 4, total_cents: 400 }]
    expect(todayOf(today, nowMs - 3.5 * HOUR_MS, nowMs).by_hour).toEqual([0, 0, 4, 0])
    const times = [
      { ...group, step: 85, orders: 45 },
      { ...group, hour: 1, step: 85, orders: 45 },
      { ...group, step: 224, orders: 5 },
      { ...group, step: 4_000, orders: 5 },
    ]
    const delivery = deliveryOf([...today, ...times])
    expect(delivery).toMatchObject({ orders: 100, median_s: 8.5, p95_s: 134 })
    expect(delivery.histogram.filter((orders) => orders > 0)).toEqual([90, 5, 5])
    expect(delivery.histogram.at(-1)).toBe(5)
  })

  test('a value is computed once for requests at the same moment, and again after it failed', async () => {
    const remembered = createRemembered<number>(60_000)
    let runs = 0
    const compute = async () => {
      runs += 1
      await sleep(20)
      return runs
    }
    expect(await Promise.all([remembered('a', compute), remembered('a', compute)])).toEqual([1, 1])
    expect(await remembered('a', compute)).toBe(1)
    expect(await remembered('b', compute)).toBe(2)
    await expect(remembered('c', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(await remembered('c', compute)).toBe(3)
  })
})

describe('what needs attention', () => {
  test('an endpoint that fails: since when, the next attempt and the last', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop)
    await setUrl(account_id)
    answer = { error: 'http_503', status: 503, remote_address: null }
    const before = Date.now()
    await buy(shop, key, [{ id: manual }])
    await expect
      .poll(async () => kindsOf(await call(account_id, 'getHome')), { timeout: 10_000 })
      .toEqual(['endpoint_failing'])
    answer = { error: null, status: 200, remote_address: null }
    const home = await call(account_id, 'getHome')
    const [failing] = home.attention as unknown as [{ since: string; next_at: string; stops_at: string }]
    expect(failing).toMatchObject({ error: 'http_503', status: 503, waiting: 1 })
    expect(Date.parse(failing.since)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(failing.next_at) - Date.parse(failing.since)).toBeGreaterThanOrEqual(60_000)
    // Twelve attempts take six hours and three minutes, at the least.
    const tookMs = Date.parse(failing.stops_at) - Date.parse(failing.since)
    expect(tookMs).toBeGreaterThanOrEqual(363 * 60_000)
    expect(tookMs).toBeLessThan(365 * 60_000)
    expect(home.webhook).toMatchObject({ events: 1, accepted_first: 0, retrying: 1 })
  })

  test('events that were given up in the last day', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop)
    await setUrl(account_id)
    await buy(shop, key, [{ id: manual }])
    await expect
      .poll(async () => (await call(account_id, 'getHome')).webhook?.accepted_first, { timeout: 10_000 })
      .toBe(1)
    await shop.database.asOwner(`update deliveries set state = 'failed' where account_id = '${account_id}'`)
    expect((await call(account_id, 'getHome')).attention).toMatchObject([
      { kind: 'events_given_up', events: 1 },
    ])
  })

  test('a balance that is below the alert or lasts less than five days', async () => {
    const { account_id, key } = await openAccount(shop, 10_000)
    await buy(shop, key, [{ id: manual }])
    expect(kindsOf(await openAreas(shop).call(account_id, 'getHome'))).toEqual([])
    const alerted = openAreas(shop, { alertCents: async () => 9_800 })
    expect((await alerted.call(account_id, 'getHome')).attention).toEqual([
      { kind: 'balance_low', balance_cents: 9_500, days_left: 19, alert_cents: 9_800 },
    ])
    await buy(shop, key, [{ id: manual, qty: 5 }])
    expect((await openAreas(shop).call(account_id, 'getHome')).attention).toEqual([
      { kind: 'balance_low', balance_cents: 7_000, days_left: 2, alert_cents: null },
    ])
  })

  test('orders that wait much longer than orders take', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop)
    const { body } = await buy(shop, key, [{ id: manual }])
    expect(kindsOf(await call(account_id, 'getHome'))).toEqual([])
    const later = await call(account_id, 'getHome', { nowMs: Date.now() + 11 * 60_000 })
    expect(later.attention).toMatchObject([
      { kind: 'orders_waiting', orders: 1, oldest_id: body.id, since: body.created_at },
    ])
  })

  test('an item of recent orders that leaves the store, with its share of them', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop)
    await buy(shop, key, [{ id: leaving }])
    for (let n = 0; n < 3; n += 1) await buy(shop, key, [{ id: ring }])
    expect((await call(account_id, 'getHome')).attention).toMatchObject([
      { kind: 'item_leaving', item_id: leaving, name: 'Midnight Bloom', percent: 25 },
    ])
  })

  test('a closed store, a planned closing and a suspended account, the most urgent first', async () => {
    const { call } = openAreas(shop)
    const { account_id } = await openAccount(shop)
    await shop.operator.suspendAccount(account_id, 'test')
    const window = await shop.operator.planWindow({
      closes_at: new Date(Date.now() + HOUR_MS),
      opens_at: new Date(Date.now() + 2 * HOUR_MS),
      reason: 'New shelves',
    })
    expect(kindsOf(await call(account_id, 'getHome'))).toEqual(['account_suspended', 'closing_planned'])
    await shop.operator.setStore(false, 'Stocktaking')
    expect((await call(account_id, 'getHome')).attention).toMatchObject([
      { kind: 'account_suspended' },
      { kind: 'store_closed', reason: 'Stocktaking', opens_at: null },
    ])
    expect(await call(account_id, 'getStore')).toMatchObject({
      is_open: false,
      reason: 'Stocktaking',
      version: '9.8.7',
      windows: [{ reason: 'New shelves' }],
    })
    await shop.operator.setStore(true, null)
    await shop.operator.cancelWindow(window.id)
    expect(await call(account_id, 'getStore')).toMatchObject({ is_open: true, reason: null, windows: [] })
  })

  test('what other areas report comes in its place', async () => {
    const { account_id, key } = await openAccount(shop)
    await buy(shop, key, [{ id: leaving }])
    const { call } = openAreas(shop, { attention: async () => [{ kind: 'second_factor_missing' }] })
    expect(kindsOf(await call(account_id, 'getHome'))).toEqual(['second_factor_missing', 'item_leaving'])
  })
})

describe('the checklist', () => {
  test('ticks as things happen, and is gone with the first delivered order', async () => {
    const { id: account_id } = await shop.operator.createAccount('New here')
    const { call } = openAreas(shop, { firstCalls: homeSources.firstCalls })
    const done = async () => {
      const { checklist } = await call(account_id, 'getHome')
      return (['key', 'call', 'quote', 'webhook', 'order'] as const).filter(
        (name) => checklist?.[name].is_done,
      )
    }
    expect(await done()).toEqual([])
    const key = await shop.makeKey(undefined, account_id)
    expect(await done()).toEqual(['key'])
    // Signed requests, counted by the API process and written some seconds later. A refused cart is no quote.
    const body = (id: string) => JSON.stringify({ items: [{ id, qty: 1 }] })
    expect((await shop.call('POST', '/v1/quote', { key, body: body('not an id') })).status).toBe(400)
    await shop.usage.flush()
    expect(await done()).toEqual(['key', 'call'])
    expect((await shop.call('POST', '/v1/quote', { key, body: body(ring) })).status).toBe(200)
    await shop.usage.flush()
    expect(await done()).toEqual(['key', 'call', 'quote'])
    // Hours are kept for some weeks only; a step that was done stays done.
    await deleteOldUsage(shop.database.worker, new Date(Date.now() + HOUR_MS))
    expect(await done()).toEqual(['key', 'call', 'quote'])
    await setUrl(account_id)
    expect(await done()).toEqual(['key', 'call', 'quote', 'webhook'])
    await shop.operator.fundAccount(account_id, { amount_cents: 5_000, reference: `new-${account_id}` })
    const bought = await buy(shop, key, [{ id: ring }])
    await delivered(shop, key, bought.body.id)
    expect((await call(account_id, 'getHome')).checklist).toBeNull()
  })

  test('an order that is not delivered yet ticks the steps before it, and names something to buy', async () => {
    const { call } = openAreas(shop)
    const { account_id, key } = await openAccount(shop)
    const { body } = await buy(shop, key, [{ id: manual }])
    expect((await call(account_id, 'getHome')).checklist).toMatchObject({
      key: { is_done: true, key_id: key.id, key_name: 'test' },
      call: { is_done: true },
      quote: { is_done: true },
      webhook: { is_done: false },
      order: { is_done: true, order_id: body.id },
      delivered: { is_done: false },
      item: { id: manual, name: 'By hand', price_cents: 500 },
    })
  })
})
