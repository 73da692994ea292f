import { examples } from '@shopwire/contract/published'
import { describe, expect, test, vi } from 'vitest'
import {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  ShopwireError,
  StoreUnavailableError,
  TimeoutError,
  UnexpectedResponseError,
} from '../src/index.ts'
import { answer, cutShort, hangUp, refuse, silence, stall } from './scripted-server.ts'
import { cart, failureOf, openShop } from './shop.ts'

const balance = answer(200, examples.Balance)
const bought = answer(201, examples.Order)
const boughtBefore = answer(200, examples.Order, { 'Idempotent-Replayed': 'true' })
const open = answer(200, examples.ServiceStatus)
const closed = answer(200, { ...examples.ServiceStatus, status: 'degraded', store: 'closed' })

describe.concurrent('retries', () => {
  test.each([
    ['a dropped connection', hangUp],
    ['an answer cut short', cutShort],
    ['408', refuse(408, 'request_timeout')],
    ['nonce_reused', refuse(401, 'nonce_reused')],
    ['500', refuse(500, 'internal_error')],
    ["a proxy's 502", answer(502, '<html>Bad gateway</html>')],
    ['garbage under a 200', answer(200, 'not { JSON')],
  ])('%s: the second attempt succeeds', async (_name, step) => {
    const { shop, server } = await openShop([step, balance])
    const { data, attempts } = await shop.balance().withResponse()
    expect(data).toEqual(examples.Balance)
    expect(attempts).toBe(2)
    expect(server.arrived).toHaveLength(2)
  })

  test.each([
    ['400', refuse(400, 'invalid_request')],
    ['401', refuse(401, 'authentication_failed')],
    ['402', refuse(402, 'insufficient_funds')],
    ['403', refuse(403, 'insufficient_scope')],
    ['404', refuse(404, 'not_found')],
    ['409 price', refuse(409, 'price_changed')],
    ['409 stock', refuse(409, 'item_unavailable')],
    ['409 key', refuse(409, 'idempotency_conflict')],
    ['413', refuse(413, 'payload_too_large')],
    ["a proxy's 403", answer(403, 'go away')],
    ['a redirect', answer(307, '', { Location: '/v1/elsewhere' })],
  ])('%s is not', async (_name, step) => {
    const { shop, server } = await openShop([step, bought])
    await expect(shop.orders.create(cart)).rejects.toThrow()
    expect(server.arrived).toHaveLength(1)
  })

  test('after 429 waits as long as Retry-After says', async () => {
    const { shop, server } = await openShop([refuse(429, 'rate_limited', { 'Retry-After': '1' }), balance])
    await shop.balance()
    const [first, second] = server.arrived
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990)
  })

  test('a Retry-After of more than a minute is not waited for: the error has retryAfter', async () => {
    const { shop, server } = await openShop([refuse(429, 'rate_limited', { 'Retry-After': '61' })])
    expect(await failureOf(shop.balance())).toMatchObject({
      name: 'RateLimitError',
      retryAfter: 61,
      attempts: 1,
    })
    expect(server.arrived).toHaveLength(1)
  })

  test('retries at most maxRetries times, of the client or of the call', async () => {
    const { shop, server } = await openShop([hangUp, hangUp, hangUp, balance], { maxRetries: 1 })
    expect(await failureOf(shop.balance())).toMatchObject({ name: 'ConnectionError', attempts: 2 })
    expect(await failureOf(shop.balance({ maxRetries: 0 }))).toMatchObject({ attempts: 1 })
    expect(server.arrived).toHaveLength(3)
  })

  test('does not retry when maxRetries is not a number', async () => {
    const { shop, server } = await openShop([hangUp, balance])
    await expect(shop.balance({ maxRetries: Number.NaN })).rejects.toThrow(ConnectionError)
    expect(server.arrived).toHaveLength(1)
  })

  test('every attempt has the same body and a new nonce', async () => {
    const { shop, server } = await openShop([hangUp, refuse(408, 'request_timeout'), boughtBefore])
    const order = structuredClone(cart)
    const placed = shop.orders.create(order)
    order.items.push({ id: '999999999999999999', qty: 1, expected_price_cents: 1 })
    expect((await placed).replayed).toBe(true)
    const bodies = new Set(server.arrived.map(({ body }) => body.toString()))
    expect([...bodies]).toEqual([JSON.stringify({ items: cart.items, idempotency_key: cart.idempotencyKey })])
    const nonces = new Set(server.arrived.map(({ headers }) => headers['x-api-nonce']))
    expect(nonces.size).toBe(3)
  })

  test('does not retry webhookEndpoint.set after a lost answer, because the secret was in it', async () => {
    const { shop, server } = await openShop([hangUp, answer(200, examples.WebhookHealth)])
    await expect(shop.webhookEndpoint.set('https://shop.example/hook')).rejects.toThrow(ConnectionError)
    expect(server.arrived).toHaveLength(1)
  })
})

