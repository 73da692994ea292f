import { Order, OrdersPage } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

const ajv = new Ajv({ strict: true })
const isOrder = ajv.compile(Order)
const isPage = ajv.compile(OrdersPage)

const [dollar, two, gone, dear, free] = [
  '10000000000000001',
  '10000000000000002',
  '10000000000000003',
  '10000000000000004',
  '10000000000000005',
] as const
const UNKNOWN = '10000000000000099'

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  await putItems(shop.database.operator, [
    itemOf(dollar),
    itemOf(two, { price_cents: 200 }),
    itemOf(gone, { is_for_sale: false }),
    itemOf(dear, { price_cents: 250_000 }),
    itemOf(free, { price_cents: 0 }),
  ])
})
afterAll(() => shop.close())

let keys = 0
const freshKey = () => {
  keys += 1
  return `test-key-${keys}`
}
async function buy(
  items: object[],
  { idempotency_key = freshKey(), key }: { idempotency_key?: string; key?: TestKey } = {},
) {
  const body = JSON.stringify({ items, idempotency_key })
  const answer = await shop.call('POST', '/v1/orders', { body, ...(key && { key }) })
  if (answer.status < 300) expect(isOrder(answer.body), JSON.stringify(isOrder.errors)).toBe(true)
  return { ...answer, idempotency_key, type: answer.body.error?.type as string | undefined }
}
const balance = async () => (await shop.call('GET', '/v1/balance')).body.balance_cents as number
const fund = (cents: number) =>
  shop.operator.fundAccount(shop.account.id, { amount_cents: cents, reference: freshKey() })
const drain = async () =>
  shop.operator.adjustAccount(shop.account.id, {
    change_cents: -(await balance()),
    reference: freshKey(),
    note: 'test',
  })

describe('a purchase', () => {
  test('returns 201 with the whole order and takes exactly its total', async () => {
    const before = await balance()
    const { status, body, headers } = await buy([
      { id: two, qty: 3 },
      { id: dollar, expected_price_cents: 100 },
    ])
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^ord_[0-9a-hjkmnp-tv-z]{26}$/),
      status: 'paid',
      currency: 'USD',
      total_cents: 700,
      created_at: expect.any(String),
      delivered_at: null,
      lines: [
        { id: two, name: `Item ${two}`, qty: 3, unit_price_cents: 200 },
        { id: dollar, name: `Item ${dollar}`, qty: 1, unit_price_cents: 100 },
      ],
      links: [],
    })
    expect(headers.get('idempotent-replayed')).toBeNull()
    expect(await balance()).toBe(before - 700)
    expect((await shop.call('GET', `/v1/orders/${body.id}`)).body).toEqual(body)
  })

  test('writes its debit, its event and its job in the same commit', async () => {
    const { body } = await buy([{ id: dollar }])
    const rows = await shop.database.owner.one(sql`
      select (select count(*) from transfers where order_id = ${body.id} and kind = 'order') as debits,
             (select count(*) from events where order_id = ${body.id} and type = 'order.accepted') as events,
             (select count(*) from jobs where subject = ${body.id} and queue = 'fulfil') as jobs`)
    expect(rows).toEqual({ debits: 1, events: 1, jobs: 1 })
  })

  test('of an item that costs nothing still writes one debit', async () => {
    const { status, body } = await buy([{ id: free, qty: 10 }])
    expect([status, body.total_cents]).toEqual([201, 0])
    const { debits } = await shop.database.owner.one<{ debits: number }>(
      sql`select count(*) as debits from transfers where order_id = ${body.id}`,
    )
    expect(debits).toBe(1)
  })

  test('keeps its lines and prices when the catalogue changes', async () => {
    const { body } = await buy([{ id: two }])
    await putItems(shop.database.operator, [itemOf(two, { name: 'Renamed', price_cents: 201 })])
    expect((await shop.call('GET', `/v1/orders/${body.id}`)).body.lines).toEqual(body.lines)
    await putItems(shop.database.operator, [itemOf(two, { price_cents: 200 })])
  })
})

