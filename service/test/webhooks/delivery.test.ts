import { webhookHeaders } from '@shopwire/contract'
import { verifyWebhook } from '@shopwire/contract/signing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { composeEvent } from '../../src/orders/fulfilment/compose-event.ts'
import { sql } from '../../src/platform/database/db.ts'
import type { Job } from '../../src/platform/jobs/jobs.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import type { OpenGuardedClient, Sent } from '../../src/platform/outbound/guarded-client.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { createDelivery } from '../../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../../src/webhooks/deliver-queue.ts'
import { openBody } from '../../src/webhooks/event-body.ts'
import { claimFromAllLanes } from '../../testing/claim.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

/**
 * What is sent, and when. Tests control the time, so the receiver is a function; which addresses the real client connects to is
 * tested from outside, on real sockets.
 */
const ITEM = '10000000000000001'
const URL_HERE = 'https://93.184.216.34/hook'
const MINUTE_S = 60
const HOUR_S = 3_600

interface Got {
  readonly atMs: number
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

const log = createLog('silent')
let shop: Shop
let key: TestKey
let account_id: string
let secret: string
let nowMs: number
let got: Got[]
let answer: () => Promise<Sent>
const ACCEPTED: Sent = { error: null, status: 200, remote_address: '93.184.216.34' }
const FAILED: Sent = { error: 'http_500', status: 500, remote_address: '93.184.216.34' }

beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
  await putItems(shop.database.operator, [itemOf(ITEM)])
})
afterAll(() => shop.close())
beforeEach(async () => {
  account_id = (await shop.operator.createAccount('Receiver')).id
  await shop.operator.fundAccount(account_id, { amount_cents: 10_000, reference: account_id })
  key = await shop.makeKey(undefined, account_id)
  got = []
  answer = async () => ACCEPTED
  secret = (await configure(URL_HERE)).secret
  nowMs = Date.now()
})

const configure = async (url: string | null) =>
  (await shop.call('POST', '/v1/webhook', { key, body: JSON.stringify({ url }) })).body
let orders = 0
async function buy() {
  orders += 1
  const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key: `delivery-${orders}` })
  const { id } = (await shop.call('POST', '/v1/orders', { key, body })).body
  passTime()
  return id as string
}
async function deliver(id: string) {
  await shop.operator.deliverOrder(id, [`https://gift.example/${id}`])
  passTime()
}
/** The worker's clock is not before the event's, however long the event took. */
function passTime() {
  nowMs = Math.max(nowMs, Date.now())
}
const health = async () => (await shop.call('GET', '/v1/webhook', { key })).body

const openClient: OpenGuardedClient = (url) => ({
  async post(headers, body) {
    got.push({ atMs: nowMs, url, headers: { ...headers }, body: Buffer.from(body).toString() })
    return answer()
  },
  close: async () => {},
})
const work = (job: Job) =>
  createDelivery({
    db: shop.database.worker,
    keyring: shop.keyring,
    clock: { nowMs: () => nowMs },
    openClient,
    notify: async () => {},
    compose: (event) => composeEvent(shop.database.worker, shop.vault, event),
    log,
    metrics: shop.metrics,
    random: () => 0,
  })(job)

/** Claims the job of this account's endpoint for the rest of the test. */
async function takeJob(): Promise<Job> {
  const jobs = await claimFromAllLanes(shop.database.worker, DELIVER_QUEUE, {
    limit: 1_000,
    leaseMs: 3_600_000,
  })
  return jobs.find((job) => job.account_id === account_id) as Job
}
const isGenuine = ({ headers, body, atMs }: Got, secrets = [secret]) =>
  verifyWebhook({
    secrets,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: Buffer.from(body),
    nowS: Math.floor(atMs / 1000),
  }).ok

const byEvent = (a: { event: string }, b: { event: string }) => a.event.localeCompare(b.event)

