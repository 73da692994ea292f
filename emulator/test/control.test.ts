import { request } from 'node:http'
import { connect } from 'node:net'
import { verifyWebhook } from '@shopwire/contract/signing'
import { startWebhookReceiver, type WebhookReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EmulatedOrder, type Emulator, startEmulator } from '../src/index.ts'
import {
  call,
  clientOf,
  deliveriesOf,
  type Key,
  ledgerOf,
  newKey,
  orderBody,
  ordersOf,
  requestsOf,
  ring,
  signed,
} from './support.ts'

let emulator: Emulator
let receiver: WebhookReceiver

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  emulator = await startEmulator({
    balanceCents: 12_345,
    webhook: { url: receiver.url, secret: 'whsec_of_my_own' },
    faults: [{ name: 'slow_answer', ms: 1, times: 0, account_id: 'acct_nobody' }],
  })
})

afterAll(async () => {
  await emulator.stop()
  await receiver.close()
})

const first = () => ({ key: emulator.key, accountId: emulator.accountId })

test('GET /_emulator returns version, addresses, and the constant key', async () => {
  const about = await emulator.control<Record<string, unknown>>('GET', '')
  expect(about).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    base_url: emulator.baseUrl,
    account_id: 'acct_00000000000000000000000001',
    key: {
      id: 'key_emulator_00000000000000000000000001',
      secret: 'sk_emulator-play-money-everyone-knows-this-one',
    },
    webhook: { url: receiver.url, secret: 'whsec_of_my_own' },
  })
  const armed = (about.faults as { name: string; armed: boolean }[]).filter((fault) => fault.armed)
  expect(armed.map(({ name }) => name)).toEqual(['slow_answer'])
})

test('the catalogue has every item type, one item not for sale, and one with an end date', async () => {
  const client = clientOf(emulator, first())
  expect(await client.ping()).toMatchObject({ ok: true })
  expect((await client.balance()).balance_cents).toBe(12_345)
  const { items } = await client.catalogue.list()
  expect(items).toHaveLength(12)
  expect([...new Set(items.map(({ type }) => type))].sort()).toEqual([
    'bundle',
    'decoration',
    'effect',
    'frame',
    'nameplate',
  ])
  expect(items.filter(({ sellable }) => !sellable)).toHaveLength(1)
  expect(items.filter(({ available_until }) => available_until !== null)).toHaveLength(1)
})

test('an order is delivered at once, and its events are sent to this machine, signed with the chosen secret', async () => {
  const client = clientOf(emulator, first())
  const order = await client.orders.create(ring())
  await expect.poll(async () => (await client.orders.get(order.id)).links.length).toBe(1)
  const mine = () => receiver.arrivals.filter(({ data }) => data.order?.id === order.id)
  await expect
    .poll(() =>
      mine()
        .map(({ event }) => event)
        .sort(),
    )
    .toEqual(['order.accepted', 'order.delivered'])
  for (const { headers, body } of mine()) {
    const nowS = Date.now() / 1000
    const event = { headers, body: Buffer.from(body) }
    expect(verifyWebhook({ secrets: ['whsec_of_my_own'], ...event, nowS })).toEqual({ ok: true })
  }
  const deliveries = (await deliveriesOf(emulator, emulator.accountId)).filter(
    (one) => one.order_id === order.id,
  )
  expect(deliveries).toHaveLength(2)
  expect(deliveries[0]).toMatchObject({ status: 204, error: null, url: receiver.url, fault: null })
  const [shown] = await ordersOf(emulator, emulator.accountId)
  expect(shown).toMatchObject({ id: order.id, status: 'delivered', total_cents: 499 })
  expect(shown?.transfers).toMatchObject([{ kind: 'order', amount_cents: -499 }])
})

