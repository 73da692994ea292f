import { setTimeout as sleep } from 'node:timers/promises'
import { group } from '../check.ts'
import { equal, fits, that, Unmet } from '../expect.ts'
import type { Item } from '../fixtures.ts'
import * as shapes from '../shapes.ts'
import { cataloguePage, item, itemTypes } from '../shapes.ts'
import type { Tools } from '../tools.ts'

export const catalogue = group('catalogue', 'Catalogue')
const { check } = catalogue

const all = (t: Tools) =>
  t.scene('catalogue', async (tools) => {
    const whole = await tools.get(await tools.buyer(), '/catalogue?limit=2000')
    return whole.is(200).json.items as Item[]
  })
// The scene first: it needs an account, and there may be only one.
const page = async (t: Tools, query: string) => {
  await all(t)
  return (await t.get(await t.buyer(), `/catalogue${query}`)).is(200)
}

check(
  'page',
  'a page has items, count, total, limit and offset',
  ['ep.catalogue', 'page.fields', 'res.present'],
  async (t) => (await page(t, '')).shaped(cataloguePage),
)
check(
  'defaults',
  'without parameters limit is 100 and offset 0',
  ['catq.limit', 'catq.offset', 'lim.catalogue-limit', 'lim.catalogue-offset'],
  async (t) => {
    const { json } = await page(t, '')
    equal('limit', json.limit, 100)
    equal('offset', json.offset, 0)
    that('at most 100 items', json.items.length <= 100, json.items.length)
  },
)
const FIELDS = {
  id: shapes.matching(/^[0-9]{17,20}$/),
  name: shapes.string,
  type: shapes.oneOf(...itemTypes),
  collection: shapes.string,
  price_cents: shapes.count,
  currency: shapes.oneOf('USD'),
  image: shapes.nullOr(shapes.uri),
  stock: shapes.oneOf(null),
  sellable: shapes.boolean,
  available_until: shapes.nullOr(shapes.dateTime),
} as const
const sentence = { price_cents: 'price', available_until: 'until' } as Record<string, string>
for (const [name, rule] of Object.entries(FIELDS)) {
  check(
    `item-${name}`,
    `every item has ${name} in its form`,
    [`item.${sentence[name] ?? name}`, 'res.present'],
    async (t) => {
      for (const one of await all(t))
        fits(`${name} of ${one.id}`, (one as unknown as Record<string, unknown>)[name], rule)
    },
  )
}
check(
  'frame-image',
  'a frame has no image of its own',
  ['item.image-frame'],
  async (t) => {
    const frames = (await all(t)).filter(({ type }) => type === 'frame')
    for (const frame of frames)
      equal(`image of ${frame.id}`, (frame as unknown as { image: unknown }).image, null)
  },
  { needs: ['item:frame'] },
)
check(
  'lists-unavailable',
  'what cannot be bought is listed too',
  ['item.listed-unavailable', 'item.sellable'],
  async (t) => {
    const wanted = t.item('unsellable').id
    const found = (await all(t)).find(({ id }) => id === wanted)
    equal('sellable', found?.sellable, false)
  },
  { needs: ['item:unsellable'] },
)
check(
  'ended',
  'an item whose time is over is not sellable',
  ['item.until', 'd2.until'],
  async (t) => {
    const ended = (await all(t)).find(({ id }) => id === t.item('ended').id)
    equal('sellable', ended?.sellable, false)
  },
  { needs: ['item:ended'] },
)
check('numeric-order', 'items come in the order of their numbers', ['d2.catalogue-order'], async (t) => {
  const ids = (await all(t)).map(({ id }) => BigInt(id))
  for (let n = 1; n < ids.length; n += 1) {
    const [a = 0n, b = 0n] = [ids[n - 1], ids[n]]
    that('ids that grow', a < b, `${a} before ${b}`)
  }
})
check(
  'paging',
  'pages put together are the whole, nothing twice and nothing missing',
  ['catq.offset', 'd2.catalogue-order'],
  async (t) => {
    const key = await t.buyer()
    const whole = (await t.get(key, '/catalogue?limit=30')).is(200).json
    const size = Math.max(1, Math.ceil(whole.items.length / 4))
    const parts: string[] = []
    for (let offset = 0; offset < whole.items.length; offset += size) {
      const part = (await t.get(key, `/catalogue?limit=${size}&offset=${offset}`)).is(200).json
      parts.push(...part.items.map(({ id }: Item) => id))
    }
    equal(
      'ids of the pages',
      parts.slice(0, whole.items.length),
      whole.items.map(({ id }: Item) => id),
    )
  },
)
check(
  'count',
  'count is the number on this page, total the number of all',
  ['page.fields', 'd2.count-total'],
  async (t) => {
    const { json } = await page(t, '?limit=2')
    equal('count', json.count, json.items.length)
    that('a total not below count', json.total >= json.count, json.total)
    equal('total', json.total, (await all(t)).length >= 2_000 ? json.total : (await all(t)).length)
  },
)
check(
  'past-the-end',
  'an offset past the end is an empty page with the true total',
  ['d2.offset-past-end'],
  async (t) => {
    const { json } = await page(t, '?offset=1000000')
    equal('items', json.items, [])
    equal('count', json.count, 0)
    equal('offset', json.offset, 1_000_000)
    that('the true total', json.total > 0, json.total)
  },
)
for (const [slug, query, limit] of [
  ['one', '?limit=1', 1],
  ['2000', '?limit=2000', 2000],
] as const) {
  check(
    `limit-${slug}`,
    `limit=${limit} is accepted and returned`,
    ['catq.limit', 'lim.catalogue-limit'],
    async (t) => {
      const { json } = await page(t, query)
      equal('limit', json.limit, limit)
      that(`at most ${limit} items`, json.items.length <= limit, json.items.length)
    },
  )
}
const REFUSED: [slug: string, query: string, proves: string[]][] = [
  ['limit-0', 'limit=0', ['catq.limit', 'lim.catalogue-limit']],
  ['limit-2001', 'limit=2001', ['catq.limit', 'lim.catalogue-limit']],
  ['limit-negative', 'limit=-1', ['catq.limit', 'd2.numbers']],
  ['limit-word', 'limit=ten', ['catq.limit', 'd2.numbers']],
  ['limit-fraction', 'limit=1.5', ['catq.limit', 'd2.numbers']],
  ['limit-zero-led', 'limit=05', ['d2.numbers']],
  ['limit-plus', 'limit=%2B5', ['d2.numbers']],
  ['limit-exponent', 'limit=1e2', ['d2.numbers']],
  ['limit-empty', 'limit=', ['d2.numbers']],
  ['limit-hex', 'limit=0x10', ['d2.numbers']],
  ['limit-huge', 'limit=99999999999999999999', ['catq.limit']],
  ['offset-negative', 'offset=-1', ['catq.offset', 'lim.catalogue-offset']],
  ['offset-1000001', 'offset=1000001', ['catq.offset', 'lim.catalogue-offset']],
  ['offset-word', 'offset=x', ['catq.offset', 'd2.numbers']],
  ['offset-empty', 'offset=', ['d2.numbers']],
  ['offset-zero-led', 'offset=00', ['d2.numbers']],
  ['search-101', `search=${'a'.repeat(101)}`, ['catq.search', 'lim.filters', 'd2.length']],
  ['search-101-points', `search=${encodeURIComponent('🎁'.repeat(101))}`, ['d2.length']],
  ['category-101', `category=${'a'.repeat(101)}`, ['catq.category', 'lim.filters']],
  ['type-101', `type=${'a'.repeat(101)}`, ['catq.type', 'lim.filters']],
  ['type-unknown', 'type=sticker', ['catq.type', 'd2.type']],
  ['type-empty', 'type=', ['d2.type']],
  ['type-case', 'type=Frame', ['catq.type', 'd2.type']],
  ['repeated', 'limit=1&limit=1', ['d1.repeated-query']],
  ['repeated-filter', 'search=a&search=b', ['d1.repeated-query']],
  ['bad-escape', 'search=%zz', ['d1.query-decoding']],
  ['bad-utf8', 'search=%ff', ['d1.query-decoding']],
]
for (const [slug, query, proves] of REFUSED) {
  const shown = query.length > 40 ? `${query.slice(0, 20)}… (${query.length} characters)` : query
  check(`refuses-${slug}`, `?${shown} is refused`, [...proves, 'err.400'], async (t) =>
    (await t.get(await t.buyer(), `/catalogue?${query}`)).refused(400, 'invalid_request'),
  )
}
const TAKEN: [slug: string, query: string, proves: string[]][] = [
  ['offset-0', 'offset=0', ['catq.offset']],
  ['search-100', `search=${'a'.repeat(100)}`, ['catq.search', 'lim.filters']],
  ['search-100-points', `search=${encodeURIComponent('🎁'.repeat(100))}`, ['d2.length']],
  ['category-100', `category=${'a'.repeat(100)}`, ['catq.category', 'lim.filters']],
  ['unknown-parameter', 'colour=blue', ['d1.unknown-query']],
  ['bare-query', '', ['d1.bare-query']],
]
for (const [slug, query, proves] of TAKEN) {
  check(`takes-${slug}`, `?${query.slice(0, 24)} is taken`, proves, async (t) => {
    ;(await t.get(await t.buyer(), `/catalogue?${query}`)).is(200).shaped(cataloguePage)
  })
}
for (const type of itemTypes) {
  check(
    `type-${type}`,
    `type=${type} lists all of that type and nothing else`,
    ['catq.type', 'item.type'],
    async (t) => {
      const wanted = (await all(t)).filter((one) => one.type === type).map(({ id }) => id)
      const { json } = await page(t, `?type=${type}&limit=2000`)
      equal(
        'ids',
        json.items.map(({ id }: Item) => id),
        wanted,
      )
      equal('total', json.total, wanted.length)
    },
  )
}