describe('nothing is bought or charged and the key stays unused when', () => {
  test.each([
    ['an item is not for sale', [{ id: dollar }, { id: gone }], 409, 'item_unavailable', gone],
    ['an item is unknown', [{ id: UNKNOWN }], 409, 'item_unavailable', UNKNOWN],
    ['a price differs', [{ id: dollar, expected_price_cents: 99 }], 409, 'price_changed', dollar],
    [
      'both are wrong',
      [{ id: gone }, { id: dollar, expected_price_cents: 99 }],
      409,
      'item_unavailable',
      gone,
    ],
    ['the total is too high', [{ id: dear, qty: 3 }], 400, 'order_total_exceeded', '750000'],
    [
      'too much at another price',
      [{ id: dear, qty: 3, expected_price_cents: 1 }],
      409,
      'price_changed',
      dear,
    ],
    ['the balance is too low', [{ id: dear }], 402, 'insufficient_funds', '250000'],
    ['an item is in the cart twice', [{ id: dollar }, { id: dollar }], 400, 'invalid_request', dollar],
  ])('%s', async (_why, items, status, type, mentioned) => {
    const before = await balance()
    const refused = await buy(items)
    expect([refused.status, refused.type]).toEqual([status, type])
    expect(refused.body.error.message).toContain(mentioned)
    expect(await balance()).toBe(before)
    const later = await buy([{ id: dollar }], { idempotency_key: refused.idempotency_key })
    expect(later.status).toBe(201)
  })

  test('the store is closed, which is checked before the cart', async () => {
    await shop.operator.setStore(false, 'stocktaking')
    const refused = await buy([{ id: gone }])
    expect([refused.status, refused.type, refused.headers.get('retry-after')]).toEqual([
      503,
      'store_closed',
      '30',
    ])
    await shop.operator.setStore(true, null)
    expect((await buy([{ id: dollar }], { idempotency_key: refused.idempotency_key })).status).toBe(201)
  })

  test('insufficient_funds does not reveal the balance to a write-only key', async () => {
    const key = await shop.makeKey(['orders:write'])
    const { body } = await buy([{ id: dear }], { key })
    expect(body.error.message).not.toContain(String(await balance()))
  })
})

describe('the same key again', () => {
  test('returns 200 with the order as it is now, marked as a replay, and takes no money', async () => {
    const first = await buy([{ id: dollar, qty: 2 }])
    const before = await balance()
    const again = await buy([{ id: dollar, qty: 2 }], { idempotency_key: first.idempotency_key })
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(again.body).toEqual(first.body)
    expect(await balance()).toBe(before)
  })

  test('white space, order of lines and members, and an omitted qty of one make no difference', async () => {
    const { idempotency_key, body } = await buy([
      { id: dollar, qty: 1 },
      { id: two, expected_price_cents: 200 },
    ])
    const spelled = `{ "idempotency_key": "${idempotency_key}",
      "items": [ {"expected_price_cents": 200, "id": "${two}", "qty": 1}, {"id": "${dollar}"} ] }`
    const again = await shop.call('POST', '/v1/orders', { body: spelled })
    expect([again.status, again.body.id, again.body.lines]).toEqual([200, body.id, body.lines])
  })

  test('numbers written as 1.0 make no difference', async () => {
    const { idempotency_key, body } = await buy([{ id: two, qty: 2, expected_price_cents: 200 }])
    const spelled = `{"items":[{"id":"${two}","qty":2.0,"expected_price_cents":200.00}],"idempotency_key":"${idempotency_key}"}`
    const again = await shop.call('POST', '/v1/orders', { body: spelled })
    expect([again.status, again.body.id]).toEqual([200, body.id])
  })

  test.each([
    ['another item', [{ id: two }]],
    ['another quantity', [{ id: dollar, qty: 2 }]],
    ['an expected price more', [{ id: dollar, expected_price_cents: 100 }]],
    ['a line more', [{ id: dollar }, { id: two }]],
    ['an item that is not for sale', [{ id: gone }]],
  ])('with %s returns 409', async (_what, items) => {
    const { idempotency_key } = await buy([{ id: dollar }])
    const before = await balance()
    const other = await buy(items, { idempotency_key })
    expect([other.status, other.type]).toEqual([409, 'idempotency_conflict'])
    expect(await balance()).toBe(before)
  })

  test('keys are case-sensitive', async () => {
    const lower = await buy([{ id: dollar }], { idempotency_key: 'case-sensitive' })
    const upper = await buy([{ id: dollar }], { idempotency_key: 'Case-Sensitive' })
    expect([lower.status, upper.status, lower.body.id === upper.body.id]).toEqual([201, 201, false])
  })

  test('replays after any change: store closed, price, sale, balance', async () => {
    const first = await buy([{ id: dollar, expected_price_cents: 100 }])
    await shop.operator.setStore(false, 'test')
    await putItems(shop.database.operator, [itemOf(dollar, { price_cents: 5, is_for_sale: false })])
    await drain()
    const again = await buy([{ id: dollar, expected_price_cents: 100 }], {
      idempotency_key: first.idempotency_key,
    })
    expect([again.status, again.body]).toEqual([200, first.body])
    await shop.operator.setStore(true, null)
    await putItems(shop.database.operator, [itemOf(dollar)])
    await fund(20_000)
  })

  test('belongs to the account, whichever of its keys signs; another account has separate keys', async () => {
    const first = await buy([{ id: dollar }])
    const rotated = await shop.makeKey()
    const again = await buy([{ id: dollar }], { idempotency_key: first.idempotency_key, key: rotated })
    expect([again.status, again.body.id]).toEqual([200, first.body.id])
    const other = await shop.operator.createAccount('Other')
    await shop.operator.fundAccount(other.id, { amount_cents: 500, reference: other.id })
    const theirs = await buy([{ id: dollar }], {
      idempotency_key: first.idempotency_key,
      key: await shop.makeKey(undefined, other.id),
    })
    expect(theirs.status).toBe(201)
  })
})

