import { Quote } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const isQuote = new Ajv({ strict: true }).compile(Quote)
const [dollar, dear, free, gone, over, unsupplied] = [
  '10000000000000001',
  '10000000000000002',
  '10000000000000003',
  '10000000000000004',
  '10000000000000005',
  '10000000000000006',
] as const
const UNKNOWN = '10000000000000099'

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000 } })
  await putItems(shop.database.operator, [
    itemOf(dollar),
    itemOf(dear, { price_cents: 250_000 }),
    itemOf(free, { price_cents: 0 }),
    itemOf(gone, { is_for_sale: false }),
    itemOf(over, { available_until: new Date(Date.now() - 1) }),
    itemOf(unsupplied),
  ])
  await shop.database.asOwner(`update items set has_supply = false where id = '${unsupplied}'`)
})
afterAll(() => shop.close())

const quote = async (...items: object[]) => {
  const { status, body } = await shop.call('POST', '/v1/quote', { body: JSON.stringify({ items }) })
  if (status === 200) expect(isQuote(body), JSON.stringify(isQuote.errors)).toBe(true)
  return { status, body }
}

test('a cart that can be bought is ok, line by line in the order sent', async () => {
  const { body } = await quote({ id: free }, { id: dollar, qty: 3, expected_price_cents: 100 })
  expect(body).toEqual({
    ok: true,
    currency: 'USD',
    total_cents: 300,
    lines: [
      { id: free, qty: 1, status: 'ok', name: `Item ${free}`, unit_price_cents: 0, line_total_cents: 0 },
      {
        id: dollar,
        qty: 3,
        status: 'ok',
        name: `Item ${dollar}`,
        unit_price_cents: 100,
        line_total_cents: 300,
      },
    ],
  })
})

test('a price other than expected is price_changed, and still counts', async () => {
  const { body } = await quote({ id: dollar, qty: 2, expected_price_cents: 99 })
  expect([body.ok, body.total_cents, body.lines[0].status]).toEqual([false, 200, 'price_changed'])
})

test('a price of zero differs from every price that can be expected', async () => {
  const { body } = await quote({ id: free, expected_price_cents: 1 })
  expect(body.lines[0].status).toBe('price_changed')
})

test.each([
  ['taken from sale', gone],
  ['whose sale has ended', over],
  ['without supply', unsupplied],
])('an item %s is sold_out, with its unit price and no line total, and adds nothing', async (_why, id) => {
  const { body } = await quote({ id, expected_price_cents: 1 }, { id: dollar })
  expect([body.ok, body.total_cents]).toEqual([false, 100])
  expect(body.lines[0]).toEqual({
    id,
    qty: 1,
    status: 'sold_out',
    name: `Item ${id}`,
    unit_price_cents: 100,
  })
})

test('the line totals add up to the total, whatever the lines', async () => {
  const { body } = await quote(
    { id: dollar, qty: 2 },
    { id: dear, expected_price_cents: 1 },
    { id: gone, qty: 3 },
    { id: over },
    { id: free },
    { id: UNKNOWN },
  )
  const totals = body.lines.map((line: { line_total_cents?: number }) => line.line_total_cents)
  expect(totals).toEqual([200, 250_000, undefined, undefined, 0, undefined])
  expect(body.total_cents).toBe(250_200)
})

test('a qty and an expected price written as 1.0 are read as integers', async () => {
  const answer = await shop.call('POST', '/v1/quote', {
    body: `{"items":[{"id":"${dollar}","qty":2.0,"expected_price_cents":100.00}]}`,
  })
  expect([answer.status, answer.body.ok, answer.body.total_cents]).toEqual([200, true, 200])
  // As an integer, not as it was sent.
  expect(answer.body.lines[0].qty).toBe(2)
})

test('an unknown id is sold_out, without name and prices', async () => {
  const { body } = await quote({ id: UNKNOWN })
  expect(body).toEqual({
    ok: false,
    currency: 'USD',
    total_cents: 0,
    lines: [{ id: UNKNOWN, qty: 1, status: 'sold_out' }],
  })
})

describe('the highest total of one order', () => {
  test('500000 cents are accepted, one more is refused', async () => {
    expect((await quote({ id: dear, qty: 2 })).body.total_cents).toBe(500_000)
    const { status, body } = await quote({ id: dear, qty: 2 }, { id: dollar })
    expect([status, body.error.type]).toEqual([400, 'order_total_exceeded'])
  })

  test('lines that cannot be bought do not count', async () => {
    expect((await quote({ id: dear, qty: 2 }, { id: gone, qty: 10 })).status).toBe(200)
  })

  test('threat 46: the largest possible cart is added up without losing a cent', async () => {
    const items = Array.from({ length: 25 }, (_, n) =>
      itemOf(String(2 * 10 ** 16 + n * 16), { price_cents: 100_000_000 }),
    )
    await putItems(shop.database.operator, items)
    const { status, body } = await quote(...items.map(({ id }) => ({ id, qty: 10 })))
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('25000000000')])
  })
})

test('quotes spend nothing and work while the store is closed', async () => {
  await shop.operator.setStore(false, 'test')
  expect((await quote({ id: dollar })).status).toBe(200)
  expect((await shop.call('GET', '/v1/balance')).body.balance_cents).toBe(25_000)
  await shop.operator.setStore(true, null)
})
