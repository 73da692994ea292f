import { WebhookConfiguration, WebhookHealth } from '@shopwire/contract'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

const ajv = new Ajv({ strict: true })
const isHealth = ajv.compile(WebhookHealth)
const isConfiguration = ajv.compile(WebhookConfiguration)
const ITEM = '10000000000000001'
const [HERE, THERE] = ['https://93.184.216.34/hook?a=1', 'https://93.184.216.35:8443/hook'] as const
const NOTHING = {
  webhook_url: null,
  pending: 0,
  failed: 0,
  last_delivered_at: null,
  last_failure_at: null,
  last_error: null,
}

let shop: Shop
let key: TestKey
let account_id: string
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
  await putItems(shop.database.operator, [itemOf(ITEM)])
})
afterAll(() => shop.close())
beforeEach(async () => {
  account_id = (await shop.operator.createAccount('Receiver')).id
  await shop.operator.fundAccount(account_id, { amount_cents: 10_000, reference: account_id })
  key = await shop.makeKey(undefined, account_id)
})

const read = async () => {
  const { status, body } = await shop.call('GET', '/v1/webhook', { key })
  expect([status, isHealth(body)]).toEqual([200, true])
  return body
}
const set = async (url: unknown, how: TestKey = key) => {
  const answer = await shop.call('POST', '/v1/webhook', { key: how, body: JSON.stringify({ url }) })
  if (answer.status === 200)
    expect(isConfiguration(answer.body), JSON.stringify(isConfiguration.errors)).toBe(true)
  return { ...answer, type: answer.body.error?.type as string | undefined }
}
let orders = 0
const buy = async () => {
  orders += 1
  const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key: `webhook-${orders}` })
  return (await shop.call('POST', '/v1/orders', { key, body })).body.id as string
}
const states = async () =>
  (
    await shop.database.owner.many<{ state: string }>(
      sql`select state from deliveries where account_id = ${account_id} order by created_at, event_id`,
    )
  ).map(({ state }) => state)

describe('an endpoint', () => {
  test('is null at first', async () => {
    expect(await read()).toEqual(NOTHING)
  })

  test('returns a secret when it is created, and never again', async () => {
    const made = await set(HERE)
    expect(made.body).toEqual({
      ...NOTHING,
      webhook_url: HERE,
      secret: expect.stringMatching(/^whsec_[\w-]{43}$/),
    })
    expect(await read()).toEqual({ ...NOTHING, webhook_url: HERE })
    const again = await set(HERE)
    expect([again.status, 'secret' in again.body]).toEqual([200, false])
  })

  test('set to another URL keeps the secret and cancels queued deliveries, in the same commit', async () => {
    await set(HERE)
    await buy()
    await buy()
    expect((await read()).pending).toBe(2)
    const moved = await set(THERE)
    expect(moved.body).toEqual({ ...NOTHING, webhook_url: THERE })
    expect(await states()).toEqual(['cancelled', 'cancelled'])
    await buy()
    expect((await read()).pending).toBe(1)
    const { secrets } = await shop.database.owner.one<{ secrets: number }>(
      sql`select count(*) as secrets from webhook_secrets where account_id = ${account_id}`,
    )
    expect(secrets).toBe(1)
  })

  test('set to the same URL again keeps queued deliveries', async () => {
    await set(HERE)
    await buy()
    expect((await set(HERE)).body.pending).toBe(1)
  })

  test.each(['null', 'DELETE'])(
    '%s stops deliveries; the next URL is a new endpoint with a new secret',
    async (how) => {
      const first = (await set(HERE)).body.secret
      await buy()
      const stopped = how === 'null' ? await set(null) : await shop.call('DELETE', '/v1/webhook', { key })
      expect([stopped.status, stopped.body]).toEqual([200, NOTHING])
      expect(await states()).toEqual(['cancelled'])
      await buy()
      expect(await states()).toEqual(['cancelled'])
      const second = (await set(HERE)).body.secret
      expect(second).toMatch(/^whsec_/)
      expect(second).not.toBe(first)
    },
  )

  test.each(['null', 'DELETE'])('%s without an endpoint succeeds', async (how) => {
    const stopped = how === 'null' ? await set(null) : await shop.call('DELETE', '/v1/webhook', { key })
    expect([stopped.status, stopped.body]).toEqual([200, NOTHING])
  })

  test('does not get events from before it was set', async () => {
    await buy()
    await set(HERE)
    expect((await read()).pending).toBe(0)
  })

  test('belongs to its account', async () => {
    await set(HERE)
    expect((await shop.call('GET', '/v1/webhook')).body).toEqual(NOTHING)
  })

  test('set by two concurrent requests is one endpoint with one secret', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => set(n % 2 ? HERE : THERE)))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(answers.filter(({ body }) => 'secret' in body)).toHaveLength(1)
    const { live } = await shop.database.owner.one<{ live: number }>(
      sql`select count(*) as live from webhook_endpoints where account_id = ${account_id} and ended_at is null`,
    )
    expect(live).toBe(1)
  })

  test('every kind of order event is queued in the commit of its change', async () => {
    await set(HERE)
    const [delivered, cancelled] = [await buy(), await buy()]
    await shop.operator.deliverOrder(delivered, [`https://gift.example/${delivered}`])
    await shop.operator.cancelOrder(cancelled, 'test')
    const rows = await shop.database.owner.many(
      sql`select e.type from deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
           where d.account_id = ${account_id} order by e.type`,
    )
    expect(rows.map((row) => (row as { type: string }).type)).toEqual([
      'order.accepted',
      'order.accepted',
      'order.cancelled',
      'order.delivered',
    ])
    expect((await read()).pending).toBe(4)
  })
})