describe('the balance', () => {
  test('is spent to the last cent and no further', async () => {
    await drain()
    await fund(199)
    expect((await buy([{ id: two }])).type).toBe('insufficient_funds')
    await fund(1)
    expect((await buy([{ id: two }])).status).toBe(201)
    expect(await balance()).toBe(0)
    expect((await buy([{ id: dollar }])).type).toBe('insufficient_funds')
    expect((await buy([{ id: free }])).status).toBe(201)
    await fund(20_000)
  })
})

describe('a key that is revoked while its order is under way', () => {
  test('threat 32: buys nothing: place_orders re-checks the access version under the account lock', async () => {
    const key = await shop.makeKey()
    expect((await buy([{ id: dollar }], { key })).status).toBe(201)
    // Directly in the database, so that admission still confirms the old access version and only place_orders can notice.
    await shop.database.asOwner(`update api_keys set revoked_at = now() where id = '${key.id}'`)
    await shop.database.asOwner(
      `update accounts set access_version = access_version + 1 where id = '${shop.account.id}'`,
    )
    const before = await balance()
    const refused = await buy([{ id: dollar }], { key })
    expect([refused.status, refused.type]).toEqual([401, 'authentication_failed'])
    expect(await balance()).toBe(before)
  })

  test('buys after the access version changed for another reason: the key is read again', async () => {
    const key = await shop.makeKey()
    expect((await buy([{ id: dollar }], { key })).status).toBe(201)
    await shop.database.asOwner(
      `update accounts set access_version = access_version + 1 where id = '${shop.account.id}'`,
    )
    expect((await buy([{ id: dollar }], { key })).status).toBe(201)
  })
})

describe('reading orders', () => {
  test('newest first, as summaries, with the correct total on every page', async () => {
    const other = await shop.operator.createAccount('Reader')
    await shop.operator.fundAccount(other.id, { amount_cents: 5_000, reference: other.id })
    const key = await shop.makeKey(undefined, other.id)
    const list = async (query = '') => (await shop.call('GET', `/v1/orders${query}`, { key })).body
    expect(await list()).toEqual({ orders: [], total: 0, limit: 25, offset: 0 })
    const ids: string[] = []
    for (let n = 0; n < 7; n += 1) ids.unshift((await buy([{ id: dollar }], { key })).body.id)
    const all = await list()
    expect(isPage(all), JSON.stringify(isPage.errors)).toBe(true)
    expect(all.orders.map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(Object.keys(all.orders[0])).toEqual(['id', 'status', 'currency', 'total_cents', 'created_at'])
    const page = await list('?limit=2&offset=3')
    expect(page.orders.map(({ id }: { id: string }) => id)).toEqual(ids.slice(3, 5))
    expect([page.total, page.limit, page.offset]).toEqual([7, 2, 3])
    expect(await list('?offset=1000000')).toEqual({ orders: [], total: 7, limit: 25, offset: 1_000_000 })
  })

  test.each(['limit=0', 'limit=101', 'offset=1000001', 'limit=05', 'limit=1.0'])(
    'returns 400 for %s',
    async (query) => {
      expect((await shop.call('GET', `/v1/orders?${query}`)).status).toBe(400)
    },
  )

  test('threat 34: another account’s order and an unknown order give the same 404', async () => {
    const { body } = await buy([{ id: dollar }])
    const other = await shop.operator.createAccount('Stranger')
    const key = await shop.makeKey(undefined, other.id)
    const theirs = await shop.call('GET', `/v1/orders/${body.id}`, { key })
    const nobodys = await shop.call('GET', `/v1/orders/${body.id.slice(0, -4)}zzzz`, { key })
    expect([theirs.status, theirs.body]).toEqual([404, nobodys.body])
    expect((await shop.call('GET', '/v1/orders/%6Frd', { key })).status).toBe(404)
  })
})
