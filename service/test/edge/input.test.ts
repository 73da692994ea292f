import { BASE_PATH, type Route, type RouteName, routeNamed } from '@shopwire/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { echoes } from '../../testing/echo.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const ID = '12345678901234567'
const OTHER = '12345678901234568'
const KEY = '"idempotency_key":"order-0001"'

let shop: Shop
const echo = echoes('postQuote', 'postOrders', 'postWebhook', 'postWebhookTest', 'getCatalogue', 'getOrders')
beforeAll(async () => {
  shop = await openShop({ endpoints: echo.endpoints, limits: { requestsMax: 100_000, ordersMax: 100_000 } })
})
afterAll(() => shop.close())
beforeEach(() => {
  echo.calls.length = 0
})

const post = (name: RouteName, body: string | Uint8Array) =>
  shop.call('POST', BASE_PATH + (routeNamed(name) as Route).path, { body })

/** The refusal's message, after checking that it is a 400 and that no endpoint was called. */
async function complaint(name: RouteName, body: string | Uint8Array): Promise<string> {
  const { status, body: answer } = await post(name, body)
  expect([status, answer.error?.type, echo.calls]).toEqual([400, 'invalid_request', []])
  return answer.error.message
}

const cart = (line: string) => `{"items":[${line}]}`
const line = (id: string, more = '') => `{"id":"${id}"${more}}`

describe('an allowed cart reaches the endpoint as it was sent', () => {
  test.each([
    cart(line(ID)),
    cart(line(ID, ',"qty":1')),
    cart(line(ID, ',"qty":10,"expected_price_cents":500000')),
    cart(line(ID, ',"expected_price_cents":1')),
    cart(line('0'.repeat(17))),
    cart(line('9'.repeat(20))),
    cart([line(ID), line(`0${ID}`), line(OTHER)].join()),
    cart(Array.from({ length: 25 }, (_, n) => line(String(n).padStart(17, '0'))).join()),
    ` \n${cart(line(ID))}\t\r\n`,
  ])('%s', async (body) => {
    const { status } = await post('postQuote', body)
    expect(status).toBe(200)
    // No default is filled in and nothing is converted on the way.
    expect(JSON.stringify(echo.calls[0]?.body)).toBe(JSON.stringify(JSON.parse(body)))
  })
})

