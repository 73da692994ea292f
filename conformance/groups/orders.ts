import { group } from '../check.ts'
import { equal, that } from '../expect.ts'
import type { Key } from '../fixtures.ts'
import { order as orderShape } from '../shapes.ts'
import { newOrderKey, type Tools } from '../tools.ts'
import { BROKEN_CARTS, UNKNOWN } from './quote.ts'
import { closedStore } from './status.ts'

export const orders = group('orders', 'Orders', ['spend', 'item:plain'])
const { check } = orders

const cart = (t: Tools) => [{ id: t.item('plain').id }]

/** One purchase of two units, looked at from all sides. */
const purchase = (t: Tools) =>
  t.scene('purchase', async (tools) => {
    const key = await tools.buyer()
    const idempotency_key = newOrderKey()
    const items = [{ id: tools.item('plain').id, qty: 2 }]
    const before = await tools.balance(key)
    const bought = await tools.order(key, items, { idempotency_key })
    const between = await tools.balance(key)
    const replayed = await tools.order(key, items, { idempotency_key })
    const after = await tools.balance(key)
    return { key, items, idempotency_key, before, bought, between, replayed, after }
  })

check(
  'created',
  'a purchase is 201 with the order',
  ['ep.orders-post', 'state.create', 'state.paid'],
  async (t) => {
    const { bought } = await purchase(t)
    bought.is(201).shaped(orderShape)
  },
)
check(
  'begins-paid',
  'an order begins paid, undelivered, without links',
  ['state.create', 'order.status', 'order.delivered', 'order.links'],
  async (t) => {
    const { json } = (await purchase(t)).bought.is(201)
    equal('status', json.status, 'paid')
    equal('delivered_at', json.delivered_at, null)
    equal('links', json.links, [])
  },
)
check(
  'lines',
  'its lines say what was bought and for how much',
  ['order.lines', 'oline.fields', 'what.prices', 'd2.lines'],
  async (t) => {
    const { id, name, price_cents } = t.item('plain')
    const { json } = (await purchase(t)).bought.is(201)
    equal('lines', json.lines, [{ id, name, qty: 2, unit_price_cents: price_cents }])
  },
)
check(
  'total',
  'its total is the sum of its lines, in USD cents',
  ['order.total', 'order.currency', 'what.cents', 'what.prices'],
  async (t) => {
    const { json } = (await purchase(t)).bought.is(201)
    equal('total_cents', json.total_cents, 2 * t.item('plain').price_cents)
    equal('currency', json.currency, 'USD')
  },
)
check('created-at', 'created_at is now', ['order.created', 'd1.date-time'], async (t) => {
  const { json } = (await purchase(t)).bought.is(201)
  const ageMs = Date.now() - Date.parse(json.created_at)
  that('a moment of this run', Math.abs(ageMs) < 120_000, json.created_at)
})
check('id', 'its id is ord_ and 26 characters that say nothing', ['order.id', 'd2.order-id'], async (t) => {
  const { json } = (await purchase(t)).bought.is(201)
  that('ord_ and 26 base32 characters', /^ord_[0-9a-hjkmnp-tv-z]{26}$/.test(json.id), json.id)
})
check(
  'debit',
  'the balance is debited by exactly the total',
  ['state.create', 'what.live', 'orule.1'],
  async (t) => {
    const { before, between, bought } = await purchase(t)
    equal('the balance', between, before - bought.is(201).json.total_cents)
  },
)
check(
  'replay',
  'the same key with the same request is 200 with the same order',
  ['orule.3', 'ep.orders-post', 'd2.replay-body'],
  async (t) => {
    const { bought, replayed } = await purchase(t)
    replayed.is(200).shaped(orderShape)
    equal('the id', replayed.json.id, bought.json.id)
    equal('the lines', replayed.json.lines, bought.json.lines)
  },
)
check('replay-free', 'a replay charges nothing', ['orule.3'], async (t) => {
  const { between, after } = await purchase(t)
  equal('the balance after the replay', after, between)
})
check('replay-marked', 'a replay is marked as one, a purchase is not', ['d1.extra-headers'], async (t) => {
  const { bought, replayed } = await purchase(t)
  equal('Idempotent-Replayed of the replay', replayed.header('idempotent-replayed'), 'true')
  equal('Idempotent-Replayed of the purchase', bought.header('idempotent-replayed'), undefined)
})