describe('an event', () => {
  test('is delivered signed, with its id in header and body, and the order as it was at that time', async () => {
    const id = await buy()
    await deliver(id)
    expect(await work(await takeJob())).toEqual({ kind: 'done' })
    expect(got.map((each) => isGenuine(each))).toEqual([true, true])
    // Both are sent concurrently, in either order.
    const [accepted, delivered] = got.map(({ body }) => JSON.parse(body)).sort(byEvent)
    expect(accepted).toMatchObject({
      event: 'order.accepted',
      data: { order: { id, status: 'paid', delivered_at: null, links: [] } },
    })
    expect(delivered).toMatchObject({
      event: 'order.delivered',
      data: { order: { id, status: 'delivered', links: [`https://gift.example/${id}`] } },
    })
    const ids = got.map(({ headers }) => headers[webhookHeaders.id])
    expect(ids.sort()).toEqual([accepted.id, delivered.id].sort())
    expect(await health()).toMatchObject({ pending: 0, failed: 0, last_error: null, last_failure_at: null })
    expect((await health()).last_delivered_at).not.toBeNull()
  })

  test('is due in the millisecond in which it was made', async () => {
    await buy()
    const { created_at } = await shop.database.owner.one<{ created_at: Date }>(
      sql`select created_at from events where account_id = ${account_id}`,
    )
    nowMs = created_at.getTime()
    expect(await work(await takeJob())).toEqual({ kind: 'done' })
    expect(got).toHaveLength(1)
  })

  test('of type test says so and has no order', async () => {
    await shop.call('POST', '/v1/webhook/test', { key, body: '{}' })
    passTime()
    await work(await takeJob())
    expect(JSON.parse(got[0]?.body ?? '')).toEqual({
      id: expect.stringMatching(/^evt_/),
      event: 'test',
      created_at: expect.any(String),
      data: { message: expect.any(String) },
    })
  })

  test('is stored sealed', async () => {
    const id = await buy()
    await deliver(id)
    await work(await takeJob())
    const { readable } = await shop.database.owner.one<{ readable: number }>(
      sql`select count(*) as readable from events where position('http'::bytea in body_sealed) > 0`,
    )
    expect(readable).toBe(0)
  })

  test('is stored as it was sent when it was refused, and not when it was accepted', async () => {
    await buy()
    await buy()
    answer = async () => (got.length === 1 ? FAILED : ACCEPTED)
    await work(await takeJob())
    const rows = await shop.database.owner.many<{ id: string; body_sealed: Buffer }>(
      sql`select id, body_sealed from events where account_id = ${account_id} and body_sealed is not null`,
    )
    const kept = rows.map(({ id, body_sealed }) => openBody(shop.keyring, account_id, id, body_sealed))
    expect(await Promise.all(kept)).toEqual([got[0]?.body])
  })

  test('has the same bytes when the result of its first attempt was lost and the order has moved on', async () => {
    const id = await buy()
    answer = async () => {
      throw new Unavailable('database', new Error('the worker was killed'))
    }
    const job = await takeJob()
    await expect(work(job)).rejects.toThrow(Unavailable)
    await deliver(id)
    answer = async () => ACCEPTED
    await work(job)
    const sent = got.map(({ body }) => body).filter((body) => JSON.parse(body).event === 'order.accepted')
    expect(sent).toHaveLength(2)
    expect(sent[1]).toBe(sent[0])
  })
})

test('the row of a busy endpoint says to the second when something was last accepted', async () => {
  nowMs += 60_000
  const seen: string[] = []
  for (const laterMs of [0, 900, 200]) {
    nowMs += laterMs
    await buy()
    await work(await takeJob())
    seen.push((await health()).last_delivered_at)
  }
  expect(seen[1]).toBe(seen[0])
  expect(seen[2]).toBe(new Date(nowMs).toISOString())
})