describe('threats 39 to 45: a body that breaks a rule is refused, and the message names the problem', () => {
  const cases: [row: number, what: string, body: string | Uint8Array, named: RegExp][] = [
    [39, 'qty twice', cart(line(ID, ',"qty":1,"qty":10')), /"qty" appears twice/],
    [39, 'items twice', `{"items":[${line(ID)}],"items":[]}`, /"items" appears twice/],
    [
      39,
      'a name twice in two spellings',
      `{"items":[],"\\u0069tems":[${line(ID)}]}`,
      /"items" appears twice/,
    ],
    [40, '__proto__', `{"items":[${line(ID)}],"__proto__":{"items":[]}}`, /"__proto__"/],
    [40, '__proto__ in a line', cart(line(ID, ',"__proto__":{"qty":5}')), /items\[0\].*"__proto__"/],
    [40, 'constructor', `{"items":[${line(ID)}],"constructor":{"prototype":{"qty":1}}}`, /"constructor"/],
    [40, 'items inherited', `{"__proto__":{"items":[${line(ID)}]}}`, /"items"|"__proto__"/],
    [40, 'an extra property', `{"items":[${line(ID)}],"note":"x"}`, /"note"/],
    [40, 'an extra property in a line', cart(line(ID, ',"price":1')), /items\[0\].*"price"/],
    [40, 'another case', `{"Items":[${line(ID)}]}`, /"items"|"Items"/],
    ...[
      '1.5',
      '1e0',
      '1.0e0',
      '1E0',
      '-0',
      '1E400',
      '-1E400',
      '10.0000000000000000001',
      '01',
      '0.5',
      '9007199254740993',
    ].map((qty): [number, string, string, RegExp] => [
      41,
      `qty ${qty}`,
      cart(line(ID, `,"qty":${qty}`)),
      /whole number in plain form/,
    ]),
    ...['"1"', 'true', 'null', '[]', '[1]', '{}', '""'].map((qty): [number, string, string, RegExp] => [
      41,
      `qty ${qty}`,
      cart(line(ID, `,"qty":${qty}`)),
      /items\[0\]\.qty must be integer/,
    ]),
    ...['0', '-1', '11', '9007199254740991'].map((qty): [number, string, string, RegExp] => [
      41,
      `qty ${qty}`,
      cart(line(ID, `,"qty":${qty}`)),
      /items\[0\]\.qty must be [<>]= \d+/,
    ]),
    ...['0', '500001', '-1'].map((price): [number, string, string, RegExp] => [
      46,
      `expected price ${price}`,
      cart(line(ID, `,"expected_price_cents":${price}`)),
      /items\[0\]\.expected_price_cents must be [<>]= \d+/,
    ]),
    [
      46,
      'expected price as text',
      cart(line(ID, ',"expected_price_cents":"100"')),
      /expected_price_cents must be integer/,
    ],
    [42, 'id as a short number', '{"items":[{"id":12345}]}', /items\[0\]\.id must be string/],
    [
      42,
      'id as a number',
      '{"items":[{"id":12345678901234567}]}',
      /too many digits. An id is written in quotes/,
    ],
    [42, 'no id', '{"items":[{}]}', /items\[0\].*"id"/],
    [42, 'id null', '{"items":[{"id":null}]}', /items\[0\]\.id must be string/],
    ...[
      ['16 digits', '1'.repeat(16)],
      ['21 digits', '1'.repeat(21)],
      ['a final newline', `${ID}\\n`],
      ['a leading newline', `\\n${ID}`],
      ['a newline inside', `${ID}\\n${ID}`],
      ['full-width digits', '１'.repeat(17)],
      ['Arabic digits', '١'.repeat(17)],
      ['a sign', `+${ID}`],
      ['a space', ` ${ID}`],
      ['letters', 'abcdefghijklmnopq'],
      ['nothing', ''],
    ].map(([what = '', id = '']): [number, string, string, RegExp] => [
      42,
      `id: ${what}`,
      cart(`{"id":"${id}"}`),
      /items\[0\]\.id must match pattern/,
    ]),
    [
      43,
      'invalid UTF-8',
      Buffer.concat([Buffer.from('{"items":"'), Buffer.from([0xff]), Buffer.from('"}')]),
      /UTF-8/,
    ],
    [43, 'a byte order mark', `\ufeff${cart(line(ID))}`, /byte order mark/],
    [43, 'half a surrogate pair', '{"items":"\\ud800"}', /surrogate/],
    [43, 'NUL', '{"items":"\\u0000"}', /U\+0000/],
    [43, 'a raw NUL', '{"items":"\0"}', /control/],
    [44, 'nine levels', '[[[[[[[[[1]]]]]]]]]', /8 levels/],
    [44, 'eight levels', '[[[[[[[[1]]]]]]]]', /The body must be object/],
    [44, '8,191 levels', `${'['.repeat(8191)}${']'.repeat(8191)}`, /8 levels/],
    [45, 'an id twice', cart([line(ID), line(OTHER), line(ID)].join()), new RegExp(`${ID} appears twice`)],
    [
      45,
      'an id twice, with other quantities',
      cart([line(ID, ',"qty":1'), line(ID, ',"qty":2')].join()),
      new RegExp(`${ID} appears twice`),
    ],
    [45, 'no line', '{"items":[]}', /items must NOT have fewer than 1/],
    [
      45,
      '26 lines',
      cart(Array.from({ length: 26 }, (_, n) => line(String(n).padStart(17, '0'))).join()),
      /items must NOT have more than 25/,
    ],
    [45, 'no items', '{}', /"items"/],
    [45, 'items null', '{"items":null}', /items must be array/],
    [45, 'items an object', `{"items":{"0":${line(ID)}}}`, /items must be array/],
    [45, 'a line that is text', '{"items":["x"]}', /items\[0\] must be object/],
    [45, 'a line that is null', '{"items":[null]}', /items\[0\] must be object/],
    ...['[]', 'null', '1', '"x"', 'true'].map((body): [number, string, string, RegExp] => [
      45,
      `the body ${body}`,
      body,
      /The body must be object/,
    ]),
    [45, 'text after the body', `${cart(line(ID))}x`, /not JSON/],
    [45, 'two bodies', `${cart(line(ID))}${cart(line(ID))}`, /not JSON/],
    [45, 'a form', 'items=1', /not JSON/],
  ]

  test.each(cases)('threat %i: %s', async (_threat, _what, body, named) => {
    expect(await complaint('postQuote', body)).toMatch(named)
  })

  test('an empty body is reported as empty', async () => {
    for (const name of ['postQuote', 'postOrders', 'postWebhook', 'postWebhookTest'] as const) {
      expect(await complaint(name, '')).toMatch(/needs a JSON body/)
    }
  })

  test('messages are one printable sentence, whatever was sent', async () => {
    const nasty = `{"${'\\u001b[31m'.repeat(10)}${'é'.repeat(500)}":1}`
    const message = await complaint('postQuote', nasty)
    expect(message.length).toBeLessThan(200)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks that there are none
    expect(message).not.toMatch(/[\x00-\x1f\x7f]/)
  })
})

