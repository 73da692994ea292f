import { randomBytes } from 'node:crypto'
import { METHODS } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { echoes } from '../../testing/echo.ts'
import { ask, chunked, converse, type HeaderList, openLine, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal, faultsOf, typeOf } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

const CART = '{"items":[{"id":"12345678901234567"}]}'

let shop: Shop
const echo = echoes('postQuote', 'postWebhookTest', 'deleteWebhook')
beforeAll(async () => {
  shop = await openShop({ endpoints: echo.endpoints, limits: { requestsMax: 10_000 } })
})
afterAll(() => shop.close())
beforeEach(() => {
  echo.calls.length = 0
})

const signature = (method: string, target: string, body = '') =>
  Object.entries(signedHeaders(shop.key, method, target, Buffer.from(body)))

/** A signed cart with framing headers chosen by the test. */
const quote = (framing: HeaderList, body: string | Uint8Array, signedBody = CART) =>
  requestBytes(
    'POST',
    '/v1/quote',
    [
      ...signature('POST', '/v1/quote', signedBody),
      ...((Array.isArray(framing) ? framing : Object.entries(framing)) as [string, string][]),
    ],
    body,
  )

/** A signed request whose execution can be detected. */
const second = () =>
  requestBytes('DELETE', '/v1/webhook', Object.fromEntries(signature('DELETE', '/v1/webhook')))
const secondRan = () => echo.calls.some(({ name }) => name === 'deleteWebhook')

const length = { 'Content-Length': String(CART.length) }

/** Also detects execution after its test has checked: an executed request has spent its nonce. */
function expectNoneAdmitted() {
  let before: number
  const nonces = async () =>
    (await shop.database.owner.one<{ nonces: number }>(sql`select count(*) as nonces from spent_nonces`))
      .nonces
  beforeAll(async () => {
    before = await nonces()
  })
  afterAll(async () => {
    expect(await nonces()).toBe(before)
  })
}