describe('the retry schedule', () => {
  test('makes twelve attempts: at once, after a minute, doubling to an hour; the same id and bytes, a fresh signature each', async () => {
    await buy()
    answer = async () => FAILED
    const job = await takeJob()
    const startMs = nowMs
    const waits: number[] = []
    for (let n = 1; n <= 11; n += 1) {
      const end = await work(job)
      expect(end.kind).toBe('again')
      const waitMs = end.kind === 'again' ? end.waitMs : 0
      // A second early nothing is due.
      nowMs += waitMs - 1_000
      await work(job)
      expect(got).toHaveLength(n)
      nowMs += 1_000
      waits.push(waitMs / 1000)
    }
    expect(await work(job)).toEqual({ kind: 'done' })
    expect(waits.map(Math.round)).toEqual([
      ...[1, 2, 4, 8, 16, 32].map((minutes) => minutes * MINUTE_S),
      ...Array(5).fill(HOUR_S),
    ])
    expect(got).toHaveLength(12)
    expect((got.at(-1)?.atMs ?? 0) - startMs).toBe(363 * MINUTE_S * 1000)
    expect(new Set(got.map(({ body }) => body)).size).toBe(1)
    expect(new Set(got.map(({ headers }) => headers[webhookHeaders.id])).size).toBe(1)
    expect(new Set(got.map(({ headers }) => headers[webhookHeaders.timestamp])).size).toBe(12)
    expect(got.every((each) => isGenuine(each))).toBe(true)
    expect(await health()).toMatchObject({
      pending: 0,
      failed: 1,
      last_error: 'http_500',
      last_delivered_at: null,
    })
  })

  test('ends after 24 hours, however few attempts were made', async () => {
    await buy()
    answer = async () => FAILED
    const job = await takeJob()
    await work(job)
    await work(job)
    nowMs += 24 * HOUR_S * 1000
    expect(await work(job)).toEqual({ kind: 'done' })
    expect(got).toHaveLength(1)
    expect(await health()).toMatchObject({ pending: 0, failed: 1 })
  })

  test('ends with a success on a later attempt', async () => {
    await buy()
    answer = async () => (got.length < 3 ? FAILED : ACCEPTED)
    const job = await takeJob()
    for (let end = await work(job); end.kind === 'again'; end = await work(job)) nowMs += end.waitMs
    expect(got).toHaveLength(3)
    expect(await health()).toMatchObject({ pending: 0, failed: 0, last_error: 'http_500' })
    const attempts = await shop.database.owner.many(
      sql`select n, status, error from attempts_made where account_id = ${account_id} order by n`,
    )
    expect(attempts).toEqual([
      { n: 1, status: 500, error: 'http_500' },
      { n: 2, status: 500, error: 'http_500' },
      { n: 3, status: 200, error: null },
    ])
  })

  test('one failing event does not delay the next', async () => {
    await buy()
    await buy()
    const failing = new Set<string>()
    answer = async () => {
      const id = got.at(-1)?.headers[webhookHeaders.id] ?? ''
      if (failing.size === 0) failing.add(id)
      return failing.has(id) ? FAILED : ACCEPTED
    }
    const end = await work(await takeJob())
    expect([end.kind, got.length]).toEqual(['again', 2])
    expect((await health()).pending).toBe(1)
  })

  test('an event that arrives while another waits for its answer does not wait for it', async () => {
    await buy()
    const bothHaveBeenSent = Promise.withResolvers<void>()
    answer = async () => {
      if (got.length === 1) await buy()
      else bothHaveBeenSent.resolve()
      await bothHaveBeenSent.promise
      return ACCEPTED
    }
    expect(await work(await takeJob())).toEqual({ kind: 'done' })
    expect(got).toHaveLength(2)
  })

  test('an event whose body cannot be composed is retried like any other, and delays no other', async () => {
    await buy()
    await shop.database.asOwner(
      `update events set body_sealed = 'nonsense', body_kek_id = 'test' where account_id = '${account_id}'`,
    )
    await buy()
    const end = await work(await takeJob())
    expect([end.kind, got.length]).toEqual(['again', 1])
    expect(await health()).toMatchObject({ pending: 1, last_error: 'internal' })
  })

  test('makes at most four attempts at once', async () => {
    for (let n = 0; n < 10; n += 1) await buy()
    let atOnce = 0
    let most = 0
    const fourAreIn = Promise.withResolvers<void>()
    answer = async () => {
      atOnce += 1
      most = Math.max(most, atOnce)
      if (atOnce === 4) fourAreIn.resolve()
      await fourAreIn.promise
      atOnce -= 1
      return ACCEPTED
    }
    await work(await takeJob())
    expect([got.length, most]).toEqual([10, 4])
  })
})

