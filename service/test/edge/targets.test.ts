import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { echoes } from '../../testing/echo.ts'
import { ask, converse, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

const CART = '{"items":[{"id":"12345678901234567"}]}'

let shop: Shop
const echo = echoes('getCatalogue', 'getCatalogueItem', 'postQuote')
beforeAll(async () => {
  shop = await openShop({ endpoints: echo.endpoints, limits: { requestsMax: 10_000 } })
})
afterAll(() => shop.close())
beforeEach(() => {
  echo.calls.length = 0
})

/** A request whose signature is valid for exactly the target that is sent. */
const signed = (target: string, method = 'GET') =>
  requestBytes(method, target, signedHeaders(shop.key, method, target))

describe('threat 26: a path has one spelling', () => {
  test.each([
    '/v1//ping',
    '//v1/ping',
    '/v1/./ping',
    '/v1/../v1/ping',
    '/v1/ping/',
    '/v1/ping/.',
    '/v1/%70ing',
    '/%76%31/ping',
    '/v1%2fping',
    '/v1/ping%00',
    '/v1/ping%0a',
    '/v1/ping;x',
    '/v1/ping;x=1',
    '/v1/PING',
    '/V1/ping',
    '/v1/ping%20',
    '/v1\\ping',
    '/v1/ping&a=1',
    '/v1',
    '/v1/',
    '/',
    '//',
    '/ping',
    '/v2/ping',
    '/v1/getPing',
    '/getPing',
    '/-',
    '/v1/catalogue/',
    '/v1/catalogue/1/',
    '/v1/catalogue/1/2',
    '/v1/catalogue//1',
    '/v1/constructor',
    '/v1/__proto__',
    '/v1/*',
  ])('%s is another path: 404, even with a valid signature', async (target) => {
    expectRefusal(await ask(shop.port, signed(target)), 'not_found')
  })

  test.each([
    '/v1/ping?',
    '/v1/ping?a=1',
    '/v1/ping?a=%31&b=+&c',
    '/v1/ping?//../%70ing',
    '/v1/ping??',
    '/v1/ping?/v1/balance',
  ])('%s is served when signed with its query exactly as sent', async (target) => {
    expect((await ask(shop.port, signed(target))).status).toBe(200)
  })

  test.each([
    ['/v1/ping?', '/v1/ping'],
    ['/v1/ping', '/v1/ping?'],
    ['/v1/ping?a=%31', '/v1/ping?a=1'],
    ['/v1/ping?a=%2f', '/v1/ping?a=%2F'],
    ['/v1/ping?a=1&b=2', '/v1/ping?b=2&a=1'],
    ['/v1/ping?a=+', '/v1/ping?a=%20'],
    ['/v1/ping', '/ping'],
  ])('%s signed as %s: 401', async (sent, signedTarget) => {
    const headers = signedHeaders(shop.key, 'GET', signedTarget)
    expectRefusal(await ask(shop.port, requestBytes('GET', sent, headers)), 'authentication_failed')
  })

  test.each(['%41', '..', '%2e%2e', 'a;b', 'A%2fB', '1%00', '~', '{id}', ':id', '*', '__proto__'])(
    'an id in the path reaches the endpoint as it was sent: %s',
    async (id) => {
      const answer = await ask(shop.port, signed(`/v1/catalogue/${id}`))
      expect(JSON.parse(answer.body)).toEqual({ name: 'getCatalogueItem', id })
    },
  )

  test.each(['/v1/ping?a=1&a=1', '/v1/ping?a&a', '/v1/ping?a=1&%61=2', '/v1/status?a=1&a=1'])(
    '%s repeats a parameter: 400 on every route',
    async (target) => {
      const message = expectRefusal(await ask(shop.port, signed(target)), 'invalid_request')
      expect(message).toContain('"a"')
    },
  )
})

describe('threat 27: a target is a path, and the protocol cannot be changed', () => {
  test.each([
    ['absolute form', 'http://shop/v1/ping'],
    ['absolute form, no path', 'http://shop'],
    ['absolute form, other host', 'https://elsewhere.example/v1/ping'],
    ['fragment', '/v1/ping#top'],
    ['fragment in the query', '/v1/ping?a=1#top'],
    ['nothing but a fragment', '#'],
    ['asterisk', '*'],
    ['no leading slash', 'v1/ping'],
    ['UTF-8 bytes', Buffer.from('/v1/pïng').toString('latin1')],
    ['DEL', '/v1/ping\x7f'],
    ['control character', '/v1/pi\x01ng'],
    ['NUL', '/v1/ping\0'],
    ['tab', '/v1/ping\t'],
    ['authority', 'shop:80'],
  ])('%s: 400, and the connection ends', async (_what, target) => {
    const answers = await converse(shop.port, signed(target))
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], 'invalid_request')
  })

  test.each(['shop:443', '127.0.0.1:80', '/v1/ping', 'http://shop/'])(
    'CONNECT %s opens no tunnel: 400, and the connection ends',
    async (target) => {
      const answers = await converse(
        shop.port,
        `CONNECT ${target} HTTP/1.1\r\nHost: shop\r\n\r\nGET /v1/status`,
      )
      expect(answers).toHaveLength(1)
      expectRefusal(answers[0], 'invalid_request')
    },
  )

  test.each([
    ['h2c', { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' }],
    ['websocket', { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Key': 'x' }],
    ['Upgrade without Connection', { Upgrade: 'h2c' }],
    ['an empty Upgrade', { Upgrade: '' }],
  ])('an upgrade to %s is refused: 400, and the connection ends', async (_what, headers) => {
    const answers = await converse(
      shop.port,
      requestBytes('GET', '/v1/ping', { ...signedHeaders(shop.key, 'GET', '/v1/ping'), ...headers }),
    )
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], 'invalid_request')
  })

  test('the preface of HTTP/2 is refused in HTTP/1.1, as JSON', async () => {
    const answers = await converse(shop.port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], 'invalid_request')
  })
})

