import { connect } from 'node:net'
import { startWebhookReceiver, type WebhookReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Emulator, type FaultRequest, startEmulator } from '../src/index.ts'
import {
  type Account,
  call,
  clientOf,
  deliveriesOf,
  faultNamed,
  ledgerOf,
  newKey,
  orderBody,
  ordersOf,
  RING,
  RING_CENTS,
  requestsOf,
  ring,
  signed,
} from './support.ts'

let emulator: Emulator
let receiver: WebhookReceiver

beforeAll(async () => {
  ;[emulator, receiver] = await Promise.all([
    startEmulator({ requestsPerMinute: 100_000, ordersPerMinute: 100_000 }),
    startWebhookReceiver(),
  ])
})

afterAll(async () => {
  await emulator.stop()
  await receiver.close()
})

/** Armed for a separate account, so that the tests do not affect each other. */
async function armed(...faults: Omit<FaultRequest, 'account_id'>[]): Promise<Account> {
  const account = await emulator.createAccount()
  for (const fault of faults)
    await emulator.arm({ ...(fault as FaultRequest), account_id: account.accountId })
  return account
}

async function withEvents(...faults: Omit<FaultRequest, 'account_id'>[]): Promise<Account> {
  const account = await armed(...faults)
  await emulator.control('POST', '/webhook', { url: receiver.url, account_id: account.accountId })
  return account
}

const post = (account: Account, body = orderBody()) => call(emulator, account, 'POST', '/v1/orders', { body })

const gotFor = (order_id: string) => receiver.arrivals.filter(({ data }) => data.order?.id === order_id)