test('health is correct after success, failure, giving up, and a change of URL', async () => {
  const at = () => new Date(nowMs).toISOString()
  const nothing = { pending: 0, failed: 0, last_delivered_at: null, last_failure_at: null, last_error: null }
  expect(await health()).toEqual({ webhook_url: URL_HERE, ...nothing })

  await buy()
  expect(await health()).toEqual({ webhook_url: URL_HERE, ...nothing, pending: 1 })
  await work(await takeJob())
  const last_delivered_at = at()
  expect(await health()).toEqual({ webhook_url: URL_HERE, ...nothing, last_delivered_at })

  answer = async () => FAILED
  await buy()
  await buy()
  const job = await takeJob()
  let end = await work(job)
  const failedOnce = { last_delivered_at, last_failure_at: at(), last_error: 'http_500' }
  expect(await health()).toEqual({ webhook_url: URL_HERE, pending: 2, failed: 0, ...failedOnce })

  // One is accepted in the end, the other never.
  const [first] = got.slice(-2).map(({ headers }) => headers[webhookHeaders.id])
  answer = async () =>
    got.at(-1)?.headers[webhookHeaders.id] === first ? ACCEPTED : { ...FAILED, error: 'timeout' }
  nowMs += 2 * MINUTE_S * 1000
  end = await work(job)
  const later = { last_delivered_at: at(), last_failure_at: at(), last_error: 'timeout' }
  expect(await health()).toEqual({ webhook_url: URL_HERE, pending: 1, failed: 0, ...later })
  for (; end.kind === 'again'; end = await work(job)) nowMs += end.waitMs
  const givenUp = { ...later, last_failure_at: at() }
  expect(await health()).toEqual({ webhook_url: URL_HERE, pending: 0, failed: 1, ...givenUp })

  const moved = 'https://93.184.216.35/other'
  await configure(moved)
  expect(await health()).toEqual({ webhook_url: moved, ...nothing })
  await configure(null)
  expect(await health()).toEqual({ webhook_url: null, ...nothing })
})

describe('no more deliveries', () => {
  test('once the URL has changed: the old job ends without a request', async () => {
    await buy()
    const job = await takeJob()
    await configure('https://93.184.216.35/other')
    await expect(work(job)).rejects.toThrow()
    expect(got).toEqual([])
  })

  test('to an endpoint that ends while its events are being sent', async () => {
    for (let n = 0; n < 30; n += 1) await buy()
    let sentWhenAnswered = 0
    answer = async () => {
      if (got.length === 4) {
        await configure(null)
        sentWhenAnswered = got.length
      }
      return ACCEPTED
    }
    await work(await takeJob()).catch(() => {})
    expect(sentWhenAnswered).toBeGreaterThan(3)
    expect(got).toHaveLength(sentWhenAnswered)
    expect(await health()).toMatchObject({ webhook_url: null, pending: 0 })
  })

  test('while the account is suspended; they resume afterwards', async () => {
    await buy()
    await shop.operator.suspendAccount(account_id, 'test')
    const job = await takeJob()
    expect(await work(job)).toMatchObject({ kind: 'again' })
    expect(got).toEqual([])
    await shop.operator.resumeAccount(account_id)
    expect(await work(job)).toEqual({ kind: 'done' })
    expect(got).toHaveLength(1)
  })

  test('the 24 hours keep counting during a suspension', async () => {
    await buy()
    await shop.operator.suspendAccount(account_id, 'test')
    const job = await takeJob()
    nowMs += 25 * HOUR_S * 1000
    await work(job)
    await shop.operator.resumeAccount(account_id)
    await work(job).catch(() => {})
    expect(got).toEqual([])
    expect((await shop.call('GET', '/v1/webhook', { key })).body.failed).toBe(1)
  })
})

test('two workers that hold the same event record one attempt', async () => {
  await buy()
  const bothHaveSent = Promise.withResolvers<void>()
  answer = async () => {
    if (got.length === 2) bothHaveSent.resolve()
    await bothHaveSent.promise
    return FAILED
  }
  const job = await takeJob()
  await Promise.all([work(job), work(job)])
  const rows = await shop.database.owner.many(
    sql`select n from attempts_made where account_id = ${account_id}`,
  )
  expect([got.length, rows]).toEqual([2, [{ n: 1 }]])
})
