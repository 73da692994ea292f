import { verifyWebhook } from '@shopwire/contract/signing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { composeEvent } from '../../src/orders/fulfilment/compose-event.ts'
import { sql } from '../../src/platform/database/db.ts'
import type { Letter } from '../../src/platform/mail/letter.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import type { Sent } from '../../src/platform/outbound/guarded-client.ts'
import { ANNOUNCE_CHUNK, announceCatalogue } from '../../src/webhooks/announce.ts'
import { createDelivery } from '../../src/webhooks/deliver.ts'
import { DELIVER_QUEUE } from '../../src/webhooks/deliver-queue.ts'
import { WEBHOOK_MAILS_PER_DAY_MAX } from '../../src/webhooks/notices.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { claimFromAllLanes } from '../../testing/claim.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

const ITEM = '10000000000000001'
const ACCEPTED: Sent = { error: null, status: 200, remote_address: '93.184.216.34' }
const FAILED: Sent = { error: 'http_500', status: 500, remote_address: '93.184.216.34' }

const log = createLog('silent')
let shop: Shop
let key: TestKey
let account_id: string
let secret: string
let got: { headers: Record<string, string>; body: string }[]
let sent: Sent
let told: { kind: string; letter: Letter }[]
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
  await putItems(shop.database.operator, [itemOf(ITEM)])
})
afterAll(() => shop.close())
beforeEach(async () => {
  account_id = (await shop.operator.createAccount('Receiver')).id
  key = await shop.makeKey(undefined, account_id)
  const { body } = await shop.call('POST', '/v1/webhook', {
    key,
    body: JSON.stringify({ url: 'https://93.184.216.34/hook' }),
  })
  secret = body.secret
  got = []
  told = []
  sent = ACCEPTED
})

const sendTest = () => shop.call('POST', '/v1/webhook/test', { key, body: '{}' })
/** One pass of a worker at the given time. */
async function work(laterMs = 0) {
  const nowMs = Date.now() + laterMs
  const deliver = createDelivery({
    db: shop.database.worker,
    keyring: shop.keyring,
    clock: { nowMs: () => nowMs },
    openClient: () => ({
      async post(headers, body) {
        got.push({ headers: { ...headers }, body: Buffer.from(body).toString() })
        return sent
      },
      close: async () => {},
    }),
    notify: async (_tx, _account_id, kind, letter) => void told.push({ kind, letter }),
    compose: (event) => composeEvent(shop.database.worker, shop.vault, event),
    log,
    metrics: shop.metrics,
    random: () => 0,
  })
  const jobs = await claimFromAllLanes(shop.database.worker, DELIVER_QUEUE, { limit: 1_000, leaseMs: 0 })
  const mine = jobs.filter((job) => job.account_id === account_id)
  for (const job of mine) await deliver(job)
}
const admin = (...args: string[]) => runAdminOn(shop, 'webhooks', ...args)
const eventIds = async () =>
  (
    await shop.database.owner.many<{ id: string }>(
      sql`select id from events where account_id = ${account_id} order by id`,
    )
  ).map(({ id }) => id)

describe('the delivery log', () => {
  test('shows the endpoint, each delivery and each attempt; never a body', async () => {
    await sendTest()
    sent = FAILED
    await work()
    const [event = ''] = await eventIds()
    expect((await admin('show', account_id)).out).toMatch(/1 on their way, 0 given up\n.*\(http_500\)/)
    expect((await admin('log', account_id)).out).toMatch(
      new RegExp(`${event} .* test +pending +1× .* http_500`),
    )
    expect((await admin('attempts', account_id, event)).out).toMatch(
      /1 +1 .* 500 +http_500 +93\.184\.216\.34/,
    )
    expect((await admin('log', account_id, '--json')).out).not.toContain('message')
  })

  test('prints a message when there is nothing to list', async () => {
    const other = (await shop.operator.createAccount('Quiet')).id
    expect((await admin('show', other)).out).toContain('POST /webhook')
    expect((await admin('log', other)).out).toContain('No event')
    expect((await admin('show', 'acct_nobody')).code).toBe(EXIT.notFound)
  })
})