async function bought(t: Tools, key: Key, items: readonly object[]) {
  const idempotency_key = newOrderKey()
  const { json } = (await t.order(key, items, { idempotency_key })).is(201)
  return { json, idempotency_key }
}
const SAME: [slug: string, what: string, body: (id: string, other: string, key: string) => string][] = [
  [
    'spaced',
    'other spacing',
    (id, other, key) =>
      `{ "items": [ {"id":"${id}"} , {"id":"${other}","qty":2} ], "idempotency_key": "${key}" }\n`,
  ],
  [
    'names-swapped',
    'its names in another order',
    (id, other, key) => `{"idempotency_key":"${key}","items":[{"id":"${id}"},{"qty":2,"id":"${other}"}]}`,
  ],
  [
    'lines-swapped',
    'its lines in another order',
    (id, other, key) => `{"items":[{"id":"${other}","qty":2},{"id":"${id}"}],"idempotency_key":"${key}"}`,
  ],
  [
    'qty-written',
    'the quantity 1 written out',
    (id, other, key) =>
      `{"items":[{"id":"${id}","qty":1},{"id":"${other}","qty":2}],"idempotency_key":"${key}"}`,
  ],
  [
    'qty-decimal',
    'the quantity 2 written 2.0',
    (id, other, key) => `{"items":[{"id":"${id}"},{"id":"${other}","qty":2.0}],"idempotency_key":"${key}"}`,
  ],
]
for (const [slug, what, body] of SAME) {
  check(
    `same-${slug}`,
    `with ${what} it is the same request`,
    ['orule.3', 'd2.same-request'],
    async (t) => {
      const key = await t.buyer()
      const [id, other] = [t.item('plain').id, t.item('other').id]
      const first = await bought(t, key, [{ id }, { id: other, qty: 2 }])
      const again = (await t.post(key, '/orders', body(id, other, first.idempotency_key))).is(200)
      equal('the id', again.json.id, first.json.id)
    },
    { needs: ['item:other'] },
  )
}
const DIFFERENT: [
  slug: string,
  what: string,
  items: (id: string, cents: number) => object[],
  proves?: string[],
][] = [
  ['qty', 'another quantity', (id) => [{ id, qty: 2 }]],
  ['item', 'another item', () => [{ id: UNKNOWN }]],
  ['more', 'one more item', (id) => [{ id }, { id: UNKNOWN }]],
  [
    'expected',
    'an expected price that was not there',
    (id, cents) => [{ id, expected_price_cents: cents }],
    ['d2.changed-expected'],
  ],
]
for (const [slug, what, items, proves = []] of DIFFERENT) {
  check(
    `conflict-${slug}`,
    `the same key with ${what} is 409`,
    ['orule.4', 'err.409', ...proves],
    async (t) => {
      const key = await t.buyer()
      const { id, price_cents } = t.item('plain')
      const { idempotency_key } = await bought(t, key, cart(t))
      const before = await t.balance(key)
      ;(await t.order(key, items(id, price_cents), { idempotency_key })).refused(409, 'idempotency_conflict')
      equal('the balance', await t.balance(key), before)
    },
  )
}
check(
  'copies',
  'of ten copies at one moment one buys, the others get its order, and one is paid for',
  ['orule.5', 'orule.3', 'd2.key-concurrency'],
  async (t) => {
    const key = await t.buyer()
    const idempotency_key = newOrderKey()
    const before = await t.balance(key)
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => t.order(key, cart(t), { idempotency_key })),
    )
    equal('statuses', replies.map(({ status }) => status).sort(), [...Array(9).fill(200), 201])
    equal('number of orders', new Set(replies.map(({ json }) => json.id)).size, 1)
    equal('the balance', await t.balance(key), before - t.item('plain').price_cents)
  },
)
check(
  'key-per-account',
  'the same key in another account is another order',
  ['orule.2', 'd2.key-comparison'],
  async (t) => {
    const idempotency_key = newOrderKey()
    const ids = []
    for (const key of await t.buyers(2))
      ids.push((await t.order(key, cart(t), { idempotency_key })).is(201).json.id)
    that('two orders', ids[0] !== ids[1], ids)
  },
  { needs: ['twoBuyers'] },
)
check(
  'key-survives-rotation',
  'the key belongs to the account: another API key gets the same order',
  ['orule.2', 'd2.key-comparison'],
  async (t) => {
    const key = await t.buyer()
    const { json, idempotency_key } = await bought(t, key, cart(t))
    const fresh = await t.operator.newKey(key.account, 'all')
    const again = (await t.order(fresh, cart(t), { idempotency_key })).is(200)
    equal('the id', again.json.id, json.id)
  },
  { needs: ['operator'] },
)
check('key-case', 'keys that differ in case are two keys', ['d2.key-comparison'], async (t) => {
  const key = await t.buyer()
  const idempotency_key = `conf-Aa-${newOrderKey()}`
  ;(await t.order(key, cart(t), { idempotency_key })).is(201)
  ;(await t.order(key, cart(t), { idempotency_key: idempotency_key.toUpperCase() })).is(201)
})
check(
  'key-edges',
  'keys of 8 and 100 characters are taken, with all characters of the pattern',
  ['obody.key', 'lim.key'],
  async (t) => {
    const key = await t.buyer()
    const short = newOrderKey().slice(-8)
    ;(await t.order(key, cart(t), { idempotency_key: short })).is(201)
    ;(await t.order(key, cart(t), { idempotency_key: `${newOrderKey()}A.z_0:9-`.padEnd(100, 'x') })).is(201)
  },
)
const KEYS: [slug: string, what: string, key: string][] = [
  ['7', 'of 7 characters', '"1234567"'],
  ['101', 'of 101 characters', JSON.stringify('k'.repeat(101))],
  ['empty', 'that is empty', '""'],
  ['space', 'with a space', '"with space"'],
  ['slash', 'with a slash', '"with/slash"'],
  ['umlaut', 'with an umlaut', '"schlüssel"'],
  ['newline', 'with a newline at its end', '"12345678\\n"'],
  ['number', 'that is a number', '12345678'],
  ['null', 'that is null', 'null'],
]
for (const [slug, what, key] of KEYS) {
  check(
    `refuses-key-${slug}`,
    `a key ${what} is refused`,
    ['obody.key', 'err.400', ...(slug === '7' || slug === '101' ? ['lim.key'] : [])],
    async (t) =>
      (
        await t.post(
          await t.buyer(),
          '/orders',
          `{"items":[{"id":"${t.item('plain').id}"}],"idempotency_key":${key}}`,
        )
      ).refused(400, 'invalid_request'),
  )
}
check('refuses-no-key', 'an order without a key is refused', ['obody.key', 'err.400'], async (t) =>
  (await t.post(await t.buyer(), '/orders', { items: cart(t) })).refused(400, 'invalid_request'),
)
for (const extra of ['recipient', 'email', 'note', 'currency']) {
  check(
    `refuses-extra-${extra}`,
    `an order with "${extra}" is refused`,
    ['obody.closed', 'what.no-recipient'],
    async (t) =>
      (
        await t.post(await t.buyer(), '/orders', {
          items: cart(t),
          idempotency_key: newOrderKey(),
          [extra]: 'x',
        })
      ).refused(400, 'invalid_request'),
  )
}
for (const [slug, what, proves, items] of BROKEN_CARTS) {
  check(
    `refuses-${slug}`,
    `an order with ${what} is refused`,
    [...proves.filter((one) => !one.startsWith('qbody')), 'err.400'],
    async (t) =>
      (
        await t.post(
          await t.buyer(),
          '/orders',
          `{"items":${items(t.item('plain').id)},"idempotency_key":"${newOrderKey()}"}`,
        )
      ).refused(400, 'invalid_request'),
  )
}