describe('scopes', () => {
  test('setting a URL needs orders:read and webhooks:write; null needs webhooks:write only', async () => {
    const writer = await shop.makeKey(['webhooks:write'], account_id)
    expect(await set(HERE, writer)).toMatchObject({ status: 403, type: 'insufficient_scope' })
    expect((await set(null, writer)).status).toBe(200)
    expect((await set(HERE, await shop.makeKey(['webhooks:write', 'orders:read'], account_id))).status).toBe(
      200,
    )
  })
})

describe('a test event', () => {
  const send = () => shop.call('POST', '/v1/webhook/test', { key, body: '{}' })

  test('needs an endpoint', async () => {
    const { status, body } = await send()
    expect([status, body.error.type]).toEqual([409, 'webhook_not_configured'])
  })

  /** Ages everything that is queued by this much time. */
  const passSeconds = (seconds: number) =>
    shop.database.owner.run(sql`
      update deliveries
         set created_at = created_at - ${seconds} * interval '1 s'
       where account_id = ${account_id}`)
  const states = async () =>
    (
      await shop.database.owner.many<{ state: string }>(sql`
        select state from deliveries where account_id = ${account_id} order by event_id`)
    ).map(({ state }) => state)
  const sendTen = async () => {
    for (let n = 0; n < 10; n += 1) expect((await send()).body).toEqual({ ok: true, queued: true })
  }

  test('gets 429 after ten unaccepted tests within a minute, and is queued after Retry-After', async () => {
    await set(HERE)
    await sendTen()
    const eleventh = await send()
    expect([eleventh.status, eleventh.body.error.type]).toEqual([429, 'rate_limited'])
    const waitS = Number(eleventh.headers.get('retry-after'))
    expect(waitS).toBeGreaterThan(45)
    expect(waitS).toBeLessThanOrEqual(60)
    expect(eleventh.body.error.message).toContain(`Wait ${waitS} s`)
    await passSeconds(waitS - 15)
    const early = await send()
    expect(early.status).toBe(429)
    expect(Number(early.headers.get('retry-after'))).toBeLessThanOrEqual(15)
    await passSeconds(15)
    expect((await send()).body).toEqual({ ok: true, queued: true })
  })

  test('replaces the oldest when ten are pending', async () => {
    await set(HERE)
    await sendTen()
    await passSeconds(60)
    for (let n = 0; n < 3; n += 1) expect((await send()).status).toBe(200)
    expect(await states()).toEqual([...Array(3).fill('cancelled'), ...Array(10).fill('pending')])
    expect(await read()).toMatchObject({ pending: 10, failed: 0 })
  })

  test('does not replace pending order events', async () => {
    await set(HERE)
    const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key: 'beside-tests' })
    expect((await shop.call('POST', '/v1/orders', { key, body })).status).toBe(201)
    await sendTen()
    await passSeconds(60)
    await sendTen()
    expect(await states()).toEqual(['pending', ...Array(10).fill('cancelled'), ...Array(10).fill('pending')])
  })

  test('is not refused while tests are accepted', async () => {
    await set(HERE)
    for (let n = 0; n < 30; n += 1) {
      expect((await send()).status).toBe(200)
      await shop.database.owner.run(sql`
        update deliveries
           set state = 'delivered', attempts = 1, done_at = now()
         where account_id = ${account_id} and state = 'pending'`)
    }
  })

  test('is refused for the eleventh of many concurrent requests', async () => {
    await set(HERE)
    const statuses = (await Promise.all(Array.from({ length: 20 }, send))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([...Array(10).fill(200), ...Array(10).fill(429)])
  })
})

describe('URLs that cannot receive events', () => {
  test.each([
    'https://127.0.0.1/',
    'https://10.1.2.3/',
    'https://192.168.0.1/',
    'https://172.16.0.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://100.64.0.1/',
    'https://0.0.0.0/',
    'https://0/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://①②⑦.⓪.⓪.①/',
    'https://%31%32%37.0.0.1/',
    'https://255.255.255.255/',
    'https://224.0.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b:1::1]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:1::1]/',
    'https://[fd00:ec2::254]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://localhost/',
    'https://localhost./',
    'https://api.localhost/',
    'https://metadata.internal/',
    'https://printer.local/',
    'https://intranet/',
    'https://user:secret@93.184.216.34/',
    'https://user@93.184.216.34/',
    'https://93.184.216.34/#fragment',
    'https://93.184.216.34/#',
    'https://93.184.216.34:22/',
    'https://93.184.216.34:80/',
    'https://93.184.216.34:6667/',
    'https://93.184.216.34:99999/',
    'https:///nothing',
    'https://',
  ])('%s', async (url) => {
    expect(await set(url)).toMatchObject({ status: 400, type: 'webhook_url_not_allowed' })
    expect(await read()).toEqual(NOTHING)
  })

  test.each(['http://93.184.216.34/', 'HTTPS://93.184.216.34/', 'ftp://x', '', 5, true, {}])(
    '%j is refused as invalid_request',
    async (url) => {
      expect(await set(url)).toMatchObject({ status: 400, type: 'invalid_request' })
    },
  )

  test.each([
    ['https://93.184.216.34', 'https://93.184.216.34/'],
    ['https://93.184.216.34:443/a b', 'https://93.184.216.34/a%20b'],
    ['https://[2606:2800:220:1:248:1893:25c8:1946]/x', 'https://[2606:2800:220:1:248:1893:25c8:1946]/x'],
    ['https://93.184.216.34:1024/', 'https://93.184.216.34:1024/'],
  ])('%s is accepted and stored normalised', async (url, kept) => {
    expect((await set(url)).body.webhook_url).toBe(kept)
  })
})
