import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { FamilyRoute, RouteFamily } from '../../../src/edge/route-family.ts'
import { createEdge } from '../../../src/edge/server.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { ask, openLine, type RawAnswer, requestBytes } from '../../../testing/raw-http.ts'
import { expectRefusal, faultsOf } from '../../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../../testing/shop.ts'
import { exampleFamily } from './example-family.ts'

let shop: Shop
let cookie: string
let lines: Record<string, unknown>[] = []
/** The targets of the requests whose Cookie header was read. */
let cookieReads: string[] = []

beforeAll(async () => {
  shop = await openShop({
    families: [exampleFamily()],
    log: { write: (line) => void lines.push(JSON.parse(line)) },
    around: (serve) => (request, response) => {
      watchCookie(request)
      serve(request, response)
    },
  })
  const signedIn = await signIn()
  cookie = signedIn.headers['set-cookie']?.split(';')[0] ?? ''
})
afterAll(() => shop.close())
beforeEach(() => {
  lines = []
  cookieReads = []
})

function watchCookie(request: IncomingMessage) {
  const target = request.url ?? ''
  const { cookie: sent } = request.headers
  Object.defineProperty(request.headers, 'cookie', {
    enumerable: true,
    configurable: true,
    get() {
      cookieReads.push(target)
      return sent
    },
  })
}

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const signIn = (headers: Record<string, string> = FORM, body = 'user=ada') =>
  ask(
    shop.port,
    requestBytes('POST', '/example/sign-in', { 'Content-Length': String(body.length), ...headers }, body),
  )
const get = (target: string, headers: Record<string, string> = {}) =>
  ask(shop.port, requestBytes('GET', target, headers))

/** The family's page with this text, with what the edge puts on every answer. */
function expectPage({ status, headers, body }: RawAnswer, wanted: number, text: string) {
  expect([status, body]).toEqual([wanted, `<!doctype html><p>${text}</p>`])
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/^req_[0-9a-z]{26}$/),
  })
}