describe('sending events again', () => {
  test('one event: the same id and bytes, in a new round of attempts', async () => {
    await sendTest()
    await work()
    const [event = ''] = await eventIds()
    expect((await admin('resend', account_id, event)).code).toBe(EXIT.ok)
    await work()
    expect(got).toHaveLength(2)
    expect(got[0]?.body).toBe(got[1]?.body)
    expect((await admin('attempts', account_id, event, '--json')).out).toContain('"round":2')
    expect((await admin('resend', account_id, 'evt_nothing')).code).toBe(EXIT.notFound)
  })

  test('a time range: counted first, then only events that were not accepted', async () => {
    await sendTest()
    await work()
    await sendTest()
    await sendTest()
    sent = FAILED
    await work()
    await shop.database.asOwner(
      `update deliveries set state = 'failed', done_at = now() where account_id = '${account_id}' and state = 'pending'`,
    )
    const range = ['--from', '2020-01-01T00:00:00Z', '--until', '2099-01-01T00:00:00Z']
    expect((await admin('recover', account_id, ...range)).out).toMatch(
      /^2 events were never accepted .* --apply/,
    )
    got = []
    sent = ACCEPTED
    await work()
    expect(got).toEqual([])
    expect((await admin('recover', account_id, ...range, '--apply')).out).toMatch(
      /^2 events are on their way/,
    )
    await work()
    expect(got).toHaveLength(2)
    expect((await admin('recover', account_id, ...range, '--apply')).out).toMatch(/^Every event/)
  })

  test('events of an ended endpoint are sent to the current one', async () => {
    await sendTest()
    await shop.call('DELETE', '/v1/webhook', { key })
    const range = ['--from', '2020-01-01T00:00:00Z', '--until', '2099-01-01T00:00:00Z', '--apply']
    expect((await admin('recover', account_id, ...range)).err).toContain('no webhook endpoint')
    await shop.call('POST', '/v1/webhook', { key, body: '{"url":"https://93.184.216.35/"}' })
    expect((await admin('recover', account_id, ...range)).out).toMatch(/^1 events are on their way/)
    await work()
    expect(got).toHaveLength(1)
  })
})

describe('notices', () => {
  const notices = async () => JSON.parse((await admin('notices', account_id, '--json')).out).notices
  const fail = async (events: number) => {
    sent = FAILED
    for (let n = 0; n < events; n += 1) await sendTest()
    await work()
  }

  test('a failing endpoint gives one notice per threshold, and again after it recovered', async () => {
    expect((await admin('notices', account_id)).out).toContain('No notices')
    await fail(9)
    expect(await notices()).toEqual([])
    await fail(1)
    expect(await notices()).toMatchObject([{ kind: 'webhook.failing', details: { percent: 100 } }])
    await work(3_700_000)
    expect(await notices()).toHaveLength(1)
    sent = ACCEPTED
    await work(4 * 3_600_000)
    expect((await shop.call('GET', '/v1/webhook', { key })).body.pending).toBe(0)
    await fail(9)
    const [latest] = await notices()
    expect(await notices()).toHaveLength(2)
    expect(latest.details.percent).toBe(50)
    expect(told.map(({ kind, letter }) => [kind, letter.subject])).toEqual([
      ['webhook_trouble', 'Webhook of Receiver: 100 % of the latest attempts failed'],
      ['webhook_trouble', 'Webhook of Receiver: 50 % of the latest attempts failed'],
    ])
    // Of the URL only its host: the rest may contain a token.
    const said = told[0]?.letter.paragraphs?.join(' ')
    expect(said).toContain('93.184.216.34')
    expect(said).not.toContain('/hook')
  })

  test('events that are given up give one notice an hour', async () => {
    await fail(3)
    await shop.database.asOwner(`update deliveries set attempts = 11 where account_id = '${account_id}'`)
    await work(3_700_000)
    expect((await shop.call('GET', '/v1/webhook', { key })).body.failed).toBe(3)
    expect(await notices()).toMatchObject([{ kind: 'webhook.given_up' }])
    expect(told.map(({ letter }) => letter.subject)).toEqual(['Webhook of Receiver: an event was given up'])
  })

  test('an endpoint that fails and recovers all day gives notices, and no more than so many mails', async () => {
    await shop.database.asOwner(`
      insert into notices (account_id, id, kind, details, created_at, is_mailed)
      select '${account_id}', 'ntc_' || n, 'webhook.failing', '{}', now() - n * interval '3 hours', true
        from generate_series(1, ${WEBHOOK_MAILS_PER_DAY_MAX}) n`)
    await fail(10)
    expect(await notices()).toHaveLength(WEBHOOK_MAILS_PER_DAY_MAX + 1)
    expect(told).toEqual([])
  })
})