describe('threat 28: an ambiguous message is refused, and nothing after it is read as a request', () => {
  expectNoneAdmitted()
  const CRLF = '\r\n'
  const cases: [what: string, first: () => Uint8Array][] = [
    [
      'Transfer-Encoding and Content-Length',
      () => quote({ 'Transfer-Encoding': 'chunked', ...length }, chunked(CART)),
    ],
    [
      'Content-Length and Transfer-Encoding',
      () => quote({ ...length, 'Transfer-Encoding': 'chunked' }, chunked(CART)),
    ],
    [
      'Content-Length of 0 and Transfer-Encoding',
      () => quote({ 'Content-Length': '0', 'Transfer-Encoding': 'chunked' }, chunked(CART)),
    ],
    [
      'Transfer-Encoding: gzip, chunked',
      () => quote({ 'Transfer-Encoding': 'gzip, chunked' }, chunked(CART)),
    ],
    [
      'Transfer-Encoding: chunked, chunked',
      () => quote({ 'Transfer-Encoding': 'chunked, chunked' }, chunked(CART)),
    ],
    [
      'Transfer-Encoding: chunked, identity',
      () => quote({ 'Transfer-Encoding': 'chunked, identity' }, chunked(CART)),
    ],
    ['Transfer-Encoding: identity', () => quote({ 'Transfer-Encoding': 'identity' }, CART)],
    ['Transfer-Encoding: xchunked', () => quote({ 'Transfer-Encoding': 'xchunked' }, chunked(CART))],
    ['Transfer-Encoding: chunked;x', () => quote({ 'Transfer-Encoding': 'chunked;x' }, chunked(CART))],
    ['an empty Transfer-Encoding', () => quote({ 'Transfer-Encoding': '' }, CART)],
    [
      'Transfer-Encoding twice',
      () =>
        quote(
          [
            ['Transfer-Encoding', 'chunked'],
            ['Transfer-Encoding', 'chunked'],
          ],
          chunked(CART),
        ),
    ],
    [
      'Transfer-Encoding split over two headers',
      () =>
        quote(
          [
            ['Transfer-Encoding', 'gzip'],
            ['Transfer-Encoding', 'chunked'],
          ],
          chunked(CART),
        ),
    ],
    [
      'Transfer-Encoding with a space before the colon',
      () => quote({ 'Transfer-Encoding ': 'chunked' }, chunked(CART)),
    ],
    [
      'Transfer-Encoding in HTTP/1.0',
      () =>
        requestBytes(
          'POST',
          '/v1/quote',
          [
            ...signature('POST', '/v1/quote', CART),
            ['Transfer-Encoding', 'chunked'],
            ['Connection', 'keep-alive'],
          ],
          chunked(CART),
          'HTTP/1.0',
        ),
    ],
    [
      'Content-Length twice, equal',
      () => quote([...Object.entries(length), ...Object.entries(length)], CART),
    ],
    [
      'Content-Length twice, different',
      () => quote([['Content-Length', '5'], ...Object.entries(length)], CART),
    ],
    ['Content-Length as a list', () => quote({ 'Content-Length': `${CART.length}, ${CART.length}` }, CART)],
    ['Content-Length with a sign', () => quote({ 'Content-Length': `+${CART.length}` }, CART)],
    ['a negative Content-Length', () => quote({ 'Content-Length': '-1' }, CART)],
    ['a hexadecimal Content-Length', () => quote({ 'Content-Length': '0x10' }, CART)],
    ['Content-Length with a space inside', () => quote({ 'Content-Length': '3 8' }, CART)],
    ['Content-Length beyond 64 bits', () => quote({ 'Content-Length': '18446744073709551616' }, CART)],
    ['an empty Content-Length', () => quote({ 'Content-Length': '' }, CART)],
    ['a folded header', () => quote({ 'X-Long': `a${CRLF} b`, ...length }, CART)],
    ['a folded Transfer-Encoding', () => quote({ 'Transfer-Encoding': `${CRLF} chunked` }, chunked(CART))],
    [
      'a bare LF after a header',
      () =>
        Buffer.from(
          quote(length, CART).toString('latin1').replace('Host: shop\r\n', 'Host: shop\n'),
          'latin1',
        ),
    ],
    [
      'a bare LF after the request line',
      () =>
        Buffer.from(quote(length, CART).toString('latin1').replace('HTTP/1.1\r\n', 'HTTP/1.1\n'), 'latin1'),
    ],
    ['a bare CR in a header', () => quote({ 'X-Odd': 'a\rb', ...length }, CART)],
    ['NUL in a header', () => quote({ 'X-Odd': 'a\0b', ...length }, CART)],
    ['NUL in a header name', () => quote({ 'X-O\0dd': 'a', ...length }, CART)],
    [
      'a header without a colon',
      () =>
        quote({ ...length }, CART)
          .toString('latin1')
          .replace('Host: shop', 'Host: shop\r\nNoColon') as unknown as Uint8Array,
    ],
    ['a header without a name', () => quote({ '': 'x', ...length }, CART)],
    [
      'a chunk length that is no number',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `xyz\r\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'a chunk length with a prefix',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `0x26\r\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'a negative chunk length',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `-1\r\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'a chunk length beyond 64 bits',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `10000000000000026\r\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'a chunk shorter than its length',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `20\r\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'a chunk ended by a bare LF',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `26\r\n${CART}\n0\r\n\r\n`),
    ],
    [
      'a chunk length ended by a bare LF',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `26\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'a NUL in a chunk extension',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `26;a=\0\r\n${CART}\r\n0\r\n\r\n`),
    ],
    [
      'chunk extensions without end',
      () => quote({ 'Transfer-Encoding': 'chunked' }, `26;a=${'x'.repeat(20_000)}\r\n${CART}\r\n0\r\n\r\n`),
    ],
    ['two Host headers', () => quote([['Host', 'shop'], ...Object.entries(length)], CART)],
    ['two different Host headers', () => quote([['host', 'elsewhere'], ...Object.entries(length)], CART)],
    [
      'more headers than we read',
      () =>
        quote(
          [
            ...Array.from({ length: 3_000 }, (_, n): [string, string] => [`a${n}`, '']),
            ...Object.entries(length),
          ],
          CART,
        ),
    ],
    [
      'a Transfer-Encoding behind three thousand headers',
      () =>
        quote(
          [
            ...Array.from({ length: 3_000 }, (): [string, string] => ['a', '']),
            ['Transfer-Encoding', 'chunked'],
          ],
          chunked(CART),
        ),
    ],
  ]

  test.each(cases)('%s: 400, and the connection ends', async (_what, first) => {
    const bytes = Buffer.concat([Buffer.from(first() as unknown as string, 'latin1'), second()])
    const answers = await converse(shop.port, bytes)
    expect(answers.map(({ status }) => status)).toEqual([400])
    expectRefusal(answers[0], 'invalid_request')
    expect(answers[0]?.headers.connection).toBe('close')
    expect(echo.calls).toEqual([])
  })

  test.each(cases)('%s, sent byte by byte: 400, and the connection ends', async (_what, first) => {
    const line = await openLine(shop.port)
    const bytes = Buffer.concat([Buffer.from(first() as unknown as string, 'latin1'), second()])
    // Small enough for the kernel's buffers, so that the bytes are split where we split them.
    for (const size of [1, 7, 64, 512, Number.POSITIVE_INFINITY]) {
      if (bytes.length / size > 2_000) continue
      for (let at = 0; at < bytes.length; at += size) line.send(bytes.subarray(at, at + size))
      break
    }
    const answers = await line.rest()
    line.close()
    expect(answers.map(({ status }) => status)).toEqual([400])
    expectRefusal(answers[0], 'invalid_request')
    expect(echo.calls).toEqual([])
  })
})