test('requests are listed with body, answer and canonical text', async () => {
  const account = await emulator.createAccount({ name: 'Looking', balanceCents: 0 })
  const body = orderBody('looking-at-this-1')
  const answer = await call(emulator, account, 'POST', '/v1/orders', { body })
  expect(answer.body.error.type).toBe('insufficient_funds')
  await call(emulator, { key: { ...account.key, secret: 'sk_wrong' } }, 'GET', '/v1/ping?x=1')
  const [order, forged] = await requestsOf(emulator, account.accountId)
  expect(order).toMatchObject({
    id: answer.headers.get('x-request-id'),
    method: 'POST',
    target: '/v1/orders',
    key_id: account.key.id,
    nonce: answer.nonce,
    idempotency_key: 'looking-at-this-1',
    body,
    status: 402,
    sent: true,
    error_type: 'insufficient_funds',
    answer: JSON.stringify(answer.body),
    mistake: null,
    fault: null,
  })
  expect(order?.canonical?.split('\n').slice(0, 2)).toEqual(['POST', '/v1/orders'])
  expect(forged).toMatchObject({ target: '/v1/ping?x=1', status: 401, error_type: 'authentication_failed' })
  const { requests, last } = await emulator.control<{ requests: object[]; last: number }>(
    'GET',
    `/requests?after=${order?.seq}&limit=1`,
  )
  expect(requests).toMatchObject([{ seq: forged?.seq }])
  expect(last).toBeGreaterThanOrEqual(forged?.seq ?? 0)
})

test('a body that arrives in pieces is checked and recorded as a whole', async () => {
  const { port } = new URL(emulator.url)
  const account = await emulator.createAccount()
  const body = orderBody('in-pieces-0001')
  const headers = Object.entries(signed(account, 'POST', '/v1/orders', body).headers)
  const head = [
    'POST /v1/orders HTTP/1.1',
    'host: localhost',
    'connection: close',
    `content-length: ${body.length}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ]
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 7)}`)
    // There is no signal that the first piece was read, so there is nothing to await.
    setTimeout(() => socket.write(body.slice(7)), 30)
  })
  expect(answer).toMatch(/^HTTP\/1\.1 201 /)
  expect(await requestsOf(emulator, account.accountId)).toMatchObject([{ body, status: 201 }])
})

test('the balance is set by a transfer, up and down', async () => {
  const account = await emulator.createAccount({ balanceCents: 1_000 })
  for (const balance_cents of [50_000, 7, 0]) {
    await emulator.control('POST', '/balance', { balance_cents, account_id: account.accountId })
    expect((await ledgerOf(emulator, account.accountId)).balance_cents).toBe(balance_cents)
  }
  const { transfers } = await ledgerOf(emulator, account.accountId)
  expect(transfers.map(({ amount_cents }) => amount_cents)).toEqual([-7, -49_993, 49_000, 1_000])
})

test('a changed item is visible to callers', async () => {
  const client = clientOf(emulator, first())
  const id = '1144058340336047028'
  await emulator.control('POST', `/items/${id}`, { price_cents: 321, sellable: false })
  await expect
    .poll(async () => await client.catalogue.get(id))
    .toMatchObject({ price_cents: 321, sellable: false })
  await expect(emulator.control('POST', '/items/99999999999999999', { sellable: true })).rejects.toThrow(
    'no item',
  )
})

test('a new account has the given scopes', async () => {
  const { key } = await emulator.createAccount({ scopes: ['catalogue:read'] })
  expect((await call(emulator, { key }, 'GET', '/v1/catalogue')).status).toBe(200)
  expect((await call(emulator, { key }, 'GET', '/v1/balance')).status).toBe(403)
})

test('orders are found by idempotency key', async () => {
  const account = await emulator.createAccount()
  const key = newKey()
  await clientOf(emulator, account).orders.create(ring(key))
  await clientOf(emulator, account).orders.create(ring())
  const { orders } = await emulator.control<{ orders: EmulatedOrder[] }>(
    'GET',
    `/orders?idempotency_key=${key}`,
  )
  expect(orders.map(({ idempotency_key }) => idempotency_key)).toEqual([key])
})

test('POST /webhook accepts a local http:// URL; https:// must be what a store accepts', async () => {
  const client = clientOf(emulator, await emulator.createAccount())
  const set = await client.webhookEndpoint.set(receiver.url)
  expect(set.secret).toMatch(/^whsec_/)
  await client.webhookEndpoint.test()
  await expect.poll(() => receiver.arrivals.some(({ event }) => event === 'test')).toBe(true)
  await expect(client.webhookEndpoint.set('http://8.8.8.8/hook')).rejects.toMatchObject({
    type: 'invalid_request',
  })
  for (const host of ['224.0.0.1', '10.0.0.1', '127.0.0.1', 'localhost', 'intranet', '[::1]']) {
    await expect(client.webhookEndpoint.set(`https://${host}/hook`), host).rejects.toMatchObject({
      type: 'webhook_url_not_allowed',
    })
  }
  await expect(client.webhookEndpoint.set('ftp://localhost/hook')).rejects.toMatchObject({
    type: 'invalid_request',
  })
  // The control interface does not validate against the contract's schema.
  const byHand = emulator.control('POST', '/webhook', { url: 'ftp://localhost/hook' })
  await expect(byHand).rejects.toThrow('cannot receive events')
})

