import { CataloguePage, Item } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { call, openShop, type Shop } from '../../testing/shop.ts'

const ajv = new Ajv({ strict: true })
const isPage = ajv.compile(CataloguePage)
const isItem = ajv.compile(Item)

let shop: Shop
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000 } })
})
afterAll(() => shop.close())

async function put(...items: Parameters<typeof putItems>[1]) {
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, items))
}
const list = async (query = '') => {
  const { status, body, headers } = await shop.call('GET', `/v1/catalogue${query}`)
  return { status, body, headers, ids: body?.items?.map(({ id }: { id: string }) => id) as string[] }
}

test('an empty catalogue returns a page without items', async () => {
  const { status, body } = await list()
  expect([status, body]).toEqual([200, { items: [], count: 0, total: 0, limit: 100, offset: 0 }])
})

describe('with items', () => {
  const [short, zeros, nine, ten] = [
    '99999999999999999',
    '00000000000000009999',
    '900000000000000000',
    '1000000000000000000',
  ] as const
  beforeAll(() =>
    put(
      itemOf(ten, { name: 'Étoile 100%', collection: 'Night Sky', type: 'effect', price_cents: 250 }),
      itemOf(short, { name: 'a_b\\c', image: 'https://img.example/1.png' }),
      itemOf(nine, { name: 'STARS (a+)+', collection: 'night owls', type: 'frame' }),
      itemOf(zeros, { name: 'Straße', is_for_sale: false }),
    ),
  )

  test('pages have the contract’s shape and are ordered by number, not by text', async () => {
    const { body, ids } = await list()
    expect(isPage(body), JSON.stringify(isPage.errors)).toBe(true)
    expect(ids).toEqual([zeros, short, nine, ten])
    expect([body.count, body.total]).toEqual([4, 4])
  })

  test('limit and offset page through one order; past the end the page is empty', async () => {
    expect((await list('?limit=2&offset=1')).ids).toEqual([short, nine])
    const past = await list('?offset=1000000')
    expect([past.status, past.ids, past.body.count, past.body.total]).toEqual([200, [], 0, 4])
  })

  test.each([
    'limit=0',
    'limit=2001',
    'offset=1000001',
    'limit=05',
    'limit=+5',
    'limit=1e2',
    'limit=',
    'offset=-1',
  ])('threat 50: returns 400 for %s instead of clamping it', async (query) => {
    const { status, body } = await list(`?${query}`)
    expect([status, body.error.type]).toEqual([400, 'invalid_request'])
  })

  test.each([
    ['search=stars', [nine]],
    ['search=%C3%A9TOILE', [ten]],
    ['search=e%CC%81toile', [ten]],
    ['search=%25', [ten]],
    ['search=_', [short]],
    ['search=%5C', [short]],
    ['search=(a%2B)%2B', [nine]],
    ['search=', [zeros, short, nine, ten]],
    ['search=nothing', []],
    ['search=Item%201%00', undefined],
    ['category=NIGHT', [nine, ten]],
    ['category=night+sky', [ten]],
    ['type=frame', [nine]],
    ['type=frame&category=sky', []],
    ['type=effect&category=sky&search=100', [ten]],
    ['unknown=1&type=effect', [ten]],
  ])('threat 49: the filter %s is matched literally', async (query, wanted) => {
    const { status, ids } = await list(`?${query}`)
    if (wanted) expect(ids).toEqual(wanted)
    else expect(status).toBe(400)
  })

  test('a search matches within one name, never across two', async () => {
    const { ids } = await list(`?search=${encodeURIComponent('c\nstars')}`)
    expect(ids).toEqual([])
  })

  test.each([
    ['type=', 400],
    ['type=hat', 400],
    [`search=${'x'.repeat(100)}`, 200],
    [`search=${'x'.repeat(101)}`, 400],
    [`search=${encodeURIComponent('😀'.repeat(100))}`, 200],
    [`category=${encodeURIComponent('😀'.repeat(101))}`, 400],
  ])('%# the length of a filter is limited, counted in characters', async (query, status) => {
    expect((await list(`?${query}`)).status).toBe(status)
  })

  test('one item is the same as in the list', async () => {
    const { status, body } = await shop.call('GET', `/v1/catalogue/${ten}`)
    expect(isItem(body), JSON.stringify(isItem.errors)).toBe(true)
    expect([status, body]).toEqual([
      200,
      {
        id: ten,
        name: 'Étoile 100%',
        type: 'effect',
        collection: 'Night Sky',
        price_cents: 250,
        currency: 'USD',
        image: null,
        stock: null,
        sellable: true,
        available_until: null,
      },
    ])
  })

  test.each(['nothing', '12345', '%31000000000000000000', `${ten}0`])(
    'returns 404 for the id %s',
    async (id) => {
      const { status, body } = await shop.call('GET', `/v1/catalogue/${id}`)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
    },
  )

  test('items that cannot be bought are listed as unavailable', async () => {
    expect((await shop.call('GET', `/v1/catalogue/${zeros}`)).body.sellable).toBe(false)
  })
})