describe('idempotency keys', () => {
  const order = (key: string) => `{${`"items":[${line(ID)}]`},"idempotency_key":${key}}`

  test.each(['"a2345678"', `"${'a'.repeat(100)}"`, '"A.z_:-09"', '"\\u0061bcdefgh"'])(
    '%s is accepted',
    async (key) => {
      expect((await post('postOrders', order(key))).status).toBe(200)
    },
  )

  test.each([
    '"a234567"',
    `"${'a'.repeat(101)}"`,
    '"with space"',
    '"with/slash"',
    '"12345678\\n"',
    '"ünicode-key"',
    '12345678',
    'null',
    '""',
    '["a2345678"]',
  ])('%s is refused', async (key) => {
    expect(await complaint('postOrders', order(key))).toContain('idempotency_key')
  })

  test('is required for orders, and only there', async () => {
    expect(await complaint('postOrders', cart(line(ID)))).toContain('"idempotency_key"')
    expect(await complaint('postQuote', `{"items":[${line(ID)}],${KEY}}`)).toContain('"idempotency_key"')
  })
})

describe('webhook bodies', () => {
  test.each(['{"url":null}', '{"url":"https://example.com/hook"}', '{"url":"https://é.example/"}'])(
    '%s is accepted',
    async (body) => {
      expect((await post('postWebhook', body)).status).toBe(200)
    },
  )

  test.each([
    ['{}', /"url"/],
    ['{"url":1}', /url/],
    ['{"url":""}', /url/],
    ['{"url":"http://example.com"}', /url/],
    ['{"url":"HTTPS://example.com"}', /url/],
    ['{"url":" https://example.com"}', /url/],
    [`{"url":"https://${'x'.repeat(2041)}"}`, /url/],
    ['{"url":null,"secret":"x"}', /"secret"/],
  ])('%s is refused', async (body, named) => {
    expect(await complaint('postWebhook', body)).toMatch(named)
  })

  test('a test accepts {} and nothing else', async () => {
    expect((await post('postWebhookTest', '{}')).status).toBe(200)
    expect((await post('postWebhookTest', ' { } ')).status).toBe(200)
    echo.calls.length = 0
    for (const body of ['[]', 'null', '{"a":1}', '""']) await complaint('postWebhookTest', body)
  })
})