test('creates another key of an account, with the given scopes', async () => {
  const { accountId } = await emulator.createAccount()
  const made = await emulator.control<{ account_id: string; key: Key }>('POST', '/keys', {
    account_id: accountId,
    scopes: ['catalogue:read'],
  })
  expect(made.account_id).toBe(accountId)
  expect((await call(emulator, made, 'GET', '/v1/catalogue')).status).toBe(200)
  expect((await call(emulator, made, 'GET', '/v1/balance')).body.error.type).toBe('insufficient_scope')
  expect((await requestsOf(emulator, accountId)).map(({ status }) => status)).toEqual([200, 403])
  await expect(emulator.control('POST', '/keys', { scopes: ['nonsense'] })).rejects.toThrow('nonsense')
})

test('the inbox answers 2xx to every event', async () => {
  const { accountId, key } = await emulator.createAccount()
  await emulator.control('POST', '/webhook', {
    url: `${emulator.url}/_emulator/inbox`,
    account_id: accountId,
  })
  await clientOf(emulator, { key }).orders.create(ring())
  // An item was changed above, so this endpoint also gets a catalogue.changed at some time.
  const ofOrders = async () =>
    (await deliveriesOf(emulator, accountId)).filter(({ order_id }) => order_id !== null)
  await expect.poll(async () => (await ofOrders()).map(({ status }) => status)).toEqual([200, 200])
  const removed = await emulator.control('POST', '/webhook', { url: null, account_id: accountId })
  expect(removed).toMatchObject({ webhook: null })
})

test('the stream sends new records, and those missed since `after`', async () => {
  const account = await emulator.createAccount()
  // The first account's endpoint gets catalogue.changed at an unrelated time.
  const withoutDeliveries = ({ events }: Awaited<ReturnType<typeof openStream>>) =>
    events.filter(({ event }) => event !== 'delivery')
  const stream = await openStream('/_emulator/stream')
  const order = await clientOf(emulator, account).orders.create(ring())
  await expect
    .poll(() => stream.events.filter(({ data }) => data.includes(order.id)).map(({ event }) => event))
    .toEqual(['request', 'order', 'order'])
  await emulator.arm({ name: 'lost_answer', account_id: account.accountId })
  await expect.poll(() => withoutDeliveries(stream).at(-1)?.event).toBe('faults')
  stream.close()
  const from = withoutDeliveries(stream)[0]?.id ?? ''
  await emulator.disarm('lost_answer', { accountId: account.accountId })
  const missed = await openStream('/_emulator/stream', { 'last-event-id': from })
  await expect
    .poll(() => withoutDeliveries(missed).map(({ event }) => event))
    .toEqual(['order', 'order', 'faults', 'faults'])
  missed.close()
  const again = await openStream(`/_emulator/stream?after=${from}`)
  await expect.poll(() => withoutDeliveries(again).length).toBe(4)
  again.close()
})

test("refuses requests from other sites' pages and with foreign host names", async () => {
  const { port } = new URL(emulator.url)
  const ask = (host: string, method = 'GET', path = '/_emulator', headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const asking = request(
        { port, host: '127.0.0.1', method, path, headers: { ...headers, host } },
        (answer) => {
          answer.resume()
          resolve(answer.statusCode ?? 0)
        },
      )
      asking.on('error', reject).end(method === 'GET' ? undefined : '{"name":"lost_answer"}')
    })
  expect(await ask(`localhost:${port}`)).toBe(200)
  expect(await ask(`evil.example:${port}`)).toBe(403)
  expect(await ask('evil.example', 'GET', '/')).toBe(403)
  expect(await ask('127.0.0.1.evil.example')).toBe(403)
  const arm = (type: string) => ask('localhost', 'POST', '/_emulator/faults', { 'content-type': type })
  expect(await arm('text/plain')).toBe(415)
  expect(await arm('application/jsonp')).toBe(415)
  // The store's own paths accept every host name; the signature protects them.
  expect(await ask('evil.example', 'GET', '/v1/status')).toBe(200)
})