describe('threat 28: allowed forms of chunks do not change the body', () => {
  const chunkedCart = (body: string, more: HeaderList = {}) =>
    ask(shop.port, quote({ 'Transfer-Encoding': 'chunked', ...(more as Record<string, string>) }, body))

  test.each([
    ['one chunk', chunked(CART).toString()],
    ['a chunk per byte', chunked(CART, 1).toString()],
    ['chunk extensions', `26;a=b;c="d"\r\n${CART}\r\n0;last\r\n\r\n`],
    ['an extension that looks like a chunk', `26;0\r\n${CART}\r\n0\r\n\r\n`],
    ['leading zeros', `00000026\r\n${CART}\r\n000\r\n\r\n`],
    ['trailers', `26\r\n${CART}\r\n0\r\nX-Note: hello\r\n\r\n`],
  ])('%s', async (_what, body) => {
    const answer = await chunkedCart(body)
    expect(answer.status).toBe(200)
    expect(echo.calls.map(({ body }) => body)).toEqual([JSON.parse(CART)])
  })

  test('signature headers in trailers are ignored', async () => {
    const [key, ...others] = signature('POST', '/v1/quote', CART)
    const bytes = requestBytes(
      'POST',
      '/v1/quote',
      [key as [string, string], ['Transfer-Encoding', 'chunked']],
      `26\r\n${CART}\r\n0\r\n${others.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    )
    expectRefusal(await ask(shop.port, bytes), 'authentication_failed')
  })

  const trailing = (trailers: string) => chunkedCart(`26\r\n${CART}\r\n0\r\n${trailers}\r\n`)

  test('trailers cannot replace, repeat or add to the headers', async () => {
    const other = await shop.makeKey(['account:read'])
    const answer = await trailing(
      `X-Api-Key: ${other.id}\r\nX-Api-Nonce: ${randomBytes(16).toString('hex')}\r\n` +
        'Host: elsewhere\r\nContent-Encoding: gzip\r\nExpect: x\r\n',
    )
    expect(answer.status).toBe(200)
    expect(echo.calls.map(({ body }) => body)).toEqual([JSON.parse(CART)])
  })

  test.each(['Content-Length: 5\r\n', 'Transfer-Encoding: gzip\r\n'])(
    'framing in trailers is refused: %j',
    async (trailers) => {
      expectRefusal(await trailing(trailers), 'invalid_request')
    },
  )
})

describe('threat 28: after a refused body no bytes are left for a second request', () => {
  expectNoneAdmitted()
  const BIG = 'x'.repeat(20_000)
  const unsigned = { 'X-Api-Key': 'nobody' }
  const cases: [what: string, status: number, first: () => Uint8Array][] = [
    ['a declared length over the limit', 413, () => quote({ 'Content-Length': String(BIG.length) }, BIG)],
    ['chunks over the limit', 413, () => quote({ 'Transfer-Encoding': 'chunked' }, chunked(BIG))],
    ['small chunks over the limit', 413, () => quote({ 'Transfer-Encoding': 'chunked' }, chunked(BIG, 100))],
    [
      'malformed credentials before a large chunked body',
      401,
      () =>
        requestBytes(
          'POST',
          '/v1/quote',
          { ...unsigned, 'Transfer-Encoding': 'chunked' },
          chunked(BIG.repeat(20)),
        ),
    ],
  ]

  test.each(cases)('%s, all in one piece', async (_what, status, first) => {
    const answers = await converse(shop.port, Buffer.concat([first(), second()]))
    expect(answers.map((answer) => answer.status)).toEqual([status])
    expect(faultsOf(answers[0])).toEqual([])
    expect(answers[0]?.headers.connection).toBe('close')
    expect(secondRan()).toBe(false)
  })

  test.each(cases)(
    '%s, the second request held back until the refusal is read',
    async (_what, status, first) => {
      const line = await openLine(shop.port)
      const bytes = first()
      const cut = bytes.length - 1_000
      line.send(bytes.subarray(0, cut))
      expect((await line.next())?.status).toBe(status)
      line.send(bytes.subarray(cut))
      line.send(second())
      expect(await line.rest()).toEqual([])
      line.close()
      expect(secondRan()).toBe(false)
    },
  )
})

describe('pipelined requests on one connection', () => {
  test('are answered one by one, in order', async () => {
    const line = await openLine(shop.port)
    line.send(
      Buffer.concat([
        quote(length, CART),
        requestBytes('GET', '/v1/nothing'),
        second(),
        requestBytes('GET', '/v1/status'),
      ]),
    )
    const statuses: (number | undefined)[] = []
    for (let n = 0; n < 4; n += 1) statuses.push((await line.next())?.status)
    line.close()
    expect(statuses).toEqual([200, 404, 200, 200])
    expect(echo.calls.map(({ name }) => name)).toEqual(['postQuote', 'deleteWebhook'])
  })

  test('garbage after a valid request does not affect its answer', async () => {
    const answers = await converse(
      shop.port,
      Buffer.concat([quote(length, CART), Buffer.from('\0garbage\r\n\r\n')]),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 400])
    expectRefusal(answers[1], 'invalid_request')
  })

  test('garbage after several valid requests is answered after all of them', async () => {
    const bytes = Buffer.concat([quote(length, CART), second(), Buffer.from('CONNECT x:1 HTTP/1.1\r\n\r\n')])
    const answers = await converse(shop.port, bytes)
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400])
  })

  test('nothing is executed after a request with Connection: close', async () => {
    const answers = await converse(
      shop.port,
      Buffer.concat([quote({ ...length, Connection: 'close' }, CART), second()]),
    )
    expect(answers.map(({ status }) => status)).toEqual([200])
    expect(secondRan()).toBe(false)
  })

  test('a caller that has closed its sending side still gets its answer', async () => {
    const line = await openLine(shop.port)
    line.send(quote(length, CART))
    line.endSending()
    expect((await line.rest()).map(({ status }) => status)).toEqual([200])
    line.close()
  })

  test('a body that ends early because the caller stopped sending is refused at once', async () => {
    const line = await openLine(shop.port)
    line.send(quote({ 'Content-Length': '100' }, CART))
    line.endSending()
    const answers = await line.rest()
    line.close()
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], 'invalid_request')
  })

  test('hundreds of them at once end the connection, not the server', async () => {
    const many = Buffer.concat(Array.from({ length: 500 }, () => requestBytes('GET', '/v1/ping')))
    const answers = await converse(shop.port, many)
    expect(answers.length).toBeLessThan(500)
    expect((await shop.call('GET', '/v1/ping')).status).toBe(200)
  })
})

describe('threat 38: Expect', () => {
  const expecting = { Expect: '100-continue', ...length }

  test('sends 100 Continue to a permitted caller, then the answer', async () => {
    const line = await openLine(shop.port)
    line.send(quote(expecting, ''))
    expect((await line.next())?.status).toBe(100)
    line.send(CART)
    expect((await line.next())?.status).toBe(200)
    // The connection can still be used.
    line.send(second())
    expect((await line.next())?.status).toBe(200)
    line.close()
  })

  test('malformed credentials get 401 and no 100', async () => {
    const bytes = requestBytes('POST', '/v1/quote', { 'X-Api-Key': 'nobody', ...expecting })
    const answers = await converse(shop.port, bytes)
    expect(answers.map(({ status }) => status)).toEqual([401])
    expectRefusal(answers[0], 'authentication_failed')
  })

  test('a timestamp out of range gets 401 and no 100', async () => {
    const old = signedHeaders(shop.key, 'POST', '/v1/quote', Buffer.from(CART), Date.now() - 100_000)
    const answers = await converse(shop.port, requestBytes('POST', '/v1/quote', { ...old, ...expecting }))
    expect(answers.map(typeOf)).toEqual(['timestamp_out_of_range'])
  })

  test('a declared length over the limit gets 413 and no 100', async () => {
    const answers = await converse(shop.port, quote({ ...expecting, 'Content-Length': '16385' }, ''))
    expect(answers.map(({ status }) => status)).toEqual([413])
    expectRefusal(answers[0], 'payload_too_large')
  })

  test('an unknown path gets 404 and no 100', async () => {
    const answers = await converse(shop.port, requestBytes('POST', '/v1/nothing', expecting))
    expect(answers.map(({ status }) => status)).toEqual([404])
  })

  test('a wrong signature is detected only with the body: 100, then 401', async () => {
    const wrong = signedHeaders({ ...shop.key, secret: 'sk_other' }, 'POST', '/v1/quote', Buffer.from(CART))
    const line = await openLine(shop.port)
    line.send(requestBytes('POST', '/v1/quote', { ...wrong, ...expecting }))
    expect((await line.next())?.status).toBe(100)
    line.send(CART)
    expectRefusal(await line.next(), 'authentication_failed')
    line.close()
  })

  test.each(['100-Continue', '100-CONTINUE'])('%s gets 100 too', async (expectation) => {
    const line = await openLine(shop.port)
    line.send(quote({ ...expecting, Expect: expectation }, ''))
    expect((await line.next())?.status).toBe(100)
    line.close()
  })

  test.each(['', '200-ok', '100-continue, 100-continue', '100-continue;q=1', 'x=100-continue', '100'])(
    'any other expectation gets 400: "%s"',
    async (expectation) => {
      const answers = await converse(shop.port, quote({ ...expecting, Expect: expectation }, CART))
      expect(answers.map(({ status }) => status)).toEqual([400])
      expectRefusal(answers[0], 'invalid_request')
    },
  )

  test('without a body the answer comes at once, without 100', async () => {
    const ping = { ...signedHeaders(shop.key, 'GET', '/v1/ping'), Expect: '100-continue' }
    expect((await ask(shop.port, requestBytes('GET', '/v1/ping', ping))).status).toBe(200)
  })

  test('HTTP/1.0 gets no 100', async () => {
    const bytes = requestBytes(
      'POST',
      '/v1/quote',
      [...signature('POST', '/v1/quote', CART), ...Object.entries(expecting)],
      CART,
      'HTTP/1.0',
    )
    expect((await converse(shop.port, bytes)).map(({ status }) => status)).toEqual([200])
  })
})

describe('HTTP versions', () => {
  const ping = () => Object.fromEntries(signature('GET', '/v1/ping'))

  test.each([
    'HTTP/2.0',
    'HTTP/3.0',
    'HTTP/0.9',
    'HTTP/1.2',
    'HTTP/1.9',
    'HTTP/9.9',
    'HTTP/11',
    'HTTP/1',
    'http/1.1',
    'HTTPS/1.1',
    'ICE/1.0',
    'HTTP/1.1x',
    ' HTTP/1.1 x',
  ])('%s is refused as JSON, and the connection ends', async (version) => {
    const answers = await converse(shop.port, requestBytes('GET', '/v1/ping', ping(), '', version))
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], 'invalid_request')
  })

  test.each(['GET /v1/status\r\n', 'GET /v1/status\r\n\r\n', 'GET /v1/status \r\n\r\n', 'GET\r\n\r\n'])(
    'a request line without a version (HTTP/0.9) is refused: %j',
    async (bytes) => {
      const line = await openLine(shop.port)
      line.send(bytes)
      line.send('\r\n\r\n\r\n')
      const answers = await line.rest()
      line.close()
      expect(answers).toHaveLength(1)
      expectRefusal(answers[0], 'invalid_request')
    },
  )

  test.each([{}, { Connection: 'keep-alive' }])(
    'HTTP/1.0 is answered and the connection closed, whatever it asks: %j',
    async (headers) => {
      const first = requestBytes('GET', '/v1/ping', { ...ping(), ...headers }, '', 'HTTP/1.0')
      const answers = await converse(shop.port, Buffer.concat([first, second()]))
      expect(answers.map(({ status }) => status)).toEqual([200])
      expect(secondRan()).toBe(false)
    },
  )

  test('HTTP/1.0 needs no Host', async () => {
    const lines = signature('GET', '/v1/ping').map(([name, value]) => `${name}: ${value}\r\n`)
    const answers = await converse(shop.port, `GET /v1/ping HTTP/1.0\r\n${lines.join('')}\r\n`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  test('HTTP/1.1 without a Host is refused', async () => {
    const lines = signature('GET', '/v1/ping').map(([name, value]) => `${name}: ${value}\r\n`)
    const answers = await converse(shop.port, `GET /v1/ping HTTP/1.1\r\n${lines.join('')}\r\n`)
    expect(answers).toHaveLength(1)
    expect(expectRefusal(answers[0], 'invalid_request')).toContain('Host')
  })
})

describe('methods', () => {
  const offered = new Set(['GET', 'CONNECT', 'HEAD'])

  test.each(METHODS.filter((method) => !offered.has(method)))(
    '%s at a path that does not offer it: 405 with Allow, as JSON',
    async (method) => {
      const answer = await ask(shop.port, requestBytes(method, '/v1/ping'))
      expectRefusal(answer, 'method_not_allowed')
      expect(answer.headers.allow).toBe('GET')
    },
  )

  test.each(METHODS.filter((method) => !offered.has(method)))(
    '%s at an unknown path: 404',
    async (method) => {
      expectRefusal(await ask(shop.port, requestBytes(method, '/v1/nothing')), 'not_found')
    },
  )

  test.each(METHODS.filter((method) => !offered.has(method)))(
    '%s with a body: refused, as JSON',
    async (method) => {
      const answer = await ask(
        shop.port,
        requestBytes(method, '/v1/ping', { ...length, 'Content-Type': 'a/b' }, CART),
      )
      expectRefusal(answer, 'method_not_allowed')
    },
  )

  test('HEAD: 405 with Allow and, as every answer to HEAD, without a body', async () => {
    const answer = await ask(shop.port, requestBytes('HEAD', '/v1/ping'), { isHead: true })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET'])
    expect(faultsOf(answer, { isHead: true })).toEqual([])
  })

  test('Allow lists every method of the path', async () => {
    const answer = await ask(shop.port, requestBytes('PUT', '/v1/webhook'))
    expect(answer.headers.allow).toBe('DELETE, GET, POST')
  })

  test('OPTIONS has no CORS headers', async () => {
    const headers = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
    const answer = await ask(shop.port, requestBytes('OPTIONS', '/v1/quote', headers))
    expectRefusal(answer, 'method_not_allowed')
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test.each(['get', 'Get', 'GETS', 'FOO', 'G\0T', 'GET/', '', ' GET', '\u00e9'])(
    '"%s" is not a method: 400',
    async (method) => {
      const answers = await converse(shop.port, requestBytes(method, '/v1/ping'))
      expect(answers).toHaveLength(1)
      expectRefusal(answers[0], 'invalid_request')
    },
  )
})

describe('every answer, whatever its cause, is JSON with the same headers', () => {
  test.each<[string, string | Buffer]>([
    ['headers over the limit', `GET /v1/ping HTTP/1.1\r\nHost: shop\r\nX-Big: ${'x'.repeat(17_000)}\r\n\r\n`],
    ['a target over the limit', `GET /v1/ping?${'x'.repeat(17_000)} HTTP/1.1\r\nHost: shop\r\n\r\n`],
    ['TLS where HTTP was expected', Buffer.from('160301020001000001fc0303', 'hex')],
    ['binary', randomBytes(512).fill(0xff, 0, 1)],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['SMTP', 'EHLO shop\r\n'],
    ['half a line, then the end of the connection', 'GET /v1/pi'],
  ])('%s', async (_what, bytes) => {
    const line = await openLine(shop.port)
    line.send(bytes)
    line.endSending()
    const answers = await line.rest()
    line.close()
    expect(answers).toHaveLength(1)
    expectRefusal(answers[0], 'invalid_request')
    expect(answers[0]?.headers.connection).toBe('close')
  })

  test('successes have them too', async () => {
    const status = await ask(shop.port, requestBytes('GET', '/v1/status'))
    const ping = await ask(
      shop.port,
      requestBytes('GET', '/v1/ping', Object.fromEntries(signature('GET', '/v1/ping'))),
    )
    expect([status.status, ping.status]).toEqual([200, 200])
    expect([...faultsOf(status), ...faultsOf(ping)]).toEqual([])
    expect(status.headers['x-request-id']).not.toBe(ping.headers['x-request-id'])
  })

  test('a caller that keeps sending can read the refusal of its message', async () => {
    const line = await openLine(shop.port)
    line.send('\0not http\r\n\r\n')
    for (let n = 0; n < 50; n += 1) {
      line.send('x'.repeat(1_000))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const answers = await line.rest()
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(line.wasReset()).toBe(false)
    line.close()
  })

  test.each([
    'Accept-Version',
    'X-Http-Method-Override',
    'X-Original-Url',
    'X-Rewrite-Url',
    'X-Forwarded-Host',
  ])('the header %s is ignored', async (name) => {
    for (const value of ['1.0.0', 'DELETE', '/v1/nothing']) {
      const answer = await ask(shop.port, requestBytes('GET', '/v1/status', { [name]: value }))
      expect(answer.status).toBe(200)
    }
  })
})
