import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { endpoint } from '../../src/edge/endpoints/endpoint.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { echoes } from '../../testing/echo.ts'
import { ask, converse, openLine, requestBytes } from '../../testing/raw-http.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

interface Line extends Record<string, unknown> {
  request_id: string
  msg: string
}

const MARK = 'TELLTALE'
const CART = `{"items":[{"id":"12345678901234567"}]}`

let shop: Shop
let lines: Line[] = []
let text = ''
let onLine = () => {}
const echo = echoes('postQuote', 'getCatalogue')
/** An endpoint that signals when it has started, and ends on command. */
const held = { begun: Promise.withResolvers<Socket>(), release: Promise.withResolvers<void>() }
let lastSocket: Socket
beforeAll(async () => {
  shop = await openShop({
    endpoints: () => [
      ...echo.endpoints(),
      endpoint('getWebhook', async () => {
        throw new Error('a bug of ours')
      }),
      endpoint('deleteWebhook', async () => {
        held.begun.resolve(lastSocket)
        await held.release.promise
        return { status: 200, body: {} as never }
      }),
      endpoint('getOrders', async () => {
        throw new Unavailable('database', new Error('gone'))
      }),
    ],
    log: {
      write(line) {
        text += line
        lines.push(JSON.parse(line))
        onLine()
      },
    },
  })
})
const recordRequest = (message: unknown) => {
  lastSocket = (message as { socket: Socket }).socket
}
beforeAll(() => subscribe('http.server.request.start', recordRequest))
afterAll(() => void unsubscribe('http.server.request.start', recordRequest))
afterAll(() => shop.close())
beforeEach(() => {
  lines = []
  text = ''
})

/** The log line of one request; it is written when the connection is done with the answer, a moment after we have it. */
async function lineOf(request_id: string | undefined): Promise<Line> {
  for (;;) {
    const found = lines.filter((line) => line.request_id === request_id)
    if (found.length > 0) {
      expect(found).toHaveLength(1)
      return found[0] as Line
    }
    await new Promise<void>((resolve) => {
      onLine = resolve
    })
  }
}

const signed = (method: string, target: string, body = '', more: Record<string, string> = {}) =>
  requestBytes(
    method,
    target,
    {
      ...signedHeaders(shop.key, method, target, Buffer.from(body)),
      ...(body && { 'Content-Length': String(Buffer.byteLength(body)) }),
      Cookie: MARK,
      Authorization: MARK,
      'User-Agent': MARK,
      ...more,
    },
    body,
  )