describe('a rotated secret', () => {
  const isSignedWith = (key: string, n: number) => {
    const { headers = {}, body = '' } = got[n] ?? {}
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const { 'x-webhook-signature-previous': _previous, ...current } = lower
    const check = (some: typeof lower) =>
      verifyWebhook({
        secrets: [key],
        headers: some,
        body: Buffer.from(body),
        nowS: Number(lower['x-webhook-timestamp']),
      }).ok
    return { current: check(current), either: check(lower) }
  }

  test('signs at once; the old one also signs for a day, and no longer', async () => {
    const rotated = await admin('rotate-secret', account_id)
    const fresh = /whsec_\S+/.exec(rotated.out)?.[0] ?? ''
    await sendTest()
    await work()
    expect(isSignedWith(fresh, 0)).toEqual({ current: true, either: true })
    expect(isSignedWith(secret, 0)).toEqual({ current: false, either: true })
    await shop.database.asOwner(
      `update webhook_secrets set ends_at = now() where account_id = '${account_id}' and ends_at is not null`,
    )
    await sendTest()
    await work()
    expect(isSignedWith(secret, 1)).toEqual({ current: false, either: false })
    expect(isSignedWith(fresh, 1)).toEqual({ current: true, either: true })
  })

  test('rotated twice, leaves only the newer of the old secrets', async () => {
    const first = /whsec_\S+/.exec((await admin('rotate-secret', account_id)).out)?.[0] ?? ''
    await admin('rotate-secret', account_id)
    await sendTest()
    await work()
    expect([isSignedWith(secret, 0).either, isSignedWith(first, 0).either]).toEqual([false, true])
  })

  test('needs an endpoint', async () => {
    const other = (await shop.operator.createAccount('Quiet')).id
    expect((await admin('rotate-secret', other)).err).toContain('no webhook endpoint')
  })
})

describe('a catalogue change', () => {
  const revision = async () =>
    (await shop.database.owner.one<{ revision: number }>(sql`select revision from catalogue_state`)).revision
  const announced = async () =>
    (
      await shop.database.owner.many<{ revision: number }>(
        sql`select revision from events where account_id = ${account_id} and type = 'catalogue.changed' order by revision`,
      )
    ).map((row) => row.revision)
  const announce = async (nowMs: number) => {
    while ((await announceCatalogue(shop.database.worker, await revision(), nowMs)) === ANNOUNCE_CHUNK);
  }

  test('queues one event per endpoint for many changes, at most once a minute', async () => {
    let nowMs = Date.now() + 3_600_000
    await announce(nowMs)
    const before = (await announced()).length
    await putItems(shop.database.operator, [itemOf(ITEM, { price_cents: 101 })])
    await putItems(shop.database.operator, [itemOf(ITEM, { price_cents: 102 })])
    await announce(nowMs + 59_000)
    expect(await announced()).toHaveLength(before)
    nowMs += 60_000
    await Promise.all([announce(nowMs), announce(nowMs), announce(nowMs)])
    expect((await announced()).slice(before)).toEqual([await revision()])
    await announce(nowMs + 60_000)
    expect(await announced()).toHaveLength(before + 1)
    await work(3_700_000)
    expect(JSON.parse(got.at(-1)?.body ?? '')).toMatchObject({
      event: 'catalogue.changed',
      data: { revision: String(await revision()), refresh: true },
    })
  })

  test('is queued for thousands of endpoints in chunks, once each', async () => {
    await shop.database.asOwner(`
      insert into accounts (id, name, created_at) select 'acct_many' || lpad(n::text, 5, '0'), 'x', now() from generate_series(1, 1300) n;
      insert into balances (account_id) select 'acct_many' || lpad(n::text, 5, '0') from generate_series(1, 1300) n;
      insert into webhook_endpoints (account_id, id, url, set_by, created_at)
      select 'acct_many' || lpad(n::text, 5, '0'), 'whe_' || n, 'https://93.184.216.34/', 'x', now() from generate_series(1, 1300) n`)
    await putItems(shop.database.operator, [itemOf(ITEM, { price_cents: 103 })])
    await announce(Date.now() + 7_200_000)
    const counts = await shop.database.owner.one(sql`
      select count(*) as events, count(distinct account_id) as accounts
        from events
       where account_id like 'acct_many%'`)
    expect(counts).toEqual({ events: 1_300, accounts: 1_300 })
    const { jobs } = await shop.database.owner.one<{ jobs: number }>(
      sql`select count(*) as jobs from jobs where account_id like 'acct_many%' and queue = 'deliver'`,
    )
    expect(jobs).toBe(1_300)
  })
})
