import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import { order as orderShape, ordersPage } from '../shapes.ts'
import type { Tools } from '../tools.ts'

export const orderReading = group('order-reading', 'Reading orders')
const { check } = orderReading

interface Summary {
  readonly id: string
  readonly created_at: string
}

/** An account with some orders, and all of them as listed. */
const history = (t: Tools) =>
  t.scene('history', async (tools) => {
    const key = await tools.buyer()
    const items = [{ id: tools.item('plain').id }]
    const placed = []
    for (let n = 0; n < 5; n += 1) placed.push((await tools.order(key, items)).is(201).json)
    const page = (await tools.get(key, '/orders?limit=100')).is(200)
    const parts = []
    for (let offset = 0; offset < 6; offset += 2) {
      parts.push((await tools.get(key, `/orders?limit=2&offset=${offset}`)).is(200).json)
    }
    return { key, placed, page, parts, read: await tools.get(key, `/orders/${placed[0].id}`) }
  })
const spending = { needs: ['spend', 'item:plain'] } as const

check('page', 'a page has orders, total, limit and offset', ['ep.orders', 'orders-page.fields'], async (t) =>
  (await t.get(await t.buyer(), '/orders')).is(200).shaped(ordersPage),
)
check(
  'defaults',
  'without parameters limit is 25 and offset 0',
  ['lim.orders-limit', 'lim.orders-offset'],
  async (t) => {
    const { json } = (await t.get(await t.buyer(), '/orders')).is(200)
    equal('limit', json.limit, 25)
    equal('offset', json.offset, 0)
  },
)
check(
  'summaries',
  'what is listed has no lines, no links and no delivered_at',
  ['summary.fields', 'olist.summaries'],
  async (t) => {
    const { page } = await history(t)
    page.shaped(ordersPage)
    equal('fields', Object.keys(page.json.orders[0]).sort(), [
      'created_at',
      'currency',
      'id',
      'status',
      'total_cents',
    ])
  },
  spending,
)
check(
  'newest-first',
  'the newest order comes first',
  ['olist.newest', 'd2.created-ties'],
  async (t) => {
    const { page, placed } = await history(t)
    const wanted = placed.map(({ id }) => id).reverse()
    equal(
      'the first five ids',
      page.json.orders.slice(0, 5).map(({ id }: Summary) => id),
      wanted,
    )
    const times = page.json.orders.map(({ created_at }: Summary) => created_at)
    equal('times', times, [...times].sort().reverse())
  },
  spending,
)
check(
  'paging',
  'pages put together are the whole, nothing twice',
  ['olist.newest', 'lim.orders-offset'],
  async (t) => {
    const { page, parts } = await history(t)
    const ids = parts.flatMap(({ orders }) => orders.map(({ id }: Summary) => id))
    equal(
      'ids of the pages',
      ids,
      page.json.orders.slice(0, ids.length).map(({ id }: Summary) => id),
    )
  },
  spending,
)
check(
  'total',
  'total counts all orders of the account on every page',
  ['orders-page.fields'],
  async (t) => {
    const { page, parts } = await history(t)
    that('at least five', page.json.total >= 5, page.json.total)
    for (const part of parts) equal('total', part.total, page.json.total)
  },
  spending,
)
check(
  'past-the-end',
  'an offset past the end is an empty page with the true total',
  ['d2.offset-past-end', 'lim.orders-offset'],
  async (t) => {
    const { json } = (await t.get(await t.buyer(), '/orders?offset=1000000')).is(200)
    equal('orders', json.orders, [])
    equal('offset', json.offset, 1_000_000)
  },
)
for (const limit of [1, 100]) {
  check(`limit-${limit}`, `limit=${limit} is accepted and returned`, ['lim.orders-limit'], async (t) =>
    equal('limit', (await t.get(await t.buyer(), `/orders?limit=${limit}`)).is(200).json.limit, limit),
  )
}
for (const query of [
  'limit=0',
  'limit=101',
  'limit=-1',
  'limit=x',
  'limit=',
  'limit=010',
  'offset=-1',
  'offset=1000001',
  'offset=1.0',
  'limit=5&limit=5',
]) {
  const proves = query.startsWith('limit=5')
    ? ['d1.repeated-query']
    : [query.startsWith('limit') ? 'lim.orders-limit' : 'lim.orders-offset', 'd2.numbers']
  check(
    `refuses-${query.replaceAll(/[=&]/g, '-')}`,
    `?${query} is refused`,
    [...proves, 'err.400'],
    async (t) => (await t.get(await t.buyer(), `/orders?${query}`)).refused(400, 'invalid_request'),
  )
}
check(
  'one',
  'an order read by its id is the one that was bought',
  ['ep.orders-id', 'state.truth', 'order.id'],
  async (t) => {
    const { read, placed } = await history(t)
    read.is(200).shaped(orderShape)
    const { status: _now, delivered_at: _when, links: _links, ...frozen } = read.json
    const { status, delivered_at, links, ...first } = placed[0]
    equal('the order', frozen, first)
  },
  spending,
)
check(
  'one-agrees',
  'the list and the order agree',
  ['summary.fields', 'order.total', 'order.created'],
  async (t) => {
    const { read, page } = await history(t)
    const { id, currency, total_cents, created_at } = read.is(200).json
    const listed = page.json.orders.find((one: Summary) => one.id === id)
    equal('the summary', { ...listed, status: '' }, { id, status: '', currency, total_cents, created_at })
  },
  spending,
)
for (const id of [
  'ord_00000000000000000000000000',
  'ord_x',
  '1',
  '%6frd',
  '..',
  'ORD_00000000000000000000000000',
]) {
  check(
    `unknown-${id.replaceAll(/[%.]/g, '-')}`,
    `/orders/${id} is 404`,
    ['oread.404', 'err.404'],
    async (t) => (await t.get(await t.buyer(), `/orders/${id}`)).refused(404, 'not_found'),
  )
}
check(
  'not-yours',
  'the order of another account is 404, exactly as one that never was',
  ['oread.own', 'oread.404', 'err.404'],
  async (t) => {
    const [mine, yours] = await t.buyers(2)
    if (!mine || !yours) return
    const { id } = (await t.order(yours, [{ id: t.item('plain').id }])).is(201).json
    const foreign = (await t.get(mine, `/orders/${id}`)).refused(404, 'not_found')
    const none = (await t.get(mine, '/orders/ord_00000000000000000000000000')).refused(404, 'not_found')
    equal('the body', foreign.json, none.json)
  },
  { needs: ['spend', 'item:plain', 'twoBuyers'] },
)
check(
  'not-listed',
  'the orders of another account are not listed',
  ['oread.own', 'ep.orders'],
  async (t) => {
    const { placed } = await history(t)
    const key = t.fixtures.only?.['orders:read']
    const { json } = (await t.get(key ?? t.key('poor'), '/orders?limit=100')).is(200)
    const ids = new Set(json.orders.map(({ id }: Summary) => id))
    that(
      'none of them',
      placed.every(({ id }) => !ids.has(id)),
      placed.length,
    )
  },
  { needs: ['spend', 'item:plain', 'only'] },
)
