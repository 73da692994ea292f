import { afterAll, beforeAll, expect, test } from 'vitest'
import { Snapshot } from '../../src/catalogue/snapshot.ts'
import { catalogueArea } from '../../src/dashboard/catalogue.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { callAs, memberOf } from '../../testing/member.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const [CHEAP, DEAR, ENDED, FRAME] = [1, 2, 3, 4].map((n) => `1000000000000000${n}`) as [
  string,
  string,
  string,
  string,
]

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  const revision = await putItems(shop.database.operator, [
    itemOf(CHEAP, { name: 'Spring lantern', collection: 'Spring', price_cents: 199 }),
    itemOf(DEAR, { name: 'Winter lantern', collection: 'Winter', price_cents: 4_999 }),
    itemOf(ENDED, {
      name: 'Old lantern',
      collection: 'Winter',
      price_cents: 500,
      available_until: new Date(0),
    }),
    itemOf(FRAME, {
      name: 'Golden frame',
      type: 'frame',
      collection: 'Spring',
      price_cents: 999,
      image: null,
    }),
  ])
  await untilFollowed(shop.catalogue, revision)
})
afterAll(() => shop.close())

function openArea() {
  const area = catalogueArea({ db: shop.database.dashboard, catalogue: shop.catalogue })
  const member = memberOf(shop.account.id, { role: 'viewer' })
  return {
    list: async (query: object) => {
      const page = await callAs(member, area.listItems, { query })
      return { ...page, ids: page.items.map(({ id }) => id) }
    },
    summary: () => callAs(member, area.catalogueSummary),
    one: (id: string) => callAs(member, area.getItem, { id }),
    quote: (items: readonly object[]) => callAs(member, area.quoteCart, { body: { items } }),
  }
}

test('items are found by name, type, collection, price and whether they can be bought', async () => {
  const { list } = openArea()
  expect((await list({})).ids).toEqual([CHEAP, DEAR, ENDED, FRAME])
  expect((await list({ search: 'LANTERN' })).ids).toEqual([CHEAP, DEAR, ENDED])
  expect((await list({ type: 'frame' })).ids).toEqual([FRAME])
  expect((await list({ collection: 'Winter' })).ids).toEqual([DEAR, ENDED])
  expect((await list({ collection: 'Win' })).ids).toEqual([])
  expect((await list({ sellable: 'no' })).ids).toEqual([ENDED])
  expect((await list({ sellable: 'yes', price_min: 200, price_max: 999 })).ids).toEqual([FRAME])
  expect(await list({ limit: 1, offset: 1 })).toMatchObject({ ids: [DEAR], total: 4 })
})

test('the summary counts items, what can be bought, collections and types, and names the revision of the list', async () => {
  const { summary, list } = openArea()
  expect(await summary()).toMatchObject({
    items: 4,
    sellable: 3,
    collections: [
      { name: 'Spring', items: 2 },
      { name: 'Winter', items: 2 },
    ],
    collections_total: 2,
    revision: (await list({})).revision,
  })
})

test('an unknown item is 404', async () => {
  const { one } = openArea()
  expect((await one(CHEAP)).item).toMatchObject({ id: CHEAP, sellable: true })
  await expect(one('99999999999999999')).rejects.toBeInstanceOf(Refusal)
})

test('a quote answers exactly as POST /quote does', async () => {
  const { quote } = openArea()
  const items = [
    { id: CHEAP, qty: 3 },
    { id: DEAR, expected_price_cents: 1 },
    { id: ENDED },
    { id: '99999999999999999' },
  ]
  const { body } = await shop.call('POST', '/v1/quote', { body: JSON.stringify({ items }) })
  expect(await quote(items)).toEqual(body)
  expect(body.total_cents).toBe(3 * 199 + 4_999)
})

test('the origins of pictures are known, those of the most items first, until the last item there has another', () => {
  const snapshot = new Snapshot()
  const put = (revision: number, ...images: (string | null)[]) =>
    snapshot.apply(
      images.map((image, n) => ({ ...itemOf(`1000000000000000${n}`, { image }), has_supply: true })),
      revision,
    )
  put(
    1,
    'https://b.example/1.png',
    'https://a.example/1.png',
    'https://a.example?x=2',
    'http://plain.example/1',
    null,
  )
  expect(snapshot.pictureOrigins()).toEqual(['https://a.example', 'https://b.example'])
  put(2, 'https://c.example/1.png')
  expect(snapshot.pictureOrigins()).toEqual(['https://a.example', 'https://c.example'])
})