describe('every request writes one line', () => {
  const who = () => ({ key_id: shop.key.id, account_id: shop.account.id })
  const cases: [what: string, bytes: () => Uint8Array, expected: () => Record<string, unknown>][] = [
    [
      'a success',
      () => signed('GET', '/v1/ping'),
      () => ({ level: 'info', method: 'GET', route: 'getPing', status: 200, ...who() }),
    ],
    [
      'a public success',
      () => requestBytes('GET', `/v1/status?${MARK}=${MARK}`, { Cookie: MARK }),
      () => ({ level: 'info', route: 'getStatus', status: 200 }),
    ],
    [
      'a query',
      () => signed('GET', `/v1/catalogue?search=${MARK}`),
      () => ({ level: 'info', route: 'getCatalogue', status: 200, ...who() }),
    ],
    [
      'a refused query',
      () => signed('GET', `/v1/catalogue?limit=${MARK}`),
      () => ({ level: 'info', route: 'getCatalogue', status: 400, error_type: 'invalid_request', ...who() }),
    ],
    [
      'a body',
      () => signed('POST', '/v1/quote', CART),
      () => ({ level: 'info', route: 'postQuote', status: 200, ...who() }),
    ],
    [
      'a refused body',
      () => signed('POST', '/v1/quote', `{"${MARK}":"${MARK}"}`),
      () => ({ level: 'info', route: 'postQuote', status: 400, error_type: 'invalid_request', ...who() }),
    ],
    [
      'a body that is not JSON',
      () => signed('POST', '/v1/quote', `${MARK}`),
      () => ({ level: 'info', route: 'postQuote', status: 400, error_type: 'invalid_request' }),
    ],
    [
      'an unknown path',
      () => signed('GET', `/v1/${MARK}?${MARK}`),
      () => ({ level: 'info', route: 'none', status: 404, error_type: 'not_found' }),
    ],
    [
      'a wrong method',
      () => signed('PUT', '/v1/ping', MARK),
      () => ({ level: 'info', route: 'none', status: 405, error_type: 'method_not_allowed' }),
    ],
    [
      'malformed credentials',
      () => requestBytes('GET', '/v1/ping', { 'X-Api-Key': MARK, 'X-Api-Signature': MARK }),
      () => ({
        level: 'info',
        route: 'getPing',
        status: 401,
        error_type: 'authentication_failed',
        why: { reason: 'form' },
      }),
    ],
    [
      'a wrong signature',
      () => requestBytes('GET', '/v1/ping', signedHeaders({ ...shop.key, secret: MARK }, 'GET', '/v1/ping')),
      () => ({
        level: 'info',
        route: 'getPing',
        status: 401,
        error_type: 'authentication_failed',
        why: { key_id: shop.key.id, reason: 'signature' },
      }),
    ],
    [
      'a body over the limit',
      () => signed('POST', '/v1/quote', '', { 'Content-Length': '99999' }),
      () => ({ level: 'info', route: 'postQuote', status: 413, error_type: 'payload_too_large' }),
    ],
    [
      'broken framing',
      () => signed('POST', '/v1/quote', '', { 'Transfer-Encoding': 'gzip, chunked' }),
      () => ({ level: 'info', route: 'none', status: 400, error_type: 'invalid_request' }),
    ],
    [
      'a broken chunk',
      () =>
        Buffer.concat([
          signed('POST', '/v1/quote', '', { 'Transfer-Encoding': 'chunked' }),
          Buffer.from(`${MARK}\r\n`),
        ]),
      () => ({ level: 'info', status: 400, error_type: 'invalid_request' }),
    ],
    [
      'no HTTP at all',
      () => Buffer.from(`${MARK} ${MARK}\r\n\r\n`),
      () => ({ level: 'info', route: 'none', status: 400, error_type: 'invalid_request' }),
    ],
    [
      'CONNECT',
      () => Buffer.from(`CONNECT ${MARK}:1 HTTP/1.1\r\nHost: ${MARK}\r\n\r\n`),
      () => ({ level: 'info', route: 'none', status: 400, error_type: 'invalid_request' }),
    ],
    [
      'a bug of ours',
      () => signed('GET', `/v1/webhook?${MARK}`),
      () => ({ level: 'error', route: 'getWebhook', status: 500, error_type: 'internal_error', ...who() }),
    ],
    [
      'a part that is down',
      () => signed('GET', `/v1/orders?x=${MARK}`),
      () => ({ level: 'warn', route: 'getOrders', status: 503, error_type: 'service_unavailable', ...who() }),
    ],
  ]

  test.each(cases)('%s', async (_what, bytes, expected) => {
    const answer = await ask(shop.port, bytes())
    const line = await lineOf(answer.headers['x-request-id'])
    expect(line).toMatchObject(expected())
    expect(line.status).toBe(answer.status)
    if (line.msg === 'request') expect(line.duration_ms).toEqual(expect.any(Number))
    else expect(line.msg).toBe('refused on the socket')
    expect('error_type' in line).toBe(answer.status >= 400)
    expect(lines).toHaveLength(1)
  })

  test.each(cases)('%s: the line contains nothing of its headers, query or body', async (_what, bytes) => {
    const sent = Buffer.from(bytes()).toString('latin1')
    const answer = await ask(shop.port, sent)
    await lineOf(answer.headers['x-request-id'])
    expect(text).not.toContain(MARK)
    for (const name of ['Nonce', 'Signature', 'Timestamp']) {
      const value = new RegExp(`^X-Api-${name}: (\\S{10,})\r$`, 'm').exec(sent)?.[1]
      if (value) expect(text).not.toContain(value)
    }
  })

  test('a 500 or 503 answer does not contain what the log says', async () => {
    const answers = await Promise.all([
      ask(shop.port, signed('GET', '/v1/webhook')),
      ask(shop.port, signed('GET', '/v1/orders')),
    ])
    expect(answers.map(({ status }) => status)).toEqual([500, 503])
    expect(answers[1]?.headers['retry-after']).toBe('2')
    for (const { body } of answers) expect(body).not.toMatch(/bug of ours|gone|at .*\.ts/)
  })
})

describe('a caller that disconnects', () => {
  test('before its body is complete gives one line with status 499', async () => {
    const line = await openLine(shop.port)
    line.send(signed('POST', '/v1/quote', '', { 'Content-Length': '100' }))
    line.send('{')
    line.socket.resetAndDestroy()
    await once(line.socket, 'close')
    await untilLines(1)
    expect(lines[0]).toMatchObject({ route: 'postQuote', status: 499, msg: 'request' })
  })

  test('before its answer is ready gives one line with status 499 and its key, written when the work is done', async () => {
    const line = await openLine(shop.port)
    line.send(signed('DELETE', '/v1/webhook'))
    const socket = await held.begun.promise
    line.socket.resetAndDestroy()
    // Not `once` of node:events, which treats the reset as a failure of the test.
    await new Promise((resolve) => socket.once('close', resolve))
    expect(lines).toEqual([])
    held.release.resolve()
    await untilLines(1)
    const who = { key_id: shop.key.id, account_id: shop.account.id }
    expect(lines[0]).toMatchObject({ route: 'deleteWebhook', status: 499, msg: 'request', ...who })
    expect(lines).toHaveLength(1)
  })

  async function untilLines(count: number) {
    while (lines.length < count) {
      await new Promise<void>((resolve) => {
        onLine = resolve
      })
    }
  }
})

test('pipelined requests have a line and an id each', async () => {
  const close = signed('GET', '/v1/ping', '', { Connection: 'close' })
  const answers = await converse(
    shop.port,
    Buffer.concat([signed('GET', '/v1/ping'), signed('GET', '/v1/balance'), close]),
  )
  const ids = answers.map(({ headers }) => headers['x-request-id'])
  const routes = await Promise.all(ids.map(async (id) => (await lineOf(id)).route))
  expect(routes).toEqual(['getPing', 'getBalance', 'getPing'])
})
