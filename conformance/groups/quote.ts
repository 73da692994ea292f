import { group } from '../check.ts'
import { equal, Unmet } from '../expect.ts'
import { quote as quoteShape } from '../shapes.ts'
import type { Tools } from '../tools.ts'

export const quote = group('quote', 'Quotes', ['item:plain'])
const { check } = quote

export const UNKNOWN = '99999999999999999999'
const quoted = async (t: Tools, items: readonly object[]) =>
  (await t.post(await t.buyer(), '/quote', { items })).is(200).shaped(quoteShape).json

check(
  'ok',
  'what can be bought is ok, with name and prices',
  ['ep.quote', 'qbody.ok', 'quote.ok', 'quote.currency', 'qline.status', 'qline.optional', 'd2.quote-ok'],
  async (t) => {
    const { id, name, price_cents } = t.item('plain')
    equal('the quote', await quoted(t, [{ id, qty: 2 }]), {
      ok: true,
      currency: 'USD',
      total_cents: 2 * price_cents,
      lines: [
        { id, qty: 2, status: 'ok', name, unit_price_cents: price_cents, line_total_cents: 2 * price_cents },
      ],
    })
  },
)
check('default-qty', 'a quantity left out is 1', ['cart.qty', 'qline.required'], async (t) => {
  const { id, price_cents } = t.item('plain')
  const { lines, total_cents } = await quoted(t, [{ id }])
  equal('qty', lines[0].qty, 1)
  equal('total_cents', total_cents, price_cents)
})
check('qty-10', 'ten of an item are taken', ['cart.qty', 'lim.qty', 'quote.total'], async (t) => {
  const { id, price_cents } = t.item('plain')
  equal('total_cents', (await quoted(t, [{ id, qty: 10 }])).total_cents, 10 * price_cents)
})
check('expected-right', 'the right expected price is ok', ['cart.expected', 'qbody.ok'], async (t) => {
  const { id, price_cents } = t.item('plain')
  equal('status', (await quoted(t, [{ id, expected_price_cents: price_cents }])).lines[0].status, 'ok')
})
check(
  'price-changed',
  'another expected price is price_changed, and the current price is returned and counted',
  ['qbody.price-changed', 'qline.status', 'd2.quote-total'],
  async (t) => {
    const { id, price_cents } = t.item('plain')
    const { ok, lines, total_cents } = await quoted(t, [{ id, expected_price_cents: price_cents + 1 }])
    equal('ok', ok, false)
    equal('status', lines[0].status, 'price_changed')
    equal('unit_price_cents', lines[0].unit_price_cents, price_cents)
    equal('total_cents', total_cents, price_cents)
  },
)
check(
  'unknown',
  'an unknown id is sold_out, without name and prices',
  ['qbody.sold-out', 'qline.optional', 'd2.quote-unknown'],
  async (t) => {
    equal('the quote', await quoted(t, [{ id: UNKNOWN }]), {
      ok: false,
      currency: 'USD',
      total_cents: 0,
      lines: [{ id: UNKNOWN, qty: 1, status: 'sold_out' }],
    })
  },
)
check(
  'unsellable',
  'what is not for sale is sold_out, has no line total and adds nothing',
  ['qbody.sold-out', 'qline.optional', 'd2.quote-total'],
  async (t) => {
    const { ok, lines, total_cents } = await quoted(t, [{ id: t.item('unsellable').id }])
    equal('status', lines[0].status, 'sold_out')
    equal('line_total_cents', lines[0].line_total_cents, undefined)
    equal('total_cents', total_cents, 0)
    equal('ok', ok, false)
  },
  { needs: ['item:unsellable'] },
)
check(
  'ended',
  'what was for sale until a moment ago is sold_out',
  ['qbody.sold-out', 'd2.until'],
  async (t) => equal('status', (await quoted(t, [{ id: t.item('ended').id }])).lines[0].status, 'sold_out'),
  { needs: ['item:ended'] },
)
check(
  'sold-out-wins',
  'sold_out wins over price_changed',
  ['d2.quote-both'],
  async (t) => {
    const { id } = t.item('unsellable')
    equal('status', (await quoted(t, [{ id, expected_price_cents: 499_999 }])).lines[0].status, 'sold_out')
  },
  { needs: ['item:unsellable'] },
)
check(
  'mixed',
  'one line that fails makes the quote not ok; the total is of the others',
  ['quote.ok', 'd2.quote-ok', 'd2.quote-total'],
  async (t) => {
    const { id, price_cents } = t.item('plain')
    const { ok, lines, total_cents } = await quoted(t, [{ id: UNKNOWN }, { id, qty: 3 }])
    equal('ok', ok, false)
    equal(
      'statuses',
      lines.map(({ status }: { status: string }) => status),
      ['sold_out', 'ok'],
    )
    equal('total_cents', total_cents, 3 * price_cents)
  },
)
check(
  'line-order',
  'lines come back as they were sent',
  ['quote.lines'],
  async (t) => {
    const ids = [t.item('plain').id, UNKNOWN, t.item('other').id].reverse()
    const { lines } = await quoted(
      t,
      ids.map((id) => ({ id })),
    )
    equal(
      'ids',
      lines.map(({ id }: { id: string }) => id),
      ids,
    )
  },
  { needs: ['item:other'] },
)
check(
  'free',
  'what costs nothing is ok at 0',
  ['d2.price-0', 'item.price'],
  async (t) => {
    const { ok, total_cents } = await quoted(t, [{ id: t.item('free').id, qty: 2 }])
    equal('ok', ok, true)
    equal('total_cents', total_cents, 0)
  },
  { needs: ['item:free'] },
)
check(
  'free-expected',
  'an expected price for what costs nothing is price_changed',
  ['d2.price-0'],
  async (t) =>
    equal(
      'status',
      (await quoted(t, [{ id: t.item('free').id, expected_price_cents: 1 }])).lines[0].status,
      'price_changed',
    ),
  { needs: ['item:free'] },
)
check('25-lines', '25 different items are taken', ['qbody.items', 'lim.cart'], async (t) =>
  equal('lines', (await quoted(t, numbered(25))).lines.length, 25),
)
check(
  'cap',
  'a total over 500000 cents is refused',
  ['qbody.max', 'lim.total', 'd2.quote-cap'],
  async (t) => {
    const reply = await t.post(await t.buyer(), '/quote', {
      items: [{ id: t.item('expensive').id, qty: 10 }],
    })
    reply.refused(400, 'order_total_exceeded')
  },
  { needs: ['item:expensive'] },
)
check(
  'cap-exact',
  'a total of 500000 cents is not',
  ['qbody.max', 'lim.total'],
  async (t) => {
    const { id, price_cents } = t.item('expensive')
    if (500_000 % price_cents !== 0) throw new Unmet('an expensive item whose price divides 500000')
    equal('total_cents', (await quoted(t, [{ id, qty: 500_000 / price_cents }])).total_cents, 500_000)
  },
  { needs: ['item:expensive'] },
)
check('spends-nothing', 'a quote spends nothing', ['qbody.no-spend'], async (t) => {
  const key = await t.buyer()
  const before = await t.balance(key)
  ;(await t.post(key, '/quote', { items: [{ id: t.item('plain').id, qty: 10 }] })).is(200)
  equal('the balance afterwards', await t.balance(key), before)
})
check(
  'no-balance',
  'a quote does not look at the balance',
  ['d2.quote-balance', 'd2.quote-ok'],
  async (t) => {
    const reply = (await t.post(t.key('poor'), '/quote', { items: [{ id: t.item('plain').id }] })).is(200)
    equal('ok', reply.json.ok, true)
  },
  { needs: ['poor'] },
)
check(
  'edges',
  'ids of 17 and 20 digits and expected prices of 1 and 500000 are taken',
  ['cart.id', 'cart.expected', 'lim.expected'],
  async (t) => {
    await quoted(t, [
      { id: '1'.repeat(17), expected_price_cents: 1 },
      { id: '9'.repeat(20), expected_price_cents: 500_000 },
    ])
  },
)

