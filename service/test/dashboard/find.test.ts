import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { buy, delivered, openAccount, openAreas } from '../../testing/dashboard-shop.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const item = '10000000000000001'

let shop: Shop
let worker: ReturnType<typeof startWorker>
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  worker = startWorker(shop)
  await putItems(shop.database.operator, [itemOf(item)])
  await shop.operator.loadPool(
    item,
    Array.from({ length: 40 }, (_, n) => `https://gift.example/find-${n}`),
  )
})
afterAll(async () => {
  await worker.stop()
  await shop.close()
})

const find = async (account_id: string, q: string) =>
  (await openAreas(shop).call(account_id, 'find', { query: { q } })).matches

test('finds every kind of id, names it and says where it is shown; nothing of another account', async () => {
  const [mine, theirs] = [await openAccount(shop), await openAccount(shop)]
  const { account_id, key } = mine
  const bought = await buy(shop, key, [{ id: item }], 'cart:4711')
  for (let n = 0; n < 5; n += 1) await buy(shop, key, [{ id: item }])
  const order = await delivered(shop, key, bought.body.id)
  const replayed = await buy(shop, key, [{ id: item }], 'cart:4711')
  const read = await shop.call('GET', `/v1/orders/${order.id}`, { key })
  const refused = await buy(shop, key, [{ id: item, qty: 10 }, { id: '99999999999999999' }], 'cart:4712')
  expect(refused.status).toBe(409)
  await shop.evidence.flush()
  const { event_id } = await shop.database.owner.one<{ event_id: string }>(sql`
    select id as event_id
      from events
     where account_id = ${account_id}
       and order_id = ${order.id}
       and type = 'order.delivered'`)
  const transfers = await shop.database.owner.many<{ id: string; kind: string }>(sql`
    select 'tr_' || seq as id, kind
      from transfers
     where account_id = ${account_id}
     order by seq`)
  const path = `/orders/${order.id}`
  const about = 'delivered, $1.00'
  const cases: [string, object][] = [
    [order.id, { kind: 'order', id: order.id, about, path }],
    [order.id.slice(-7), { kind: 'order', id: order.id, about, path }],
    ['cart:4711', { kind: 'idempotency_key', about, path }],
    [
      'cart:4712',
      { kind: 'idempotency_key', about: 'bought nothing: item_unavailable', path: '/orders?q=cart%3A4712' },
    ],
    [bought.request_id, { kind: 'request', id: bought.request_id, about, path }],
    [replayed.request_id, { kind: 'request', path }],
    [read.headers.get('x-request-id') ?? '', { kind: 'request', path }],
    [event_id, { kind: 'event', about: 'order.delivered' }],
    [key.id, { kind: 'key', about: 'test' }],
  ]
  for (const [q, expected] of cases) {
    expect(await find(account_id, q), q).toMatchObject([expected])
    expect(await find(account_id, `  ${q} `), q).toMatchObject([expected])
    expect(await find(theirs.account_id, q), q).toEqual([])
  }
  // Positions in the statement of the account that asks.
  for (const { id, kind } of transfers)
    expect(await find(account_id, id)).toMatchObject([
      { kind: 'transfer', id, about: expect.stringContaining(kind) },
    ])
})

test('finds nothing for a text that is nothing, whatever it looks like', async () => {
  const { account_id } = await openAccount(shop)
  const nothing = [
    'x',
    'ord_',
    `ord_${'0'.repeat(26)}`,
    'tr_0',
    'tr_999999999',
    `tr_${'z'.repeat(26)}`,
    `req_${'7'.repeat(26)}`,
  ]
  for (const q of [...nothing, "' or 1=1 --", '%', '🎁', 'zzzzzz'])
    expect(await find(account_id, q), q).toEqual([])
})