describe('query parameters', () => {
  const catalogue = (query: string) => shop.call('GET', `/v1/catalogue${query}`)
  const heardFor = async (query: string) => {
    const { status, body } = await catalogue(query)
    expect(status).toBe(200)
    return body.query
  }
  const DEFAULTS = { limit: 100, offset: 0 }

  test.each([
    '',
    '?',
    '?&',
    '?&&',
    '?x=1',
    '?limit=100&',
    '?Limit=5',
    '?limit[]=5',
    '?__proto__=1',
    '?constructor=1&toString=2',
  ])('"%s": defaults apply, and unknown parameters are ignored', async (query) => {
    expect(await heardFor(query)).toEqual(DEFAULTS)
  })

  test('orders have other defaults', async () => {
    const { body } = await shop.call('GET', '/v1/orders')
    expect(body.query).toEqual({ limit: 25, offset: 0 })
  })

  test.each([
    ['?limit=1&offset=1000000', { limit: 1, offset: 1_000_000 }],
    ['?limit=2000', { limit: 2_000, offset: 0 }],
    ['?%6cimit=%31%30', { limit: 10, offset: 0 }],
    ['?search=a+b', { ...DEFAULTS, search: 'a b' }],
    ['?search=a%2Bb%26c%3Dd', { ...DEFAULTS, search: 'a+b&c=d' }],
    ['?search=%2541', { ...DEFAULTS, search: '%41' }],
    ['?search=a=b', { ...DEFAULTS, search: 'a=b' }],
    ['?search=', { ...DEFAULTS, search: '' }],
    ['?search', { ...DEFAULTS, search: '' }],
    ['?search=e%CC%81', { ...DEFAULTS, search: 'é' }],
    ['?search=%F0%9F%98%80', { ...DEFAULTS, search: '😀' }],
    ['?search=a,b;c', { ...DEFAULTS, search: 'a,b;c' }],
    ['?category=x&type=bundle', { ...DEFAULTS, category: 'x', type: 'bundle' }],
  ])('%s', async (query, meant) => {
    expect(await heardFor(query)).toEqual(meant)
  })

  test.each([
    ...[
      '05',
      '+5',
      '1e2',
      '',
      '0',
      '2001',
      '-1',
      '5.0',
      '0x5',
      ' 5',
      '5 ',
      '%205',
      '５',
      '١',
      '99999999999999999999',
      'NaN',
      '1_0',
      '00',
      'null',
      '5,6',
    ].map((limit): [string, RegExp] => [`?limit=${encodeURI(limit).replaceAll('%25', '%')}`, /limit/]),
    ...['-1', '1000001', '01', '', '1.5'].map((offset): [string, RegExp] => [`?offset=${offset}`, /offset/]),
    ['?limit', /limit/],
    ['?limit=1&limit=1', /"limit" appears twice/],
    ['?limit=1&limit=2', /"limit" appears twice/],
    ['?limit=1&%6cimit=2', /"limit" appears twice/],
    ['?search=a&search=a', /"search" appears twice/],
    ['?x=1&x=2', /"x" appears twice/],
    ['?search=%', /percent-encoded UTF-8/],
    ['?search=%4', /percent-encoded UTF-8/],
    ['?search=%zz', /percent-encoded UTF-8/],
    ['?search=%ff', /percent-encoded UTF-8/],
    ['?search=%c0%af', /percent-encoded UTF-8/],
    ['?search=%ed%a0%80', /percent-encoded UTF-8/],
    ['?search=%00', /percent-encoded UTF-8/],
    ['?%ff=1', /percent-encoded UTF-8/],
    ['?x=%ff', /percent-encoded UTF-8/],
    ['?type=', /type must be one of/],
    ['?type=Bundle', /type must be one of/],
    ['?type=gift', /type must be one of/],
    ['?type=bundle&type=frame', /"type" appears twice/],
  ])('%s: 400, and the message names the parameter', async (query, named) => {
    const { status, body } = await catalogue(query)
    expect([status, body.error?.type]).toEqual([400, 'invalid_request'])
    expect(body.error.message).toMatch(named)
    expect(echo.calls).toEqual([])
  })

  test.each(['search', 'category'])('%s accepts 100 code points of any size', async (name) => {
    for (const character of ['a', 'é', '😀']) {
      const [fits, exceeds] = [100, 101].map((count) => encodeURIComponent(character.repeat(count)))
      expect((await catalogue(`?${name}=${fits}`)).status).toBe(200)
      const { status, body } = await catalogue(`?${name}=${exceeds}`)
      expect([status, body.error?.message]).toEqual([400, expect.stringContaining(name)])
    }
  })

  test('orders refuse a limit over 100', async () => {
    expect((await shop.call('GET', '/v1/orders?limit=100')).status).toBe(200)
    expect((await shop.call('GET', '/v1/orders?limit=101')).status).toBe(400)
  })

  test('the query of a POST is signed and checked, and otherwise ignored', async () => {
    const quote = (query: string) => shop.call('POST', `/v1/quote${query}`, { body: cart(line(ID)) })
    expect((await quote('?limit=1')).status).toBe(200)
    expect((await quote('?a=1&a=1')).status).toBe(400)
    expect((await quote('?a=%ff')).status).toBe(400)
  })
})
