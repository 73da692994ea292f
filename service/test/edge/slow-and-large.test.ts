import { setTimeout as wait } from 'node:timers/promises'
import { BODY_BYTES_MAX } from '@shopwire/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { echoes } from '../../testing/echo.ts'
import { ask, chunked, openLine, type RawAnswer, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

const CART = '{"items":[{"id":"12345678901234567"}]}'
const MANY = 200

let shop: Shop
const echo = echoes('postQuote')
beforeAll(async () => {
  shop = await openShop({ endpoints: echo.endpoints, limits: { requestsMax: 10_000 } })
})
afterAll(() => shop.close())

const signature = (body: string | Uint8Array = CART) =>
  signedHeaders(shop.key, 'POST', '/v1/quote', Buffer.from(body))
const quote = (headers: Record<string, string>, body: string | Uint8Array = '') =>
  requestBytes('POST', '/v1/quote', headers, body)

/** Sends the pieces one by one, `everyMs` apart, and repeats the last one until there is an answer. */
async function drip(pieces: readonly (string | Uint8Array)[], everyMs: number) {
  const line = await openLine(shop.port)
  const [first = '', ...others] = pieces
  line.send(first)
  const startedMs = performance.now()
  let n = 0
  const timer = setInterval(() => line.send(others[Math.min(n++, others.length - 1)] ?? ''), everyMs)
  const answers = await line.rest()
  const ms = performance.now() - startedMs
  clearInterval(timer)
  line.close()
  return { answers, ms }
}

const admissionRows = () =>
  shop.database.owner.one<{ nonces: number; windows: number }>(sql`
    select (select count(*) from spent_nonces) as nonces,
           (select count(*) from admission_windows) as windows`)

describe('threat 35: the body has five seconds from the end of the headers', () => {
  // Nothing else may run in this shop meanwhile: the tables must stay empty.
  test('a dripping, missing or truncated body and unfinished chunks: 408, and nothing is counted or spent', async () => {
    const plain = () => ({ ...signature(), 'Content-Length': String(CART.length) })
    const inChunks = () => ({ ...signature(), 'Transfer-Encoding': 'chunked' })
    const slow = await Promise.all([
      drip([quote(plain(), '{'), ' '], 1_000),
      drip([quote(plain())], 60_000),
      drip([quote(plain(), CART.slice(0, -1))], 60_000),
      drip([quote(inChunks(), '1\r\n{\r\n'), '1\r\n \r\n'], 700),
      drip([quote(inChunks(), `${CART.length.toString(16)}\r\n${CART}\r\n`)], 60_000),
      drip([quote(inChunks(), chunked(CART).subarray(0, -2))], 60_000),
      drip([requestBytes('GET', '/v1/ping', { ...signature(), 'Content-Length': '1' })], 60_000),
      ...Array.from({ length: MANY }, () => drip([quote(plain(), '{')], 60_000)),
    ])
    for (const { answers, ms } of slow) {
      expect(answers).toHaveLength(1)
      expectRefusal(answers[0], 'request_timeout')
      expect(answers[0]?.headers.connection).toBe('close')
      expect(ms).toBeGreaterThan(4_990)
      expect(ms).toBeLessThan(7_000)
    }
    expect(await admissionRows()).toEqual({ nonces: 0, windows: 0 })
  })
})

describe.concurrent('threat 35: after a body that was too slow', () => {
  test('the same signature is still valid', async () => {
    const headers = { ...signature(), 'Content-Length': String(CART.length) }
    const { answers } = await drip([quote(headers)], 60_000)
    expectRefusal(answers[0], 'request_timeout')
    expect((await ask(shop.port, quote(headers, CART))).status).toBe(200)
  })

  test('a caller that got 100 Continue and sent nothing gets 408', async () => {
    const headers = { ...signature(), 'Content-Length': String(CART.length), Expect: '100-continue' }
    const { answers } = await drip([quote(headers)], 60_000)
    expect(answers.map(({ status }) => status)).toEqual([100, 408])
  })

  test('slow headers do not reduce the time for the body', async () => {
    const headers = quote({ ...signature(), 'Content-Length': String(CART.length) })
    const line = await openLine(shop.port)
    line.send(headers.subarray(0, 40))
    await wait(3_000)
    line.send(headers.subarray(40))
    await wait(3_000)
    line.send(CART)
    expect((await line.next())?.status).toBe(200)
    line.close()
  })
})

describe.concurrent('threat 36: a silent connection is closed, and other callers are not affected', () => {
  const expectLetGo = ({ answers, ms }: { answers: RawAnswer[]; ms: number }) => {
    expect(ms).toBeLessThan(13_000)
    expect(answers.length).toBeLessThanOrEqual(1)
    if (answers[0]) expectRefusal(answers[0], 'request_timeout')
  }

  test('headers that arrive byte by byte are cut off after ten seconds', async () => {
    const slow = await drip(['GET /v1/ping HTTP/1.1\r\nHost: shop\r\nX-Slow: ', 'x'], 500)
    expect(slow.ms).toBeGreaterThan(9_900)
    expectRefusal(slow.answers[0], 'request_timeout')
    expectLetGo(slow)
  })

  test(`${MANY} silent connections are closed, and a ping among them is served`, async () => {
    const silent = Promise.all(Array.from({ length: MANY }, () => drip([''], 60_000)))
    expect((await shop.call('GET', '/v1/ping')).status).toBe(200)
    for (const one of await silent) expectLetGo(one)
  })

  test('half a request line is cut off', async () => {
    expectLetGo(await drip(['GET /v1/st'], 60_000))
  })

  test('an answered connection that stays idle is closed', async () => {
    const { answers, ms } = await drip([requestBytes('GET', '/v1/status')], 60_000)
    expect(answers.map(({ status }) => status)).toEqual([200])
    expect(ms).toBeLessThan(13_000)
  })

  test('slow headers of a second request are cut off like those of the first', async () => {
    const { answers, ms } = await drip([requestBytes('GET', '/v1/status'), 'GET /v1/st', 'x'], 500)
    expect(answers.map(({ status }) => status)).toEqual([200, 408])
    expect(ms).toBeLessThan(13_000)
  })

  test('slow trailers count as part of the body', async () => {
    const headers = { ...signature(), 'Transfer-Encoding': 'chunked' }
    const { answers, ms } = await drip([quote(headers, `${chunked(CART).subarray(0, -2)}X-T: `), 'x'], 500)
    expect(answers.map(({ status }) => status)).toEqual([408])
    expect(ms).toBeLessThan(7_000)
  })
})

describe('threat 37: 16,384 bytes are read, and not one more', () => {
  const padded = (bytes: number) => Buffer.from(CART.padEnd(bytes, ' '))
  const euros = (bytes: number) =>
    Buffer.concat([Buffer.from('"'), Buffer.from('€'.repeat((bytes - 2) / 3)), Buffer.from('"')])
  const framings: [string, (body: Uint8Array) => Buffer][] = [
    ['Content-Length', (body) => quote({ ...signature(body), 'Content-Length': String(body.length) }, body)],
    ...[Number.POSITIVE_INFINITY, 16_384, 1_000, 7].map((size): [string, (body: Uint8Array) => Buffer] => [
      `chunks of ${size}`,
      (body) => quote({ ...signature(body), 'Transfer-Encoding': 'chunked' }, chunked(body, size)),
    ]),
  ]

  test.each(framings)('%s: 16,384 bytes are accepted, 16,385 are refused', async (_framing, send) => {
    expect((await ask(shop.port, send(padded(BODY_BYTES_MAX)))).status).toBe(200)
    const refused = await ask(shop.port, send(padded(BODY_BYTES_MAX + 1)))
    expect(expectRefusal(refused, 'payload_too_large')).toContain('16384')
    expect(refused.headers.connection).toBe('close')
  })

  test.each(framings)('%s: bytes are counted, not characters', async (_framing, send) => {
    // 5,462 characters in 16,382 bytes are read, and refused for their content; three bytes more are not read.
    expectRefusal(await ask(shop.port, send(euros(16_382))), 'invalid_request')
    expectRefusal(await ask(shop.port, send(euros(16_388))), 'payload_too_large')
  })

  test('a refused body spends nothing', async () => {
    const before = await admissionRows()
    for (const [, send] of framings) await ask(shop.port, send(padded(BODY_BYTES_MAX + 1)))
    expect(await admissionRows()).toEqual(before)
  })

  test.each([
    ['a declared length', (): Record<string, string> => ({ 'Content-Length': '50000000' })],
    ['chunks', (): Record<string, string> => ({ 'Transfer-Encoding': 'chunked' })],
  ])('with %s, a caller that keeps sending can still read the refusal', async (_what, framing) => {
    const line = await openLine(shop.port)
    line.socket.pause()
    line.send(quote({ ...signature(), ...framing() }))
    const piece = chunked('x'.repeat(10_000)).subarray(0, -5)
    for (let n = 0; n < 30; n += 1) {
      line.send(piece)
      await wait(20)
    }
    line.socket.resume()
    const answers = await line.rest()
    expect(answers.map(({ status }) => status)).toEqual([413])
    expectRefusal(answers[0], 'payload_too_large')
    expect(line.wasReset()).toBe(false)
    line.close()
  })

  test('the connection of a caller that never stops sending is closed', async () => {
    const line = await openLine(shop.port)
    line.send(quote({ ...signature(), 'Transfer-Encoding': 'chunked' }))
    const piece = chunked('x'.repeat(10_000)).subarray(0, -5)
    const timer = setInterval(() => line.send(piece), 10)
    line.socket.allowHalfOpen = true
    await new Promise((resolve) => line.socket.once('close', resolve))
    clearInterval(timer)
  })
})