describe('a change', () => {
  test('is served by another process within a second, and no page mixes two revisions', async () => {
    const second = await shop.secondApi()
    const waitsMs: number[] = []
    for (let n = 0; n < 5; n += 1) {
      const revision = await putItems(shop.database.operator, [
        itemOf('77777777777777777', { price_cents: 777 + n }),
      ])
      const changedMs = performance.now()
      await untilFollowed(second.catalogue, revision)
      waitsMs.push(performance.now() - changedMs)
    }
    // The median of five, so that one stall of the machine does not fail the test.
    expect(waitsMs.sort((a, b) => a - b)[2]).toBeLessThan(1_000)
    await second.close()
  })

  test('is served by another process when catalogue set has returned', async () => {
    const second = await shop.secondApi()
    const id = '77777777777777777'
    const served: boolean[] = []
    for (const price_cents of [901, 902, 903]) {
      const set = await runAdminOn(shop, 'catalogue', 'set', id, '--price', (price_cents / 100).toFixed(2))
      expect(set.code).toBe(0)
      const { body } = await call(second.port, shop.key, 'GET', `/v1/catalogue/${id}`)
      served.push(body.price_cents === price_cents)
    }
    // At least two of three, for the same reason.
    expect(served.filter(Boolean).length).toBeGreaterThanOrEqual(2)
    await second.close()
  })

  test('gives another entity tag; the old tag returns the new items, the new tag 304', async () => {
    const first = await list()
    const tag = first.headers.get('etag') ?? ''
    expect(first.headers.get('cache-control')).toBe('private, no-cache')
    const known = (value: string) =>
      shop.call('GET', '/v1/catalogue', { headers: { 'If-None-Match': value } })
    for (const value of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const answer = await known(value)
      expect([answer.status, answer.body, answer.headers.get('etag')]).toEqual([304, undefined, tag])
    }
    expect((await known('"other"')).status).toBe(200)
    await put(itemOf('77777777777777777', { price_cents: 778 }))
    expect((await known(tag)).status).toBe(200)
  })

  test('replaces cached search results', async () => {
    expect((await list('?search=newcomer')).ids).toEqual([])
    await put(itemOf('88888888888888888', { name: 'Newcomer' }))
    expect((await list('?search=newcomer')).ids).toEqual(['88888888888888888'])
  })

  test('a sale ends by the database’s clock, and the entity tag changes', async () => {
    const id = '66666666666666666'
    const endsMs = Date.now() + 700
    await put(itemOf(id, { available_until: new Date(endsMs) }))
    const before = await shop.call('GET', `/v1/catalogue/${id}`)
    expect([before.body.sellable, before.body.available_until]).toEqual([
      true,
      new Date(endsMs).toISOString(),
    ])
    await expect.poll(async () => (await shop.call('GET', `/v1/catalogue/${id}`)).body.sellable).toBe(false)
    expect(Date.now()).toBeGreaterThanOrEqual(endsMs - 50)
    const after = await shop.call('GET', `/v1/catalogue/${id}`)
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  })

  test('of many thousand items is served as a whole', async () => {
    const many = Array.from({ length: 25_000 }, (_, n) =>
      itemOf(String(5 * 10 ** 17 + n * 64), { name: `Bulk ${n}` }),
    )
    await put(...many)
    const { body } = await list('?search=bulk&limit=1')
    expect([body.total, body.items[0].name]).toEqual([25_000, 'Bulk 0'])
    expect((await list('?limit=1&offset=20000')).body.items[0].name).toMatch(/^Bulk \d+$/)
  })
})