check(
  'decimal-form',
  'a quantity written 2.0 is 2, and an expected price may be written like that too',
  ['cart.qty', 'cart.expected', 'd1.whole-numbers'],
  async (t) => {
    const { id, price_cents } = t.item('plain')
    const reply = await t.post(
      await t.buyer(),
      '/quote',
      `{"items":[{"id":"${id}","qty":2.0,"expected_price_cents":${price_cents}.00}]}`,
    )
    const { ok, total_cents } = reply.is(200).json
    equal('ok', ok, true)
    equal('total_cents', total_cents, 2 * price_cents)
  },
)

/** Carts that break one rule each; orders are held to the same. */
export const BROKEN_CARTS: [slug: string, what: string, proves: string[], items: (id: string) => string][] = [
  ['no-lines', 'an empty cart', ['qbody.items', 'obody.items', 'lim.cart'], () => '[]'],
  ['26-lines', '26 items', ['qbody.items', 'obody.items', 'lim.cart'], () => JSON.stringify(numbered(26))],
  [
    'same-twice',
    'the same item twice',
    ['qbody.items', 'obody.items', 'lim.cart'],
    (id) => `[{"id":"${id}"},{"id":"${id}"}]`,
  ],
  ['not-a-list', 'items that are no list', ['qbody.items', 'obody.items'], (id) => `{"id":"${id}"}`],
  ['null-items', 'items that are null', ['qbody.items', 'obody.items'], () => 'null'],
  ['bare-ids', 'lines that are bare ids', ['qbody.items', 'obody.items'], (id) => `["${id}"]`],
  ['qty-0', 'a quantity of 0', ['cart.qty', 'lim.qty'], (id) => `[{"id":"${id}","qty":0}]`],
  ['qty-11', 'a quantity of 11', ['cart.qty', 'lim.qty'], (id) => `[{"id":"${id}","qty":11}]`],
  ['qty-negative', 'a negative quantity', ['cart.qty', 'lim.qty'], (id) => `[{"id":"${id}","qty":-1}]`],
  ['qty-half', 'a quantity of 1.5', ['cart.qty'], (id) => `[{"id":"${id}","qty":1.5}]`],
  [
    'qty-almost-1',
    'a quantity a little more than 1',
    ['d1.json', 'cart.qty'],
    (id) => `[{"id":"${id}","qty":1.0000000000000000001}]`,
  ],
  ['qty-exponent', 'a quantity written 1e0', ['d1.json', 'cart.qty'], (id) => `[{"id":"${id}","qty":1e0}]`],
  ['qty-text', 'a quantity in quotes', ['cart.qty'], (id) => `[{"id":"${id}","qty":"1"}]`],
  ['qty-null', 'a quantity of null', ['cart.qty'], (id) => `[{"id":"${id}","qty":null}]`],
  [
    'expected-0',
    'an expected price of 0',
    ['cart.expected', 'lim.expected'],
    (id) => `[{"id":"${id}","expected_price_cents":0}]`,
  ],
  [
    'expected-500001',
    'an expected price of 500001',
    ['cart.expected', 'lim.expected'],
    (id) => `[{"id":"${id}","expected_price_cents":500001}]`,
  ],
  [
    'expected-text',
    'an expected price in quotes',
    ['cart.expected'],
    (id) => `[{"id":"${id}","expected_price_cents":"100"}]`,
  ],
  [
    'expected-null',
    'an expected price of null',
    ['cart.expected'],
    (id) => `[{"id":"${id}","expected_price_cents":null}]`,
  ],
  ['id-missing', 'a line without an id', ['cart.id'], () => '[{"qty":1}]'],
  ['id-number', 'an id that is a number', ['cart.id'], () => '[{"id":12345678901234567}]'],
  ['id-16', 'an id of 16 digits', ['cart.id', 'item.id'], () => `[{"id":"${'1'.repeat(16)}"}]`],
  ['id-21', 'an id of 21 digits', ['cart.id', 'item.id'], () => `[{"id":"${'1'.repeat(21)}"}]`],
  ['id-letters', 'an id with a letter', ['cart.id', 'item.id'], () => '[{"id":"1234567890123456a"}]'],
  ['id-newline', 'an id with a newline at its end', ['cart.id'], () => `[{"id":"${'1'.repeat(17)}\\n"}]`],
  ['id-other-digits', 'an id in digits of another script', ['cart.id'], () => `[{"id":"${'١'.repeat(17)}"}]`],
  [
    'extra',
    'a line with another property',
    ['cart.closed', 'what.no-recipient'],
    (id) => `[{"id":"${id}","recipient":"someone"}]`,
  ],
]
for (const [slug, what, proves, items] of BROKEN_CARTS) {
  check(
    `refuses-${slug}`,
    `${what} is refused`,
    [...proves.filter((one) => !one.startsWith('obody')), 'err.400'],
    async (t) =>
      (await t.post(await t.buyer(), '/quote', `{"items":${items(t.item('plain').id)}}`)).refused(
        400,
        'invalid_request',
      ),
  )
}
const BODIES: [slug: string, what: string, proves: string[], body: (cart: string) => string | Buffer][] = [
  [
    'extra-root',
    'another property beside items',
    ['qbody.closed'],
    (cart) => cart.replace(/}$/, ',"note":"x"}'),
  ],
  [
    'idempotency-key',
    'an idempotency_key, which belongs to orders',
    ['qbody.closed'],
    (cart) => cart.replace(/}$/, ',"idempotency_key":"12345678"}'),
  ],
  ['no-items', 'a body without items', ['qbody.items'], () => '{}'],
  ['list', 'a list instead of an object', ['d1.empty-body'], () => '[]'],
  ['empty', 'no body at all', ['d1.empty-body'], () => ''],
  ['null', 'null instead of an object', ['d1.empty-body'], () => 'null'],
  ['text', 'text that is not JSON', ['ep.json', 'err.400'], () => 'items=1'],
  ['tail', 'something behind the object', ['d1.json'], (cart) => `${cart}x`],
  ['twice', 'a name twice in an object', ['d1.json'], (cart) => cart.replace('{', '{"items":[],')],
  ['bom', 'a byte order mark', ['d1.json'], (cart) => `\ufeff${cart}`],
  ['deep', 'nesting without end', ['d1.json'], () => `{"items":${'['.repeat(50)}${']'.repeat(50)}}`],
  ['comma', 'a comma too many', ['d1.json'], (cart) => cart.replace(/}$/, ',}')],
  ['utf16', 'UTF-16', ['d1.json'], (cart) => Buffer.from(cart, 'utf16le')],
]
for (const [slug, what, proves, body] of BODIES) {
  check(`body-${slug}`, `${what} is refused`, [...proves, 'err.400'], async (t) =>
    (await t.post(await t.buyer(), '/quote', body(`{"items":[{"id":"${t.item('plain').id}"}]}`))).refused(
      400,
      'invalid_request',
    ),
  )
}

function numbered(count: number) {
  return Array.from({ length: count }, (_, n) => ({ id: `8${String(n).padStart(18, '0')}` }))
}