describe.concurrent('orders and 503', () => {
  const unavailable = refuse(503, 'service_unavailable', { 'Retry-After': '1' })
  const storeClosed = refuse(503, 'store_closed', { 'Retry-After': '1' })

  test('after a 503 an order is sent again only after a request to /status', async () => {
    const { shop, server } = await openShop([unavailable, boughtBefore], { status: open })
    await shop.orders.create(cart)
    expect(server.arrived.map(({ target }) => target)).toEqual(['/v1/orders', '/v1/status', '/v1/orders'])
  })

  test("after a proxy's 503 an order is sent again only after a request to /status", async () => {
    const proxied = answer(503, '<html>Unavailable</html>', { 'Retry-After': '1' })
    const { shop, server } = await openShop([proxied, boughtBefore], { status: open })
    await shop.orders.create(cart)
    expect(server.arrived.map(({ target }) => target)).toEqual(['/v1/orders', '/v1/status', '/v1/orders'])
  })

  test('while the store is closed an order fails at once and nothing was bought', async () => {
    const { shop, server } = await openShop([storeClosed, bought], { status: closed })
    const error = (await failureOf(shop.orders.create(cart))) as StoreUnavailableError
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(error).toMatchObject({ type: 'store_closed', isOutcomeUnknown: false, retryAfter: 1, attempts: 1 })
    expect(server.arrived.map(({ target }) => target)).toEqual(['/v1/orders', '/v1/status'])
  })

  test('an order is sent again when the store has opened meanwhile', async () => {
    const { shop } = await openShop([storeClosed, bought], { status: open })
    expect((await shop.orders.create(cart)).replayed).toBe(false)
  })

  test('while /status does not answer an order is not sent, and each check counts as an attempt', async () => {
    const { shop, server } = await openShop([unavailable, bought], { status: hangUp, maxRetries: 1 })
    expect(await failureOf(shop.orders.create(cart))).toMatchObject({ isOutcomeUnknown: true })
    expect(server.arrived.filter(({ target }) => target === '/v1/orders')).toHaveLength(1)
  })

  test('other calls do not ask /status', async () => {
    const { shop, server } = await openShop([unavailable, balance], { status: open })
    await shop.balance()
    expect(server.arrived.map(({ target }) => target)).toEqual(['/v1/balance', '/v1/balance'])
  })
})

describe.concurrent('isOutcomeUnknown of a failed order', () => {
  const once = { maxRetries: 0 }
  const limited = refuse(429, 'rate_limited', { 'Retry-After': '61' })

  test.each([
    ['no answer', [hangUp], true],
    ['half an answer', [cutShort], true],
    ["a proxy's 504", [answer(504, 'timeout')], true],
    ['service_unavailable', [refuse(503, 'service_unavailable')], true],
    ['too little money', [refuse(402, 'insufficient_funds')], false],
    ['a rate limit', [limited], false],
  ])('%s: %s', async (_name, steps, isOutcomeUnknown) => {
    const { shop } = await openShop(steps)
    expect(await failureOf(shop.orders.create(cart, once))).toMatchObject({ isOutcomeUnknown })
  })

  test('stays true after a lost answer when the next attempt is refused before the key lookup', async () => {
    const { shop } = await openShop([hangUp, limited])
    expect(await failureOf(shop.orders.create(cart))).toMatchObject({ isOutcomeUnknown: true, attempts: 2 })
  })

  test('is false after a lost answer when the next attempt is refused after the key lookup', async () => {
    const { shop } = await openShop([hangUp, refuse(402, 'insufficient_funds')])
    expect(await failureOf(shop.orders.create(cart))).toMatchObject({ isOutcomeUnknown: false, attempts: 2 })
  })
})

test('a success without what an order has is not the store: the outcome is unknown, and the order is asked for again', async () => {
  const { shop, server } = await openShop([answer(201, {}), boughtBefore])
  expect(await shop.orders.create(cart)).toMatchObject({ id: examples.Order.id, replayed: true })
  expect(server.arrived).toHaveLength(2)
  const { shop: other } = await openShop([answer(201, {})])
  expect(await failureOf(other.orders.create(cart, { maxRetries: 0 }))).toMatchObject({
    name: 'UnexpectedResponseError',
    isOutcomeUnknown: true,
  })
})

describe.concurrent('clock correction', () => {
  const serverMs = Date.parse('2026-11-14T12:00:00Z')
  const wrong = refuse(401, 'timestamp_out_of_range', { Date: new Date(serverMs).toUTCString() })

  test('takes the offset from the Date header of a 401 timestamp_out_of_range and keeps it', async () => {
    const { shop, server } = await openShop([wrong, balance, balance], { now: () => serverMs - 300_000 })
    expect(shop.clockOffsetMs).toBe(0)
    await shop.balance()
    await shop.balance()
    const stamps = server.arrived.map(({ headers }) => Number(headers['x-api-timestamp']))
    expect(stamps).toEqual([serverMs / 1000 - 300, serverMs / 1000, serverMs / 1000])
    expect(shop.clockOffsetMs).toBe(300_000)
  })

  test('ignores the Date header of other answers', async () => {
    const far = { Date: new Date(serverMs).toUTCString() }
    const { shop } = await openShop([
      answer(200, examples.Balance, far),
      refuse(401, 'nonce_reused', far),
      balance,
    ])
    await shop.balance()
    await shop.balance()
    expect(shop.clockOffsetMs).toBe(0)
  })

  test('throws an AuthenticationError after maxRetries when the offset does not help', async () => {
    const { shop, server } = await openShop([wrong, wrong, wrong])
    const error = await failureOf(shop.balance())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error).toMatchObject({ type: 'timestamp_out_of_range', attempts: 3 })
    expect(server.arrived).toHaveLength(3)
  })
})

