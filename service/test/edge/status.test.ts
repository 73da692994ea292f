import { PUBLIC_REQUESTS_PER_WINDOW_MAX, ServiceStatus } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ask, openLine, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal, faultsOf } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

const CALLS_MAX = PUBLIC_REQUESTS_PER_WINDOW_MAX

let shop: Shop
let nowMs = Date.now()
beforeAll(async () => {
  shop = await openShop({ clock: { nowMs: () => nowMs } })
})
afterAll(() => shop.close())
// A new minute for every test.
beforeEach(() => {
  nowMs += 60_000
})

const status = (headers = {}) => ask(shop.port, requestBytes('GET', '/v1/status', headers))

test('it says exactly what the contract lists, to anyone', async () => {
  const answer = await status()
  const body = JSON.parse(answer.body)
  expect(answer.status).toBe(200)
  expect(faultsOf(answer)).toEqual([])
  const validate = new Ajv({ strict: true }).compile(ServiceStatus)
  expect(validate(body), JSON.stringify(validate.errors)).toBe(true)
  expect(body).toEqual({
    status: 'operational',
    api: 'up',
    store: 'open',
    queue: 0,
    updated: new Date(nowMs).toISOString(),
  })
})

test('signature headers, right or wrong, are not looked at', async () => {
  const right = signedHeaders(shop.key, 'GET', '/v1/status')
  const variants = [
    right,
    right,
    { ...right, 'X-Api-Signature': 'f'.repeat(64) },
    { ...right, 'X-Api-Timestamp': '1' },
    { 'X-Api-Key': '' },
  ]
  for (const headers of variants) {
    const answer = await status(headers)
    expect([answer.status, answer.headers.ratelimit]).toEqual([200, undefined])
  }
})

test('a closed store makes it degraded', async () => {
  await shop.operator.setStore(false, 'test')
  nowMs += 1_000
  const body = JSON.parse((await status()).body)
  expect([body.status, body.api, body.store]).toEqual(['degraded', 'up', 'closed'])
  await shop.operator.setStore(true, null)
})

test('a body is not taken', async () => {
  const answer = await ask(shop.port, requestBytes('GET', '/v1/status', { 'Content-Length': '2' }, '{}'))
  expectRefusal(answer, 'invalid_request')
})

describe('an address has its own limit', () => {
  async function callMany(times: number, localAddress?: string) {
    const line = await openLine(shop.port, localAddress)
    const statuses = new Map<number, number>()
    for (let n = 0; n < times; n += 1) {
      line.send(requestBytes('GET', '/v1/status'))
      const { status = 0 } = (await line.next()) ?? {}
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    line.close()
    return Object.fromEntries(statuses)
  }

  test(`${CALLS_MAX} calls a minute are answered, the rest are told when to come back`, async () => {
    expect(await callMany(CALLS_MAX + 5)).toEqual({ 200: CALLS_MAX, 429: 5 })
    nowMs += 15_500
    const answer = await status()
    expectRefusal(answer, 'rate_limited')
    expect(answer.headers['retry-after']).toBe('45')
    nowMs += 45_000
    expect((await status()).status).toBe(200)
  })

  test('it holds for that address alone, and only here', async () => {
    await callMany(CALLS_MAX + 1)
    expect((await status()).status).toBe(429)
    expect(await callMany(1, '127.0.0.2')).toEqual({ 200: 1 })
    expect((await shop.call('GET', '/v1/ping', { nowMs })).status).toBe(200)
  })
})