describe('a family with sessions, added by one folder and one entry in the list of families', () => {
  test('returns its page when the cookie names a session, and logs its route and its user', async () => {
    expectPage(await get('/example', { Cookie: `a=b; ${cookie}` }), 200, 'Hello, ada')
    await expect.poll(() => lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ method: 'GET', route: 'example-home', status: 200, user: 'ada' })
    expect(lines[0]).not.toHaveProperty('key_id')
    expect(await shop.metrics.registry.metrics()).toMatch(/route="example-home",status="200"/)
  })

  test('answers HEAD with the headers of GET', async () => {
    const bytes = requestBytes('HEAD', '/example', { Cookie: cookie })
    const { status, headers, body } = await ask(shop.port, bytes, { isHead: true })
    expect([status, body, headers['content-length']]).toEqual([200, '', '32'])
  })

  test('passes the {id} of a path to the route as it was sent', async () => {
    const { status, body } = await get('/example/things/a%2Fb?c', { Cookie: cookie })
    expect([status, JSON.parse(body)]).toEqual([200, { id: 'a%2Fb', user: 'ada' }])
  })

  test.each(['', 'session=other', 'xsession=1', 'session='])(
    'returns its own 401 page when the Cookie header is "%s", however well the request is signed',
    async (sent) => {
      const headers = { ...signedHeaders(shop.key, 'GET', '/example'), Cookie: sent }
      expectPage(await get('/example', headers), 401, 'Sign in first.')
    },
  )

  test('returns errors as its own JSON to who asks for JSON', async () => {
    const { status, body } = await get('/example', { Accept: 'application/json' })
    expect([status, body]).toEqual([401, '{"problem":"authentication_failed","text":"Sign in first."}'])
    await expect.poll(() => lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      route: 'example-home',
      status: 401,
      error_type: 'authentication_failed',
    })
  })

  test.each(['/example/', '/example/nothing', '/example/things/', '/example/things/1/2'])(
    '%s is below its prefix and not there: its own 404 page',
    async (path) => {
      expectPage(await get(path), 404, 'There is nothing at this path.')
      await expect.poll(() => lines).toHaveLength(1)
      expect(lines[0]).toMatchObject({ route: 'none', status: 404, error_type: 'not_found' })
    },
  )

  test('returns its own 405 page with Allow when the path does not offer the method', async () => {
    const answer = await ask(shop.port, requestBytes('DELETE', '/example', { Cookie: cookie }))
    expectPage(answer, 405, 'DELETE is not offered at this path; it takes GET, HEAD.')
    expect(answer.headers.allow).toBe('GET, HEAD')
  })

  test('decides which content types it takes', async () => {
    expect((await signIn()).status).toBe(303)
    expectPage(await signIn({ 'Content-Type': 'text/plain' }), 400, 'Send the form as a browser does.')
    expectPage(await signIn({ 'Content-Type': '()' }), 400, 'Send the form as a browser does.')
  })

  test('is protected by the limits of the edge: a body that is too large ends the connection', async () => {
    for (const headers of [
      { ...FORM, 'Content-Length': '16385' },
      { ...FORM, 'Transfer-Encoding': 'chunked' },
    ]) {
      const line = await openLine(shop.port)
      line.send(requestBytes('POST', '/example/sign-in', headers))
      if ('Transfer-Encoding' in headers) line.send(`4001\r\n${'x'.repeat(16_385)}`)
      const answer = await line.next()
      expect([answer?.status, answer?.headers.connection]).toEqual([413, 'close'])
      expect(answer?.body).toMatch(/^<!doctype html><p>The body is larger than/)
      line.close()
    }
  })

  test('returns its own 500 page without any detail when a route fails, and logs the error', async () => {
    const answer = await get('/example/things/broken', { Cookie: cookie })
    expectPage(answer, 500, `Something went wrong. Tell us ${answer.headers['x-request-id']}.`)
    await expect.poll(() => lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ status: 500, err: { message: 'a secret of ada' } })
  })

  test('a family that fails to present an error: 500 in the format of the edge, without any detail', async () => {
    const answer = await get('/example', { 'X-Example': 'cannot be presented' })
    expect(expectRefusal(answer, 'internal_error')).not.toContain('secret')
    await expect.poll(() => lines).toHaveLength(1)
    expect(JSON.stringify(lines[0])).toContain('could not present an error')
  })

  test('requests of two families on one connection are answered in turn', async () => {
    const line = await openLine(shop.port)
    const requests = [
      requestBytes('GET', '/example', { Cookie: cookie }),
      requestBytes('GET', '/v1/ping', signedHeaders(shop.key, 'GET', '/v1/ping')),
      requestBytes('GET', '/example'),
    ]
    line.send(Buffer.concat(requests))
    const statuses = [await line.next(), await line.next(), await line.next()].map((answer) => answer?.status)
    expect(statuses).toEqual([200, 200, 401])
    line.close()
  })
})

describe('what is refused before a family is known keeps the format of the API', () => {
  test('a path that belongs to no family: 404, byte for byte', async () => {
    for (const path of ['/examples', '/v1/example', '/']) {
      const answer = await get(path)
      expect(faultsOf(answer)).toEqual([])
      expect(answer.body).toBe(
        '{"error":{"type":"not_found","message":"There is nothing at this path. Paths are exact and begin with /v1/."}}',
      )
    }
  })

  test('two Host headers, on a path of the family too: 400, and the connection ends', async () => {
    const answer = await ask(shop.port, 'GET /example HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')
    expect(answer.headers.connection).toBe('close')
    expect(answer.body).toBe(
      '{"error":{"type":"invalid_request","message":"The request must have one Host header."}}',
    )
  })

  test('bytes that are not HTTP: 400', async () => {
    expectRefusal(await ask(shop.port, 'GET /example\r\n\r\n'), 'invalid_request')
  })
})

