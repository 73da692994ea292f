import { setTimeout as sleep } from 'node:timers/promises'
import { verifyWebhook } from '@shopwire/contract/signing'
import { startWebhookReceiver, type WebhookReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../src/index.ts'
import { type Account, call, clientOf, newKey, orderBody, RING, ring } from './support.ts'

/** Actions of a store's operator, and skipping time, for tests of integrations. */
const HOUR_S = 3_600
const DAY_S = 86_400
const NEW_ITEM = {
  id: '2200000000000000001',
  name: 'Late Arrival',
  type: 'effect',
  collection: 'Imported',
  price_cents: 150,
}

let emulator: Emulator
let receiver: WebhookReceiver
let account: Account
beforeAll(async () => {
  receiver = await startWebhookReceiver()
  emulator = await startEmulator({ requestsPerMinute: 100_000, ordersPerMinute: 100_000 })
})
afterAll(async () => {
  const { ok, violations } = await emulator.control<{ ok: boolean; violations: object[] }>('POST', '/verify')
  expect(violations).toEqual([])
  expect(ok).toBe(true)
  await emulator.stop()
  await receiver.close()
})
beforeEach(async () => {
  account = await emulator.createAccount()
  receiver.answersWith(200)
})

const ping = (key = account) => call(emulator, key, 'GET', '/v1/ping')
const control = <Answer = unknown>(path: string, body: object = {}) =>
  emulator.control<Answer>('POST', path, body)
const advance = (advance_s: number) => control('/time', { advance_s })
const setWebhook = () =>
  control<{ webhook: { secret: string } }>('/webhook', {
    url: receiver.url,
    account_id: account.accountId,
  })
const health = () => clientOf(emulator, account).webhookEndpoint.get()
async function testEvent() {
  const before = receiver.arrivals.length
  await call(emulator, account, 'POST', '/v1/webhook/test', { body: '{}' })
  await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(before)
  return receiver.arrivals[before] as (typeof receiver.arrivals)[number]
}

describe('a key', () => {
  test('gets 401 after it is revoked; other keys of the account do not', async () => {
    const other = await control<{ key: Account['key'] }>('/keys', { account_id: account.accountId })
    expect((await ping()).status).toBe(200)
    expect(await control(`/keys/${account.key.id}/revoke`)).toEqual({
      account_id: account.accountId,
      key_id: account.key.id,
    })
    const refused = await ping()
    expect([refused.status, refused.body.error.type]).toEqual([401, 'authentication_failed'])
    expect((await ping({ ...account, key: other.key })).status).toBe(200)
  })

  test('that does not exist cannot be revoked', async () => {
    await expect(control('/keys/key_emulator_nobody/revoke')).rejects.toThrow(/no key/i)
  })
})

describe('an account', () => {
  test('gets 403 while suspended, and is accepted when active again', async () => {
    const set = (status: string) => control('/account', { status, account_id: account.accountId })
    expect(await set('suspended')).toEqual({ account_id: account.accountId, status: 'suspended' })
    const refused = await ping()
    expect([refused.status, refused.body.error.type]).toEqual([403, 'account_suspended'])
    await set('active')
    expect((await ping()).status).toBe(200)
    await expect(set('gone')).rejects.toThrow(/status is "active" or "suspended"/)
  })

  test('created at the start: GET /_emulator shows whether it is suspended', async () => {
    const status = async () => (await emulator.control<{ account_status: string }>('GET', '')).account_status
    expect(await status()).toBe('active')
    await control('/account', { status: 'suspended' })
    expect(await status()).toBe('suspended')
    await control('/account', { status: 'active' })
  })
})

describe('a webhook secret', () => {
  test('after a rotation both secrets sign for a day, then only the new one', async () => {
    const { secret: old } = (await setWebhook()).webhook
    const { webhook } = await control<{ webhook: { secret: string; previous_until: string } }>(
      '/webhook/rotate',
      { account_id: account.accountId },
    )
    expect(webhook.secret).not.toBe(old)
    expect(Date.parse(webhook.previous_until)).toBeGreaterThan(Date.now() + (DAY_S - 60) * 1000)
    const during = await testEvent()
    const signedBy = (secret: string, { headers, body }: typeof during) =>
      verifyWebhook({ secrets: [secret], headers, body: Buffer.from(body), nowS: Date.now() / 1000 }).ok
    expect(signedBy(webhook.secret, during)).toBe(true)
    expect(during.headers['x-webhook-signature-previous']).toMatch(/^[0-9a-f]{64}$/)
    await advance(DAY_S)
    const after = await testEvent()
    expect(signedBy(webhook.secret, after)).toBe(true)
    expect(after.headers['x-webhook-signature-previous']).toBeUndefined()
  })

  test('cannot be rotated without an endpoint', async () => {
    await expect(control('/webhook/rotate', { account_id: account.accountId })).rejects.toThrow(
      /no webhook endpoint/,
    )
  })
})

describe('time', () => {
  // First: no item has been changed yet.
  test('skipping it sends no catalogue.changed', async () => {
    await setWebhook()
    const { id } = await testEvent()
    await advance(DAY_S)
    await advance(DAY_S)
    // An announcement is sent within about a second of the change; a test event sent later arrives after it.
    await sleep(2_500)
    await testEvent()
    const mine = receiver.arrivals.slice(receiver.arrivals.findIndex((event) => event.id === id))
    expect(mine.map(({ event }) => event)).toEqual(['test', 'test'])
  })

  test('a failed event is retried at once when its wait is skipped, and given up after twelve attempts', async () => {
    await setWebhook()
    receiver.answersWith(500)
    const { id } = await testEvent()
    const attempts = () => receiver.arrivals.filter((event) => event.id === id).length
    let failedAt: string | null = null
    for (let n = 2; n <= 12; n += 1) {
      // Wait until the attempt is recorded, so that the next one is scheduled.
      await expect.poll(async () => (await health()).last_failure_at).not.toBe(failedAt)
      failedAt = (await health()).last_failure_at
      await advance(HOUR_S)
      await expect.poll(attempts).toBe(n)
    }
    await expect.poll(health).toMatchObject({ pending: 0, failed: 1, last_error: 'http_500' })
    expect(attempts()).toBe(12)
  })

  test('a day-old event is given up, even after few attempts', async () => {
    await setWebhook()
    receiver.answersWith(500)
    await testEvent()
    await expect.poll(async () => (await health()).last_failure_at).not.toBeNull()
    await advance(DAY_S)
    await expect.poll(health).toMatchObject({ pending: 0, failed: 1 })
  })

  test('a sale ends when the time until its end is skipped', async () => {
    const id = '1144058340328047004'
    const until = new Date(Date.now() + 2 * HOUR_S * 1000).toISOString()
    const { available_until } = await control<{ available_until: string }>(`/items/${id}`, {
      available_until: until,
    })
    expect(available_until).toBe(until)
    const client = clientOf(emulator, account)
    const status = async () => (await client.quote({ items: [{ id }] })).lines[0]?.status
    expect(await status()).toBe('ok')
    await advance(HOUR_S)
    expect(await status()).toBe('ok')
    await advance(HOUR_S)
    expect(await status()).toBe('sold_out')
    await control(`/items/${id}`, { available_until: null })
    expect(await status()).toBe('ok')
  })

  test('a delayed order is delivered', async () => {
    await emulator.arm({ name: 'slow_fulfilment', ms: HOUR_S * 1000, account_id: account.accountId })
    const client = clientOf(emulator, account)
    const { id } = await client.orders.create(ring())
    await advance(HOUR_S - 60)
    expect((await client.orders.get(id)).status).toBe('paid')
    await advance(60)
    await expect.poll(async () => (await client.orders.get(id)).status).toBe('delivered')
  })

  test('a second change of the catalogue is announced without waiting a minute', async () => {
    await setWebhook()
    const announced = () => receiver.arrivals.filter(({ event }) => event === 'catalogue.changed').length
    for (const price_cents of [511, 512, 513]) {
      const before = announced()
      await advance(60)
      await control(`/items/${RING}`, { price_cents })
      await expect.poll(announced).toBeGreaterThan(before)
    }
  })

  test.each([0, -1, 1.5, '60', null, 366 * DAY_S + 1])('refuses to skip %j seconds', async (advance_s) => {
    await expect(control('/time', { advance_s })).rejects.toThrow(/whole number of seconds/)
  })
})

describe('the catalogue', () => {
  test('accepts new items, which can be bought and are delivered', async () => {
    expect(await control('/catalogue', { items: [NEW_ITEM], partial: true })).toMatchObject({
      added: 1,
      taken_from_sale: 0,
    })
    const client = clientOf(emulator, account)
    const { id } = await client.orders.create({ items: [{ id: NEW_ITEM.id }], idempotencyKey: newKey() })
    await expect.poll(async () => (await client.orders.get(id)).links.length).toBe(1)
  })

  test('is replaced completely: missing items are taken from sale', async () => {
    const answer = await control<{ taken_from_sale: number; revision: number }>('/catalogue', {
      items: [{ ...NEW_ITEM, price_cents: 175 }],
    })
    expect(answer.taken_from_sale).toBeGreaterThan(5)
    const gone = await call(emulator, account, 'POST', '/v1/orders', { body: orderBody() })
    expect([gone.status, gone.body.error.type]).toEqual([409, 'item_unavailable'])
    expect((await clientOf(emulator, account).quote({ items: [{ id: NEW_ITEM.id }] })).total_cents).toBe(175)
  })

  test.each([
    [{ items: [{ ...NEW_ITEM, id: 'x' }] }, /id/],
    [{ items: 'none' }, /items is a list/],
    [{ items: [NEW_ITEM], partial: 'yes' }, /partial is true or false/],
  ])('is not changed by %j', async (body, reason) => {
    await expect(control('/catalogue', body)).rejects.toThrow(reason)
  })
})