describe('requests', () => {
  test('lost_answer: the order exists, its answer is lost, and the same key returns it', async () => {
    const account = await armed({ name: 'lost_answer' })
    const body = orderBody()
    await expect(post(account, body)).rejects.toThrow('fetch failed')
    expect(await ordersOf(emulator, account.accountId)).toHaveLength(1)
    const again = await post(account, body)
    expect(again.status).toBe(200)
    const [lost, found] = await requestsOf(emulator, account.accountId)
    expect(lost).toMatchObject({ status: 201, sent: false, fault: 'lost_answer' })
    expect(found).toMatchObject({ status: 200, sent: true, fault: null })
  })

  test('dropped_connection: the request does not reach the service', async () => {
    const account = await armed({ name: 'dropped_connection' })
    await expect(post(account)).rejects.toThrow('fetch failed')
    expect(await ordersOf(emulator, account.accountId)).toEqual([])
    const [dropped] = await requestsOf(emulator, account.accountId)
    expect(dropped).toMatchObject({ status: null, sent: false, fault: 'dropped_connection' })
    expect(dropped?.body).toContain(RING)
  })

  test("slow_body: 408 with the service's message, and the nonce is not spent", async () => {
    const account = await armed({ name: 'slow_body' })
    const answer = await post(account)
    expect([answer.status, answer.body.error.type]).toEqual([408, 'request_timeout'])
    expect(answer.headers.get('connection')).toBe('close')
    expect((await post(account)).status).toBe(201)
  })

  test('rate_limited: 429 with Retry-After and the bucket that is full', async () => {
    const account = await armed({ name: 'rate_limited', bucket: 'orders', retry_after_s: 7 })
    const answer = await post(account)
    expect([answer.status, answer.body.error.type]).toEqual([429, 'rate_limited'])
    expect(answer.headers.get('retry-after')).toBe('7')
    expect(answer.headers.get('ratelimit')).toContain('"orders";r=0;t=7')
    expect((await post(account)).status).toBe(201)
  })

  test.each([
    ['unavailable', 503, 'service_unavailable'],
    ['server_error', 500, 'internal_error'],
  ] as const)('%s: %i, with and without the order', async (name, status, type) => {
    const account = await armed({ name }, { name, after_commit: true })
    const answer = await post(account)
    expect([answer.status, answer.body.error.type]).toEqual([status, type])
    expect(await ordersOf(emulator, account.accountId)).toHaveLength(0)
    const body = orderBody()
    expect((await post(account, body)).status).toBe(status)
    expect(await ordersOf(emulator, account.accountId)).toHaveLength(1)
    expect((await post(account, body)).status).toBe(200)
  })

  test('overloaded: 503 before anything is done, and neither nonce nor limits are touched', async () => {
    const account = await armed({ name: 'overloaded' })
    const before = (await call(emulator, account, 'GET', '/v1/ping')).headers.get('ratelimit')
    const body = orderBody()
    const { headers } = signed(account, 'POST', '/v1/orders', body)
    const send = () => fetch(`${emulator.url}/v1/orders`, { method: 'POST', headers, body })
    const refused = await send()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect(refused.headers.get('ratelimit')).toBeNull()
    const { error } = (await refused.json()) as { error: { type: string; message: string } }
    expect(error.type).toBe('service_unavailable')
    expect(error.message).toContain('Nothing was done.')
    // The same nonce is accepted, so it was not spent, and it is the first order and the second request that count.
    const bought = await send()
    expect(bought.status).toBe(201)
    const left = (text: string | null) => Number(/"req";r=(\d+)/.exec(text ?? '')?.[1])
    expect(left(bought.headers.get('ratelimit'))).toBe(left(before) - 1)
  })

  test('bad_gateway: 502 without a body, with and without the order', async () => {
    const account = await armed({ name: 'bad_gateway' }, { name: 'bad_gateway', after_commit: true })
    const body = orderBody()
    for (const orders of [0, 1]) {
      const answer = await post(account, body)
      expect([answer.status, answer.body]).toEqual([502, null])
      expect(await ordersOf(emulator, account.accountId)).toHaveLength(orders)
    }
    expect((await post(account, body)).status).toBe(200)
    const [first] = await requestsOf(emulator, account.accountId)
    expect(first).toMatchObject({ status: 502, sent: true, fault: 'bad_gateway' })
  })

  test('slow_answer: the answer is delayed and unchanged', async () => {
    const account = await armed({ name: 'slow_answer', ms: 300 })
    const startedMs = performance.now()
    expect((await post(account)).status).toBe(201)
    expect(performance.now() - startedMs).toBeGreaterThan(295)
  })

  test('clock_skew: a correct timestamp is refused, and the time of the Date header is accepted', async () => {
    const account = await armed({ name: 'clock_skew' })
    const answer = await call(emulator, account, 'GET', '/v1/ping')
    expect([answer.status, answer.body.error.type]).toEqual([401, 'timestamp_out_of_range'])
    const dateMs = Date.parse(answer.headers.get('date') ?? '')
    expect(Math.abs(dateMs - Date.now() - 90_000)).toBeLessThan(3_000)
    expect((await call(emulator, account, 'GET', '/v1/ping', { nowMs: dateMs })).status).toBe(200)
    expect(await faultNamed(emulator, 'clock_skew')).toMatchObject({ armed: true, times_left: null })
    await emulator.disarm('clock_skew', { accountId: account.accountId })
    expect((await call(emulator, account, 'GET', '/v1/ping')).status).toBe(200)
  })

  test('store_closed: the store is closed for all accounts, and /status reports it', async () => {
    const account = await emulator.createAccount()
    const earlier = orderBody()
    await post(account, earlier)
    await emulator.arm({ name: 'store_closed' })
    const answer = await post(account)
    expect([answer.status, answer.body.error.type]).toEqual([503, 'store_closed'])
    expect((await post(account, earlier)).status).toBe(200)
    const store = async () =>
      ((await (await fetch(`${emulator.baseUrl}/status`)).json()) as { store: string }).store
    await expect.poll(store).toBe('closed')
    expect(await faultNamed(emulator, 'store_closed')).toMatchObject({ armed: true, hits: 1 })
    await emulator.disarm('store_closed')
    expect((await post(account)).status).toBe(201)
    await expect.poll(store).toBe('open')
  })

  test('store_closed for one account: the store stays open for the others', async () => {
    const account = await armed({ name: 'store_closed', times: 1 })
    const other = await emulator.createAccount()
    expect((await post(other)).status).toBe(201)
    expect((await post(account)).body.error.type).toBe('store_closed')
    expect((await post(account)).status).toBe(201)
  })

  test('price_change: the price changes just before the order, which gets 409 price_changed', async () => {
    const account = await armed({ name: 'price_change', by_cents: 25 })
    const { body: item } = await call(emulator, account, 'GET', '/v1/catalogue/1144058340328047004')
    const items = [{ id: item.id, expected_price_cents: item.price_cents }]
    const answer = await post(account, orderBody(newKey(), items))
    expect([answer.status, answer.body.error.type]).toEqual([409, 'price_changed'])
    const raised = [{ id: item.id, expected_price_cents: item.price_cents + 25 }]
    expect((await post(account, orderBody(newKey(), raised))).status).toBe(201)
  })

  test('sold_out: the item becomes unavailable just before the order, until it is set sellable again', async () => {
    const id = '1144058340329047007'
    const account = await armed({ name: 'sold_out' })
    const answer = await post(account, orderBody(newKey(), [{ id }]))
    expect([answer.status, answer.body.error.type]).toEqual([409, 'item_unavailable'])
    const item = await emulator.control('POST', `/items/${id}`, { sellable: true })
    expect(item).toMatchObject({ id, sellable: true })
    expect((await post(account, orderBody(newKey(), [{ id }]))).status).toBe(201)
  })
})