describe('threat 29: a request that a proxy rewrote fails its signature', () => {
  const quoteHeaders = () => ({
    ...signedHeaders(shop.key, 'POST', '/v1/quote', Buffer.from(CART)),
    'Content-Length': String(Buffer.byteLength(CART)),
  })

  test('the request as it was signed is accepted', async () => {
    const answer = await ask(shop.port, requestBytes('POST', '/v1/quote', quoteHeaders(), CART))
    expect([answer.status, echo.calls.length]).toEqual([200, 1])
  })

  test.each([
    ['spaces', CART.replace(':', ': ')],
    ['a final newline', `${CART}\n`],
    ['an escape', CART.replace('items', '\\u0069tems')],
    ['another id', CART.replace('7"', '8"')],
    ['a byte order mark', `\ufeff${CART}`],
    ['its content removed', ''],
  ])('a body rewritten with %s: 401', async (_what, body) => {
    const headers = { ...quoteHeaders(), 'Content-Length': String(Buffer.byteLength(body)) }
    expectRefusal(
      await ask(shop.port, requestBytes('POST', '/v1/quote', headers, body)),
      'authentication_failed',
    )
    expect(echo.calls).toEqual([])
  })

  test.each([
    ['the prefix added', '/ping', '/v1/ping'],
    ['the query sorted', '/v1/catalogue?offset=0&limit=5', '/v1/catalogue?limit=5&offset=0'],
    ['the query encoded again', '/v1/catalogue?search=a%20b', '/v1/catalogue?search=a+b'],
    ['a parameter added', '/v1/catalogue', '/v1/catalogue?utm=1'],
    ['another route', '/v1/catalogue', '/v1/ping'],
  ])('a target rewritten with %s: 401', async (_what, signedTarget, sent) => {
    const headers = signedHeaders(shop.key, 'GET', signedTarget)
    expectRefusal(await ask(shop.port, requestBytes('GET', sent, headers)), 'authentication_failed')
    expect(echo.calls).toEqual([])
  })

  test('another method: 401', async () => {
    const headers = signedHeaders(shop.key, 'POST', '/v1/catalogue')
    expectRefusal(
      await ask(shop.port, requestBytes('GET', '/v1/catalogue', headers)),
      'authentication_failed',
    )
  })

  test('the same bytes in chunks are the same body', async () => {
    const { 'Content-Length': _length, ...headers } = quoteHeaders()
    const chunks = `5\r\n${CART.slice(0, 5)}\r\n${(CART.length - 5).toString(16)}\r\n${CART.slice(5)}\r\n0\r\n\r\n`
    const answer = await ask(
      shop.port,
      requestBytes('POST', '/v1/quote', { ...headers, 'Transfer-Encoding': 'chunked' }, chunks),
    )
    expect(answer.status).toBe(200)
  })
})
