import { ServiceStatus } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { getStatus } from '../../src/edge/endpoints/status.ts'
import type { Db } from '../../src/platform/database/db.ts'
import { asSuperuser } from '../../testing/database.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { ask, openLine, type RawAnswer, requestBytes } from '../../testing/raw-http.ts'
import { expectRefusal, faultsOf } from '../../testing/refusals.ts'
import { openShop, type Shop, signedHeaders } from '../../testing/shop.ts'

let shop: Shop
let nowMs = Date.now()
let statements = 0
const counting = (db: Db): Db =>
  new Proxy(db, {
    get(target, name: keyof Db) {
      if (name === 'one' || name === 'maybeOne' || name === 'many') statements += 1
      return target[name]
    },
  })
beforeAll(async () => {
  shop = await openShop({
    clock: { nowMs: () => nowMs },
    endpoints: (db) => [getStatus(counting(db), () => undefined)],
  })
})
afterAll(() => shop.close())
// Time for a new sample in every test.
beforeEach(() => {
  nowMs += 60_000
})

const status = (headers = {}) => ask(shop.port, requestBytes('GET', '/v1/status', headers))

test('returns exactly what the contract lists, without authentication', async () => {
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

test('HEAD returns the headers of GET and no body, and the connection stays open', async () => {
  const line = await openLine(shop.port)
  const answerTo = async (method: string) => {
    line.send(requestBytes(method, '/v1/status'))
    return (await line.next({ isHead: method === 'HEAD' })) as RawAnswer
  }
  const got = await answerTo('GET')
  const asked = await answerTo('HEAD')
  expect((await answerTo('GET')).body).toBe(got.body)
  line.close()
  expect([asked.status, asked.body]).toEqual([200, ''])
  expect(faultsOf(asked, { isHead: true })).toEqual([])
  const { date: _, 'x-request-id': id, ...headers } = got.headers
  expect(asked.headers).toMatchObject(headers)
  expect(asked.headers['x-request-id']).not.toBe(id)
})

test('405 lists HEAD in Allow', async () => {
  const refused = await ask(shop.port, requestBytes('POST', '/v1/status'))
  expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD'])
})

test('signature headers, valid or not, are ignored', async () => {
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

test('a closed store is reported as degraded', async () => {
  await shop.operator.setStore(false, 'test')
  nowMs += 1_000
  const body = JSON.parse((await status()).body)
  expect([body.status, body.api, body.store]).toEqual(['degraded', 'up', 'closed'])
  await shop.operator.setStore(true, null)
})

test('a planned window closes the store and opens it again', async () => {
  const now = Date.now()
  const window = await shop.operator.planWindow({
    closes_at: new Date(now - 1_000),
    opens_at: new Date(now + 3_600_000),
    reason: 'stock-taking',
  })
  nowMs += 1_000
  expect(JSON.parse((await status()).body)).toMatchObject({ status: 'degraded', api: 'up', store: 'closed' })
  await shop.database.asOwner(
    `update store_windows set opens_at = clock_timestamp() where id = '${window.id}'`,
  )
  nowMs += 1_000
  expect(JSON.parse((await status()).body)).toMatchObject({ status: 'operational', store: 'open' })
  const ahead = await shop.operator.planWindow({
    closes_at: new Date(now - 1_000),
    opens_at: new Date(now + 3_600_000),
    reason: 'again',
  })
  await shop.operator.cancelWindow(ahead.id)
  nowMs += 1_000
  expect(JSON.parse((await status()).body).store).toBe('open')
})

describe('the queue', () => {
  test('counts orders that are paid and not delivered; a due job that no worker takes is reported as degraded', async () => {
    const id = '10000000000000001'
    await putItems(shop.database.operator, [itemOf(id)])
    const body = JSON.stringify({ items: [{ id, qty: 2 }], idempotency_key: 'in-the-queue' })
    const { body: order } = await shop.call('POST', '/v1/orders', { body, nowMs })
    nowMs += 1_000
    expect(JSON.parse((await status()).body)).toMatchObject({ status: 'operational', queue: 1 })
    await shop.database.asOwner(`update jobs set run_at = now() - interval '61 s'`)
    nowMs += 1_000
    expect(JSON.parse((await status()).body)).toMatchObject({
      status: 'degraded',
      api: 'up',
      store: 'open',
      queue: 1,
    })
    await shop.operator.cancelOrder(order.id, 'test')
    nowMs += 1_000
    expect(JSON.parse((await status()).body)).toMatchObject({ status: 'operational', queue: 0 })
  })
})

test('threat 13: a database that hangs is reported within seconds, with at most one query waiting', async () => {
  await asSuperuser(async (client) => {
    await client.query('begin; lock table store_state')
    nowMs += 1_000
    const askedMs = performance.now()
    const answers = await Promise.all(Array.from({ length: 20 }, () => status()))
    expect(performance.now() - askedMs).toBeLessThan(3_000)
    for (const answer of answers) {
      expect(JSON.parse(answer.body)).toMatchObject({
        status: 'degraded',
        api: 'unavailable',
        store: 'closed',
      })
    }
    await client.query('rollback')
  }, shop.database.superuserUrl)
  await expect
    .poll(async () => {
      nowMs += 1_000
      return JSON.parse((await status()).body).status
    })
    .toBe('operational')
})

test('a body is refused', async () => {
  const answer = await ask(shop.port, requestBytes('GET', '/v1/status', { 'Content-Length': '2' }, '{}'))
  expectRefusal(answer, 'invalid_request')
})

test('polling is never refused, and costs the database one query a second', async () => {
  const POLLS = 1_000
  const line = await openLine(shop.port)
  const poll = async () => {
    line.send(requestBytes('GET', '/v1/status'))
    const answer = await line.next()
    return `${answer?.status} ${JSON.parse(answer?.body ?? '{}').status}`
  }
  const before = statements
  expect(await poll()).toBe('200 operational')
  const perLook = statements - before
  // The clock of this shop is stopped, so all of it is one second.
  for (let n = 0; n < POLLS; n += 1) expect(await poll()).toBe('200 operational')
  expect(statements - before).toBe(perLook)
  nowMs += 1_000
  await poll()
  expect(statements - before).toBe(2 * perLook)
  line.close()
})