/** What cannot be bought leaves no trace: no debit, and the key is free. */
async function refusedWithoutTrace(t: Tools, items: readonly object[], status: number, type: string) {
  const key = await t.buyer()
  const idempotency_key = newOrderKey()
  const before = await t.balance(key)
  const reply = (await t.order(key, items, { idempotency_key })).refused(status, type)
  equal('the balance', await t.balance(key), before)
  ;(await t.order(key, cart(t), { idempotency_key })).is(201)
  return reply
}
check(
  'unknown',
  'an unknown item is 409, is named, and leaves the key free',
  ['err.409', 'd2.order-unknown', 'd2.409-details', 'd2.key-freed', 'obody.items'],
  async (t) => {
    const { json } = await refusedWithoutTrace(t, [{ id: UNKNOWN }], 409, 'item_unavailable')
    that('the id in the message', json.error.message.includes(UNKNOWN), json.error.message)
  },
)
check(
  'unsellable',
  'what is not for sale is 409',
  ['err.409', 'orule.1', 'obody.items'],
  async (t) => refusedWithoutTrace(t, [{ id: t.item('unsellable').id }], 409, 'item_unavailable'),
  { needs: ['item:unsellable'] },
)
check(
  'ended',
  'what was for sale until a moment ago is 409',
  ['err.409', 'd2.until'],
  async (t) => refusedWithoutTrace(t, [{ id: t.item('ended').id }], 409, 'item_unavailable'),
  { needs: ['item:ended'] },
)
check(
  'all-or-nothing',
  'one line that cannot be bought, and nothing is bought',
  ['orule.1', 'obody.items'],
  async (t) => refusedWithoutTrace(t, [...cart(t), { id: UNKNOWN }], 409, 'item_unavailable'),
)
check(
  'price',
  'a price that differs from the expected one is 409',
  ['orule.1', 'err.409', 'd2.key-freed'],
  async (t) => {
    const { id, price_cents } = t.item('plain')
    const { json } = await refusedWithoutTrace(
      t,
      [{ id, expected_price_cents: price_cents + 1 }],
      409,
      'price_changed',
    )
    that('the id in the message', json.error.message.includes(id), json.error.message)
  },
)
check('price-right', 'the expected price is the price paid', ['cart.expected', 'orule.1'], async (t) => {
  const { id, price_cents } = t.item('plain')
  const reply = await t.order(await t.buyer(), [{ id, expected_price_cents: price_cents }])
  equal('total_cents', reply.is(201).json.total_cents, price_cents)
})
check(
  'no-expected',
  'without an expected price the price now is charged',
  ['d2.no-expected', 'cart.expected'],
  async (t) =>
    equal(
      'total_cents',
      (await t.order(await t.buyer(), cart(t))).is(201).json.total_cents,
      t.item('plain').price_cents,
    ),
)
check(
  'funds',
  'a balance that is too low is 402 insufficient_funds',
  ['err.402', 'orule.1'],
  async (t) => {
    const reply = (await t.order(t.key('poor'), cart(t))).refused(402, 'insufficient_funds')
    equal('the balance', await t.balance(t.key('poor')), 0)
    return reply
  },
  { needs: ['poor'] },
)
check(
  'funds-then',
  'after the account was funded the same key buys',
  ['d2.key-freed', 'err.402'],
  async (t) => {
    const key = t.key('poor')
    const idempotency_key = newOrderKey()
    ;(await t.order(key, cart(t), { idempotency_key })).refused(402)
    await t.operator.fund(key.account, t.item('plain').price_cents)
    ;(await t.order(key, cart(t), { idempotency_key })).is(201)
    equal('the balance', await t.balance(key), 0)
  },
  { needs: ['poor', 'operator'], pace: 'alone' },
)
check(
  'cap',
  'a total over 500000 cents is 400',
  ['lim.total', 'd2.order-cap', 'err.400'],
  async (t) => refusedWithoutTrace(t, [{ id: t.item('expensive').id, qty: 10 }], 400, 'order_total_exceeded'),
  { needs: ['item:expensive'] },
)
check(
  'unavailable-before-price',
  'unavailable is returned before a changed price',
  ['d1.several-failures'],
  async (t) => {
    const { id, price_cents } = t.item('plain')
    ;(
      await t.order(await t.buyer(), [{ id, expected_price_cents: price_cents + 1 }, { id: UNKNOWN }])
    ).refused(409, 'item_unavailable')
  },
)
check(
  'price-before-cap',
  'a changed price is returned before a total that is too high',
  ['d1.several-failures', 'd2.order-cap'],
  async (t) =>
    (
      await t.order(await t.buyer(), [{ id: t.item('expensive').id, qty: 10, expected_price_cents: 1 }])
    ).refused(409, 'price_changed'),
  { needs: ['item:expensive'] },
)
check(
  'cap-before-funds',
  'a total that is too high is returned before a balance that is too low',
  ['d1.several-failures', 'd2.order-cap'],
  async (t) =>
    (await t.order(t.key('poor'), [{ id: t.item('expensive').id, qty: 10 }])).refused(
      400,
      'order_total_exceeded',
    ),
  { needs: ['item:expensive', 'poor'] },
)
check(
  'conflict-before-cart',
  'a key that is taken is returned before any error of the cart',
  ['d1.order', 'd2.replay-anyway'],
  async (t) => {
    const key = await t.buyer()
    const { idempotency_key } = await bought(t, key, cart(t))
    ;(await t.order(key, [{ id: UNKNOWN }], { idempotency_key })).refused(409, 'idempotency_conflict')
  },
)
check(
  'free',
  'what costs nothing can be bought, and costs nothing',
  ['d2.price-0'],
  async (t) => {
    const key = await t.buyer()
    const before = await t.balance(key)
    equal('total_cents', (await t.order(key, [{ id: t.item('free').id }])).is(201).json.total_cents, 0)
    equal('the balance', await t.balance(key), before)
  },
  { needs: ['item:free'] },
)
check(
  'write-only',
  'a key with orders:write alone buys, and sees no links',
  ['ep.orders-post', 'orule.6', 'd2.201-write-only'],
  async (t) => {
    const reply = (await t.order(t.fixtures.only?.['orders:write'] as Key, cart(t)))
      .is(201)
      .shaped(orderShape)
    equal('links', reply.json.links, [])
  },
  { needs: ['only'] },
)
check(
  'several-lines',
  'a cart of several lines is bought whole, its lines as sent',
  ['orule.1', 'd2.lines', 'order.lines'],
  async (t) => {
    const [plain, other] = [t.item('plain'), t.item('other')]
    const key = await t.buyer()
    const before = await t.balance(key)
    const { json } = (await t.order(key, [{ id: other.id, qty: 3 }, { id: plain.id }])).is(201)
    equal(
      'ids',
      json.lines.map(({ id }: { id: string }) => id),
      [other.id, plain.id],
    )
    equal('total_cents', json.total_cents, 3 * other.price_cents + plain.price_cents)
    equal('the balance', await t.balance(key), before - json.total_cents)
  },
  { needs: ['item:other'] },
)