const searched = async (t: Tools, parameter: 'search' | 'category', needle: string) =>
  (await page(t, `?limit=2000&${parameter}=${encodeURIComponent(needle)}`)).json.items.map(
    ({ id }: Item) => id,
  )
const holding = async (t: Tools, field: 'name' | 'collection', needle: string) =>
  (await all(t)).filter((one) => one[field].toLowerCase().includes(needle.toLowerCase())).map(({ id }) => id)
check(
  'search',
  'search finds text anywhere in the name',
  ['catq.search', 'd2.search'],
  async (t) => {
    const needle = t.item('plain').name.slice(1, 5)
    equal('ids', await searched(t, 'search', needle), await holding(t, 'name', needle))
  },
  { needs: ['item:plain'] },
)
check(
  'search-case',
  'search ignores upper and lower case',
  ['d2.search'],
  async (t) => {
    const needle = t.item('plain').name.toUpperCase()
    equal('ids', await searched(t, 'search', needle), await holding(t, 'name', needle))
  },
  { needs: ['item:plain'] },
)
check('search-literal', 'search treats % and _ as ordinary characters', ['d2.search'], async (t) => {
  equal('ids', await searched(t, 'search', '%'), await holding(t, 'name', '%'))
  equal('ids', await searched(t, 'search', '_'), await holding(t, 'name', '_'))
})
check(
  'search-accents',
  'search finds a letter with an accent in either of its two spellings',
  ['d2.search'],
  async (t) => {
    const accented = (await all(t)).find(({ name }) => name.normalize('NFD') !== name)
    if (!accented) throw new Unmet('an item with an accent in its name')
    for (const form of ['NFC', 'NFD'] as const) {
      const found = await searched(t, 'search', accented.name.normalize(form))
      that(`${accented.id} found by its name in ${form}`, found.includes(accented.id), found)
    }
  },
)
check('search-empty', 'an empty search is none', ['d2.search'], async (t) => {
  equal('total', (await page(t, '?search=&limit=1')).json.total, (await page(t, '?limit=1')).json.total)
})
check('search-none', 'a search that finds nothing is an empty page', ['catq.search'], async (t) => {
  const { json } = await page(t, '?search=no-item-is-called-like-this')
  equal('total', json.total, 0)
  equal('items', json.items, [])
})
check(
  'search-plus',
  'a plus in a query is a space',
  ['d1.query-decoding'],
  async (t) => {
    const { name } = t.item('plain')
    const { json } = await page(t, `?limit=2000&search=${encodeURIComponent(name).replaceAll('%20', '+')}`)
    equal(
      'ids',
      json.items.map(({ id }: Item) => id),
      await holding(t, 'name', name),
    )
  },
  { needs: ['item:plain'] },
)
check(
  'category',
  'category finds text anywhere in the collection, whatever its case',
  ['catq.category'],
  async (t) => {
    const needle = t.item('plain').collection.slice(1).toUpperCase()
    equal('ids', await searched(t, 'category', needle), await holding(t, 'collection', needle))
  },
  { needs: ['item:plain'] },
)
check(
  'filters-together',
  'filters hold together, and total counts what is left',
  ['catq.search', 'catq.category', 'catq.type'],
  async (t) => {
    const { type, collection, name } = t.item('plain')
    const { json } = await page(
      t,
      `?type=${type}&category=${encodeURIComponent(collection)}&search=${encodeURIComponent(name)}`,
    )
    const wanted = (await all(t)).filter(
      (one) =>
        one.type === type &&
        one.collection.toLowerCase().includes(collection.toLowerCase()) &&
        one.name.toLowerCase().includes(name.toLowerCase()),
    )
    equal('total', json.total, wanted.length)
  },
  { needs: ['item:plain'] },
)
check(
  'offset-in-filter',
  'offset skips matching items',
  ['catq.offset'],
  async (t) => {
    const { type } = t.item('plain')
    const wanted = (await all(t)).filter((one) => one.type === type).map(({ id }) => id)
    const { json } = await page(t, `?type=${type}&offset=1&limit=2000`)
    equal(
      'ids',
      json.items.map(({ id }: Item) => id),
      wanted.slice(1),
    )
  },
  { needs: ['item:plain'] },
)