describe('cookies', () => {
  test('the signed API and public files never read or set one, in success and refusal', async () => {
    const answers: RawAnswer[] = []
    for (const [method, target, headers] of [
      ['GET', '/v1/ping', signedHeaders(shop.key, 'GET', '/v1/ping')],
      ['GET', '/v1/catalogue', signedHeaders(shop.key, 'GET', '/v1/catalogue')],
      ['GET', '/v1/balance', {}],
      ['POST', '/v1/orders', signedHeaders(shop.key, 'POST', '/v1/orders')],
      ['DELETE', '/v1/ping', {}],
      ['GET', '/v1/status', {}],
      ['GET', '/openapi.json', {}],
      ['POST', '/openapi.json', {}],
      ['GET', '/nothing', {}],
    ] as const) {
      answers.push(await ask(shop.port, requestBytes(method, target, { ...headers, Cookie: cookie })))
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 400, 405, 200, 200, 405, 404])
    expect(answers.filter(({ headers }) => 'set-cookie' in headers)).toEqual([])
    // Each is over, its log line included, so nothing can look at its headers any more.
    await expect.poll(() => lines).toHaveLength(answers.length)
    expect(cookieReads).toEqual([])
  })

  test('the family with sessions reads and sets them', async () => {
    expect((await signIn()).headers['set-cookie']).toMatch(/^session=[0-9a-f]{32}; /)
    await get('/example', { Cookie: cookie })
    expect(cookieReads).toEqual(['/example'])
  })
})

describe('two families that could answer one path stop the start', () => {
  const route = (path: string, ...methods: string[]): FamilyRoute => ({
    name: path,
    path,
    methods: methods.length > 0 ? methods : ['GET'],
    answer: async () => ({ status: 200, body: path }),
  })
  const family = (name: string, routes: FamilyRoute[], prefix?: string): RouteFamily => ({
    name,
    routes,
    ...(prefix !== undefined && { prefix }),
    presentError: () => ({ status: 500, type: 'internal_error', body: '' }),
  })
  const deps = {
    log: createLog('silent'),
    metrics: createMetrics('test'),
    connectionsMax: 1,
    connectionsPerAddressMax: 1,
  }
  const start = (...families: RouteFamily[]) => createEdge(deps, families)

  test.each([
    ['the same path', family('one', [route('/a')]), family('two', [route('/a')])],
    ['the same path for another method', family('one', [route('/a')]), family('two', [route('/a', 'POST')])],
    ['the same pattern', family('one', [route('/a/{id}')]), family('two', [route('/a/{id}')])],
    ['a path that fits a pattern', family('one', [route('/a/{id}')]), family('two', [route('/a/b')])],
    ['a path below a prefix', family('one', [], '/a'), family('two', [route('/a/b/c')])],
    ['a prefix as a path', family('one', [], '/a'), family('two', [route('/a')])],
    ['a pattern below a prefix', family('one', [], '/a'), family('two', [route('/a/{id}')])],
    ['a pattern that fits a prefix', family('one', [], '/a'), family('two', [route('/{id}')])],
    ['the same prefix', family('one', [], '/a'), family('two', [], '/a')],
    ['a prefix below a prefix', family('one', [], '/a'), family('two', [], '/a/b')],
  ])('%s, in either order, with a message that names both', (_what, one, two) => {
    for (const families of [
      [one, two],
      [two, one],
    ]) {
      expect(() => start(...families)).toThrow(/overlap: .*family "(one|two)" and .*family "(?!\1)(one|two)"/)
    }
  })

  test.each([
    [
      'paths side by side',
      family('one', [route('/a')]),
      family('two', [route('/a/'), route('/a/b'), route('/A')]),
    ],
    [
      'a path two segments below a pattern',
      family('one', [route('/a/{id}')]),
      family('two', [route('/a/b/c')]),
    ],
    [
      'a pattern without its folder',
      family('one', [route('/a/{id}')]),
      family('two', [route('/a/'), route('/a')]),
    ],
    ['a prefix and its neighbour', family('one', [route('/a/b')], '/a'), family('two', [route('/ab')], '/b')],
  ])('%s do not overlap', async (_what, one, two) => {
    await start(one, two).close()
  })

  test.each([
    ['a method twice', family('one', [route('/a'), route('/a', 'POST', 'GET')]), 'has GET twice'],
    ['a path without a slash', family('one', [route('a')]), 'must begin with "/"'],
    ['a prefix with a slash at its end', family('one', [], '/a/'), 'must not end with "/"'],
  ])('%s in one family stops it too', (_what, one, message) => {
    expect(() => start(one)).toThrow(message)
  })
})