test('serves the page, with a policy that allows only its own scripts', async () => {
  const page = await fetch(`${emulator.url}/`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'self';/)
})

test('serves the docs page that an error links to', async () => {
  const refused = await clientOf(emulator, await emulator.createAccount())
    .orders.get('ord_nobody')
    .catch((error: { docUrl: string }) => error)
  const page = await fetch((refused as { docUrl: string }).docUrl)
  expect(page.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await page.text()).toContain('## `not_found`')
  expect((await fetch(`${emulator.url}/docs/reference/signature-mistakes`)).status).toBe(200)
  expect((await fetch(`${emulator.url}/docs/reference/../../package.json`)).status).toBe(404)
})

test('answers 404 in the usual form for unknown paths', async () => {
  const answer = await fetch(`${emulator.url}/_emulator/nothing`)
  expect(answer.status).toBe(404)
  expect(await answer.json()).toMatchObject({ error: { type: 'not_found' } })
  const broken = await fetch(`${emulator.url}/_emulator/balance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  })
  expect(broken.status).toBe(400)
  const nobody = emulator.control('POST', '/balance', { balance_cents: 1, account_id: 'acct_nobody' })
  await expect(nobody).rejects.toThrow('no account')
})

test('the database violates no invariant', async () => {
  expect(await emulator.control('POST', '/verify')).toEqual({ ok: true, violations: [] })
})

test('answers 404 to paths and names with impossible characters', async () => {
  for (const path of ['%zz', 'orders?account_id=%00', 'ledger?account_id=%00', 'faults/%00']) {
    const method = path.startsWith('faults') ? 'DELETE' : 'GET'
    expect((await fetch(`${emulator.url}/_emulator/${path}`, { method })).status, path).toBe(404)
  }
})

test('headers are recorded as received, whatever their names', async () => {
  const account = await emulator.createAccount()
  const { headers } = signed(account, 'GET', '/v1/ping')
  const own = { ...headers, constructor: 'a', toString: 'b', ['__proto__']: 'c' }
  await new Promise((resolve) => {
    request(`${emulator.url}/v1/ping`, { headers: own }, (answer) =>
      answer.resume().once('end', resolve),
    ).end()
  })
  const [recorded] = await requestsOf(emulator, account.accountId)
  expect(Object.entries(recorded?.headers ?? {})).toEqual(
    expect.arrayContaining([
      ['constructor', 'a'],
      ['toString', 'b'],
      ['__proto__', 'c'],
    ]),
  )
})

test('DNS rebinding: a page with a foreign host name cannot use the public key', async () => {
  const body = JSON.stringify({ url: 'http://127.0.0.1:9/' })
  const post = (from: Record<string, string>) =>
    new Promise<number | undefined>((resolve) => {
      const account = first()
      const headers = { ...signed(account, 'POST', '/v1/quote', body).headers, ...from }
      request(`${emulator.url}/v1/quote`, { method: 'POST', headers }, (answer) =>
        answer.resume().once('end', () => resolve(answer.statusCode)),
      ).end(body)
    })
  const host = 'rebound.example:4010'
  expect(await post({ host, origin: 'http://rebound.example:4010' })).toBe(403)
  expect(await post({ host, origin: 'null' })).toBe(403)
  // Programs send no Origin header, and a store accepts any host name.
  expect(await post({ host })).toBe(400)
  expect(await post({ origin: emulator.url })).toBe(400)
})

async function openStream(path: string, headers: Record<string, string> = {}) {
  const events: { id: string; event: string; data: string }[] = []
  const controller = new AbortController()
  const response = await fetch(`${emulator.url}${path}`, { headers, signal: controller.signal })
  const read = async () => {
    let text = ''
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      const whole = text.split('\n\n')
      text = whole.pop() ?? ''
      for (const part of whole) {
        const [, id, event, data] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/s.exec(part) ?? []
        if (id && event && data) events.push({ id, event, data })
      }
    }
  }
  read().catch(() => {})
  return { events, close: () => controller.abort() }
}