describe('orders', () => {
  test('supplier_failure: paid, then cancelled and refunded', async () => {
    const account = await withEvents({ name: 'supplier_failure' })
    const order = await clientOf(emulator, account).orders.create(ring())
    await expect.poll(async () => (await ordersOf(emulator, account.accountId))[0]?.status).toBe('cancelled')
    const { balance_cents, transfers } = await ledgerOf(emulator, account.accountId)
    expect(balance_cents).toBe(25_000)
    expect(transfers.slice(0, 2).map(({ kind, amount_cents }) => [kind, amount_cents])).toEqual([
      ['refund', RING_CENTS],
      ['order', -RING_CENTS],
    ])
    await expect
      .poll(() =>
        gotFor(order.id)
          .map(({ event }) => event)
          .sort(),
      )
      .toEqual(['order.accepted', 'order.cancelled'])
  })

  test('slow_fulfilment: the order stays paid, and can be delivered or cancelled manually meanwhile', async () => {
    const account = await armed(
      { name: 'slow_fulfilment', ms: 60_000, times: 2 },
      { name: 'slow_fulfilment', ms: 400 },
    )
    const client = clientOf(emulator, account)
    const [one, two, three] = [
      await client.orders.create(ring()),
      await client.orders.create(ring()),
      await client.orders.create(ring()),
    ]
    await expect.poll(async () => (await client.orders.get(three.id)).status).toBe('delivered')
    expect((await client.orders.get(one.id)).status).toBe('paid')
    expect(await emulator.control('POST', `/orders/${one.id}/deliver`)).toMatchObject({ status: 'delivered' })
    expect((await client.orders.get(one.id)).links).toHaveLength(1)
    expect(await emulator.control('POST', `/orders/${two.id}/cancel`)).toMatchObject({ status: 'cancelled' })
    await expect(emulator.control('POST', `/orders/${two.id}/deliver`)).rejects.toThrow('cancelled already')
  })
})

describe('events', () => {
  test('duplicate_event: the same event arrives twice', async () => {
    const account = await withEvents({ name: 'duplicate_event', event: 'order.delivered' })
    const { id } = await clientOf(emulator, account).orders.create(ring())
    await expect.poll(() => gotFor(id).length).toBe(3)
    const delivered = gotFor(id).filter(({ event }) => event === 'order.delivered')
    expect(delivered.map((one) => one.id)).toEqual([delivered[0]?.id, delivered[0]?.id])
    const deliveries = await deliveriesOf(emulator, account.accountId)
    expect(deliveries.filter(({ fault }) => fault === 'duplicate_event')).toHaveLength(2)
  })

  test('late_event: an event is delayed', async () => {
    const account = await withEvents({ name: 'late_event', ms: 600, event: 'order.accepted' })
    const startedMs = Date.now()
    const { id } = await clientOf(emulator, account).orders.create(ring())
    await expect.poll(() => gotFor(id).length).toBe(2)
    const accepted = gotFor(id).find(({ event }) => event === 'order.accepted')
    expect((accepted?.atMs ?? 0) - startedMs).toBeGreaterThan(595)
  })

  test('out_of_order_events: order.accepted arrives after order.delivered', async () => {
    const account = await withEvents({ name: 'out_of_order_events' })
    const { id } = await clientOf(emulator, account).orders.create(ring())
    await expect
      .poll(() => gotFor(id).map(({ event }) => event))
      .toEqual(['order.delivered', 'order.accepted'])
  })

  test('out_of_order_events until disarmed does not block many orders at once', async () => {
    const account = await withEvents({ name: 'out_of_order_events', times: 0 })
    const client = clientOf(emulator, account)
    const placed = await Promise.all(Array.from({ length: 8 }, () => client.orders.create(ring())))
    await expect.poll(() => placed.flatMap(({ id }) => gotFor(id)).length).toBe(16)
    await emulator.disarm('out_of_order_events', { accountId: account.accountId })
  })

  test('lost_event: the event does not arrive, and stays pending for a retry', async () => {
    const account = await withEvents({ name: 'lost_event', event: 'order.accepted' })
    const client = clientOf(emulator, account)
    const { id } = await client.orders.create(ring())
    await expect.poll(() => gotFor(id).map(({ event }) => event)).toEqual(['order.delivered'])
    await expect.poll(async () => (await client.webhookEndpoint.get()).last_error).toBe('reset')
    expect((await client.webhookEndpoint.get()).pending).toBe(1)
  })
})