check(
  'one',
  'an item read by its id is the one that is listed',
  ['ep.catalogue-id', 'item.id'],
  async (t) => {
    const listed = (await all(t)).find(({ id }) => id === t.item('plain').id)
    const reply = (await t.get(await t.buyer(), `/catalogue/${t.item('plain').id}`)).is(200).shaped(item)
    equal('the item', reply.json, listed)
  },
  { needs: ['item:plain'] },
)
for (const [slug, id] of [
  ['unknown', '99999999999999999999'],
  ['word', 'ring'],
  ['short', '123'],
  ['escaped', '%31'],
] as const) {
  check(`one-${slug}`, `/catalogue/${id} is 404`, ['err.404', 'd2.item-bad-id'], async (t) =>
    (await t.get(await t.buyer(), `/catalogue/${id}`)).refused(404, 'not_found'),
  )
}
check('etag', 'a page has an ETag and may be kept for asking again', ['d1.extra-headers'], async (t) => {
  const reply = await page(t, '?limit=1')
  that('an ETag', /^(W\/)?"[^"]+"$/.test(reply.header('etag') ?? ''), reply.header('etag'))
  equal('Cache-Control', reply.header('cache-control'), 'private, no-cache')
})
for (const [slug, path] of [
  ['page', '/catalogue?limit=1'],
  ['item', '/catalogue/{id}'],
] as const) {
  check(
    `304-${slug}`,
    `what has not changed is 304 without a body (${path})`,
    ['d1.extra-headers'],
    async (t) => {
      const key = await t.buyer()
      const at = path.replace('{id}', t.item('plain').id)
      for (let tries = 1; ; tries += 1) {
        const etag = (await t.get(key, at)).is(200).header('etag') ?? ''
        const again = await t.get(key, at, { headers: [['If-None-Match', etag]] })
        // Somebody may have changed the catalogue in between, once.
        if (again.status === 200 && again.header('etag') !== etag && tries < 4) {
          await sleep(500)
          continue
        }
        again.is(304)
        equal('bytes of the body', again.body.length, 0)
        return
      }
    },
    { needs: ['item:plain'] },
  )
}
check('etag-other', 'another ETag gets the page', ['d1.extra-headers'], async (t) =>
  (
    await t.get(await t.buyer(), '/catalogue?limit=1', { headers: [['If-None-Match', '"something-else"']] })
  ).is(200),
)
check(
  'price-change',
  'a new price is listed within moments, under a new ETag',
  ['item.price', 'd1.extra-headers'],
  async (t) => {
    const key = await t.buyer()
    const { id } = t.item('other')
    const before = (await t.get(key, `/catalogue/${id}`)).is(200)
    const cents = before.json.price_cents
    await t.operator.setPrice(id, cents + 1)
    t.afterwards(() => t.operator.setPrice(id, cents))
    const deadline = Date.now() + 5_000
    for (;;) {
      const now = (await t.get(key, `/catalogue/${id}`)).is(200)
      if (now.json.price_cents === cents + 1) {
        return that('another ETag', now.header('etag') !== before.header('etag'), now.header('etag'))
      }
      that(`the price ${cents + 1} within 5 s`, Date.now() < deadline, now.json.price_cents)
    }
  },
  { needs: ['operator', 'item:other'], pace: 'alone' },
)