describe.concurrent('timeouts and aborts', () => {
  test.each([
    ['no answer', silence],
    ['an answer that never ends', stall],
  ])('timeout: %s', async (_name, step) => {
    const { shop, server } = await openShop([step, step], { timeout: 1000, maxRetries: 1 })
    const error = (await failureOf(shop.balance())) as ShopwireError
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error.attempts).toBe(2)
    expect(server.arrived).toHaveLength(2)
  })

  test('a timeout of Infinity never fires', async () => {
    const { shop } = await openShop([balance], { timeout: Number.POSITIVE_INFINITY, maxRetries: 0 })
    expect(await shop.balance()).toEqual(examples.Balance)
  })

  test('abort while waiting for the answer to an order: an AbortedError with isOutcomeUnknown set', async () => {
    const { shop, server } = await openShop([silence])
    const controller = new AbortController()
    const failure = failureOf(shop.orders.create(cart, { signal: controller.signal }))
    await vi.waitFor(() => expect(server.arrived).toHaveLength(1))
    controller.abort('enough')
    const error = await failure
    expect(error).toBeInstanceOf(AbortedError)
    expect(error).toBeInstanceOf(ShopwireError)
    expect(error).toMatchObject({ cause: 'enough', attempts: 1, isOutcomeUnknown: true })
  })

  test.each([
    ['before the call', AbortSignal.abort('enough')],
    ['while the request is being signed', undefined],
  ])('abort %s: nothing was sent, and nothing bought', async (_name, signal) => {
    const { shop, server } = await openShop([bought])
    const controller = new AbortController()
    const failure = failureOf(shop.orders.create(cart, { signal: signal ?? controller.signal }))
    controller.abort('enough')
    expect(await failure).toMatchObject({
      name: 'AbortedError',
      cause: 'enough',
      attempts: 0,
      isOutcomeUnknown: false,
    })
    expect(server.arrived).toHaveLength(0)
  })

  test.each([
    ['a refusal without execution', [refuse(429, 'rate_limited', { 'Retry-After': '60' })], false],
    ['a lost answer', [hangUp, refuse(429, 'rate_limited', { 'Retry-After': '60' })], true],
    ['a 503', [refuse(503, 'service_unavailable', { 'Retry-After': '60' })], true],
  ])('abort in the pause after %s', async (_name, steps, isOutcomeUnknown) => {
    const { shop, server } = await openShop(steps, { status: open })
    const controller = new AbortController()
    const failure = failureOf(shop.orders.create(cart, { signal: controller.signal }))
    await vi.waitFor(() => expect(server.arrived).toHaveLength(steps.length))
    controller.abort()
    expect(await failure).toMatchObject({ name: 'AbortedError', attempts: steps.length, isOutcomeUnknown })
  })

  test('abort while /status is asked', async () => {
    const unavailable = refuse(503, 'service_unavailable', { 'Retry-After': '0' })
    const { shop, server } = await openShop([unavailable], { status: silence })
    const controller = new AbortController()
    const failure = failureOf(shop.orders.create(cart, { signal: controller.signal }))
    await vi.waitFor(() => expect(server.arrived).toHaveLength(2))
    controller.abort()
    expect(await failure).toMatchObject({ name: 'AbortedError', isOutcomeUnknown: true })
  })

  test('within limits all attempts together, and the outcome of an order stays unknown', async () => {
    const { shop, server } = await openShop([hangUp, silence])
    const error = await failureOf(shop.orders.create(cart, { within: 1_500, maxRetries: 9 }))
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toMatchObject({
      message: 'POST /v1/orders was not answered within 1500 ms, all attempts together.',
      attempts: 2,
      isOutcomeUnknown: true,
    })
    expect(server.arrived).toHaveLength(2)
  })

  test('within that ends before the required pause: the refusal is thrown at once', async () => {
    const { shop } = await openShop([refuse(429, 'rate_limited', { 'Retry-After': '30' })])
    const error = await failureOf(shop.orders.create(cart, { within: 5_000 }))
    expect(error).toMatchObject({ name: 'RateLimitError', retryAfter: 30, isOutcomeUnknown: false })
  })
})

test('a redirect is not followed, and the error says what to do', async () => {
  const { shop, server } = await openShop([
    answer(308, '', { Location: 'https://elsewhere.example/v1' }),
    balance,
  ])
  const error = await failureOf(shop.balance())
  expect(error).toBeInstanceOf(UnexpectedResponseError)
  expect(error).toMatchObject({ status: 308, message: expect.stringContaining('baseUrl') })
  expect(server.arrived).toHaveLength(1)
})