describe('what a fault applies to', () => {
  test('as often as `times` says, in the order the faults were armed', async () => {
    const account = await armed({ name: 'rate_limited', times: 2 }, { name: 'unavailable' })
    const statuses = []
    for (let n = 0; n < 4; n += 1) statuses.push((await post(account)).status)
    expect(statuses).toEqual([429, 429, 503, 201])
  })

  test('faults with `times` apply before those armed until disarmed', async () => {
    const account = await armed({ name: 'server_error', times: 0 }, { name: 'unavailable' })
    expect([
      (await post(account)).status,
      (await post(account)).status,
      (await post(account)).status,
    ]).toEqual([503, 500, 500])
    await emulator.disarm('server_error', { accountId: account.accountId })
    expect((await post(account)).status).toBe(201)
  })

  test('only the route in `on`, and all signed requests with "*"', async () => {
    const account = await armed({ name: 'unavailable', on: 'GET /orders/{id}' })
    expect((await call(emulator, account, 'GET', '/v1/orders')).status).toBe(200)
    expect((await post(account)).status).toBe(201)
    expect((await call(emulator, account, 'GET', '/v1/orders/ord_x')).status).toBe(503)
    await emulator.arm({ name: 'unavailable', on: '*', account_id: account.accountId })
    expect((await fetch(`${emulator.baseUrl}/status`)).status).toBe(200)
    expect((await call(emulator, account, 'GET', '/v1/balance')).status).toBe(503)
  })

  test('no other account, and no request that would have been refused anyway', async () => {
    const account = await armed({ name: 'unavailable' })
    const other = await emulator.createAccount()
    expect((await post(other)).status).toBe(201)
    const forged = { ...account, key: { ...account.key, secret: 'sk_wrong' } }
    expect((await post(forged)).status).toBe(401)
    expect((await post(account, '{"items":[]}')).status).toBe(400)
    expect((await post(account)).status).toBe(503)
    expect((await post(account)).status).toBe(201)
  })

  test('exactly `times` requests when many arrive at once, per account', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 6 }, () => armed({ name: 'unavailable', times: 3 })),
    )
    const statuses = await Promise.all(
      accounts.map(async (account) =>
        (await Promise.all(Array.from({ length: 8 }, () => post(account))))
          .map(({ status }) => status)
          .sort(),
      ),
    )
    for (const own of statuses) expect(own).toEqual([201, 201, 201, 201, 201, 503, 503, 503])
  })

  test('a pipelined request on a broken connection releases its fault', async () => {
    const account = await armed({ name: 'lost_answer' }, { name: 'unavailable' })
    const raw = () => {
      const body = orderBody()
      const headers = Object.entries(signed(account, 'POST', '/v1/orders', body).headers)
      const lines = [
        'host: localhost',
        `content-length: ${body.length}`,
        ...headers.map((pair) => pair.join(': ')),
      ]
      return `POST /v1/orders HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
    }
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(emulator.url).port), '127.0.0.1')
      socket.on('error', () => {}).on('close', () => resolve())
      socket.write(raw() + raw())
    })
    expect(await ordersOf(emulator, account.accountId)).toHaveLength(1)
    expect((await faultNamed(emulator, 'unavailable')).armed).toBe(true)
    await expect.poll(async () => (await post(account)).status).toBe(503)
  })

  test('refuses invalid faults and lists the valid values', async () => {
    const arm = (fault: object) => emulator.arm(fault as FaultRequest)
    await expect(arm({ name: 'nope' })).rejects.toThrow('The faults are lost_answer')
    await expect(arm({ name: 'lost_answer', ms: 3 })).rejects.toThrow('does not take ms')
    await expect(arm({ name: 'slow_answer', ms: -1 })).rejects.toThrow('from 0 to')
    await expect(arm({ name: 'lost_answer', on: 'GET /nowhere' })).rejects.toThrow('on is one of')
    await expect(arm({ name: 'lost_answer', times: 1.5 })).rejects.toThrow('times')
  })
})

test('after all tests the database violates no invariant of a real store', async () => {
  expect(await emulator.control('POST', '/verify')).toEqual({ ok: true, violations: [] })
})