const alone = { needs: ['operator'], pace: 'alone' } as const
check(
  'closed',
  'a closed store refuses new orders with 503 and says when to ask again',
  ['err.503', 'd2.closed', 'd1.retry-after-503'],
  async (t) => {
    const { refused, balanceBefore, balanceAfter } = await t.scene('closed', closedStore)
    equal('Retry-After', refused.refused(503, 'store_closed').header('retry-after'), '30')
    equal('the balance', balanceAfter, balanceBefore)
  },
  alone,
)
check(
  'closed-first',
  'a closed store is returned before any error of the cart',
  ['d1.several-failures'],
  async (t) => (await t.scene('closed', closedStore)).unavailable.refused(503, 'store_closed'),
  alone,
)
check(
  'closed-replay',
  'a closed store still answers for what was bought',
  ['d2.closed', 'd2.replay-anyway'],
  async (t) => {
    const { replayed, bought: first } = await t.scene('closed', closedStore)
    equal('the id', replayed.is(200).json.id, first.json.id)
  },
  alone,
)
check(
  'closed-reads',
  'a closed store still quotes, lists and shows orders',
  ['d2.closed'],
  async (t) => {
    const { quoted, listed, read } = await t.scene('closed', closedStore)
    for (const reply of [quoted, listed, read]) reply.is(200)
  },
  alone,
)
check(
  'reopened',
  'once it is open the same key buys',
  ['d2.key-freed', 'err.retry-503'],
  async (t) => (await t.scene('closed', closedStore)).reopened.is(201),
  alone,
)
check(
  'frozen-price',
  'an order keeps its price when the item gets another, and so does its replay',
  ['d2.lines', 'd2.replay-anyway'],
  async (t) => {
    const key = await t.buyer()
    const { id, price_cents } = t.item('other')
    const { json, idempotency_key } = await bought(t, key, [{ id, expected_price_cents: price_cents }])
    await t.operator.setPrice(id, price_cents + 7)
    t.afterwards(() => t.operator.setPrice(id, price_cents))
    const again = (await t.order(key, [{ id, expected_price_cents: price_cents }], { idempotency_key })).is(
      200,
    )
    equal('unit_price_cents', again.json.lines[0].unit_price_cents, price_cents)
    equal('total_cents', (await t.get(key, `/orders/${json.id}`)).is(200).json.total_cents, price_cents)
    ;(await t.order(key, [{ id, expected_price_cents: price_cents }])).refused(409, 'price_changed')
  },
  { needs: ['operator', 'item:other'], pace: 'alone' },
)
