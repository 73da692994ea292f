import { createHash, randomUUID } from 'node:crypto'
import type { PublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deliveriesArea } from '../../src/dashboard/webhooks/deliveries.ts'
import { deliveriesCsv } from '../../src/dashboard/webhooks/deliveries-csv.ts'
import { sql } from '../../src/platform/database/db.ts'
import { newId } from '../../src/platform/text/ids.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { textOf } from '../../testing/dashboard-shop.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { callAs, memberAct, memberOf } from '../../testing/member.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'
import { startDeliveries, startWebhookReceiver } from '../../testing/webhook-receiver.ts'

const ITEM = '10000000000000001'
const LINK = 'https://gift.example/claim/AbCdEf-9876543210'
const DAY_MS = 86_400_000

let shop: Shop
let receiver: PublicReceiver
let worker: ReturnType<typeof startDeliveries>
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
  await putItems(shop.database.operator, [itemOf(ITEM)])
  receiver = await startWebhookReceiver()
  worker = startDeliveries(shop, receiver)
})
afterAll(async () => {
  await worker.stop()
  await receiver.close()
  await shop.close()
})
beforeEach(() => {
  receiver.arrivals.length = 0
  receiver.answersWith(204)
})

let count = 0
interface Period {
  readonly from?: string
  readonly to?: string
}

async function openAccount({ withEndpoint = true } = {}) {
  const db = shop.database.dashboard
  const account_id = (await shop.operator.createAccount('Deliveries')).id
  await shop.operator.fundAccount(account_id, { amount_cents: 100_000, reference: account_id })
  const key = await shop.makeKey(undefined, account_id)
  if (withEndpoint) await configure(key, receiver.url)
  const { keyring, vault } = shop
  const area = deliveriesArea({ db, act: memberAct(shop.database), keyring, vault })
  const member = memberOf(account_id)
  const lastDay = (): Period => ({
    from: new Date(Date.now() - DAY_MS).toISOString(),
    to: new Date(Date.now() + 60_000).toISOString(),
  })
  return {
    account_id,
    key,
    list: (query: object = {}) => callAs(member, area.listDeliveries, { query }),
    one: (id: string) => callAs(member, area.getDelivery, { id }),
    bars: (range: '24h' | '7d') => callAs(member, area.deliveryHours, { query: { range } }),
    resend: (event_id: string) => callAs(member, area.resendEvent, { body: { event_id } }),
    resendSeveral: (event_ids: readonly string[], attempt: string = randomUUID()) =>
      callAs(member, area.resendEvents, { body: { event_ids, attempt } }),
    csv: async (query: object) => {
      const { content } = await callAs(member, area.exportDeliveries, { query })
      return (await textOf(content)).trim().split('\r\n')
    },
    preview: (query: Period = lastDay()) => callAs(member, area.previewRecover, { query }),
    recover: (body: Period = lastDay()) => callAs(member, area.recoverEvents, { body }),
    async buy() {
      count += 1
      const body = JSON.stringify({ items: [{ id: ITEM }], idempotency_key: `deliveries-${count}` })
      return (await shop.call('POST', '/v1/orders', { key, body })).body.id as string
    },
    sendTest: () => shop.call('POST', '/v1/webhook/test', { key, body: '{}' }),
    /** As if 24 hours had passed since the events were queued. */
    giveUp: () =>
      expect
        .poll(async () => {
          // Repeated: an attempt that is just being recorded sets the next time again.
          await shop.database.asOwner(`
            update deliveries set created_at = now() - interval '25 hours', next_at = now()
             where account_id = '${account_id}' and state = 'pending';
            update jobs set run_at = now() where account_id = '${account_id}'`)
          return (await states(account_id)).pending ?? 0
        })
        .toBe(0),
  }
}
const configure = (key: TestKey, url: string | null) =>
  shop.call('POST', '/v1/webhook', { key, body: JSON.stringify({ url }) })
const states = async (account_id: string) => {
  const rows = await shop.database.owner.many<{ state: string; n: number }>(
    sql`select state, count(*) as n from deliveries where account_id = ${account_id} group by state`,
  )
  return Object.fromEntries(rows.map(({ state, n }) => [state, n])) as Record<string, number>
}
const settled = (account_id: string, state: string, n: number) =>
  expect.poll(async () => (await states(account_id))[state] ?? 0).toBe(n)
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Refusal ? error.type : String(error)),
  )
const refuses = (status: number, text = '', headers = {}) =>
  receiver.answers(({ response }) => response.writeHead(status, headers).end(text))

describe('the list', () => {
  test('is newest first, pages in both directions without gaps, and can be filtered by everything it shows', async () => {
    const { account_id, list, buy, sendTest } = await openAccount()
    const orders = [await buy(), await buy(), await buy()]
    await settled(account_id, 'delivered', 3)
    refuses(503)
    await sendTest()
    await buy()
    await expect.poll(async () => (await list({ code: '5xx' })).deliveries.length).toBe(2)

    const all = (await list()).deliveries
    expect(all).toHaveLength(5)
    expect(all.map(({ event_id }) => event_id)).toEqual(
      all
        .map(({ event_id }) => event_id)
        .sort()
        .reverse(),
    )
    const first = await list({ limit: 2 })
    const second = await list({ limit: 2, before: first.next })
    const third = await list({ limit: 2, before: second.next })
    expect([first, second, third].flatMap(({ deliveries }) => deliveries)).toEqual(all)
    expect([first.previous, third.next]).toEqual([null, null])
    expect(await list({ limit: 2, after: third.previous })).toMatchObject({ deliveries: second.deliveries })
    expect((await list({ limit: 2, after: second.previous })).previous).toBeNull()

    const count = async (query: object) => (await list(query)).deliveries.length
    expect(await count({ state: 'accepted' })).toBe(3)
    expect(await count({ state: 'retrying' })).toBe(2)
    expect(await count({ state: 'failed' })).toBe(0)
    expect(await count({ type: 'test' })).toBe(1)
    expect(await count({ type: 'test', code: '5xx' })).toBe(1)
    expect(await count({ code: '2xx' })).toBe(3)
    expect(await count({ code: '2xx', state: 'failed' })).toBe(0)
    expect(await count({ code: '4xx' })).toBe(0)
    expect(await count({ code: 'other' })).toBe(0)
    expect(await count({ order_id: orders[1] })).toBe(1)
    expect(await count({ from: new Date(Date.now() + 60_000).toISOString() })).toBe(0)
    expect(await count({ to: new Date(Date.now() + 60_000).toISOString() })).toBe(5)
    expect(all.find(({ type }) => type === 'test')).toMatchObject({
      state: 'retrying',
      attempts: 1,
      last_status: 503,
      last_error: 'http_503',
      next_at: expect.any(String),
    })
    expect(all.at(-1)).toMatchObject({ state: 'accepted', last_status: 204, last_error: null, next_at: null })
  })

  test('the bars count each hour by what became of its events', async () => {
    const { account_id, bars, buy, giveUp } = await openAccount()
    await buy()
    await settled(account_id, 'delivered', 1)
    refuses(500)
    await buy()
    await buy()
    await expect
      .poll(async () => (await bars('24h')).bars.reduce((sum, { retrying }) => sum + retrying, 0))
      .toBe(2)
    await expect.poll(() => receiver.arrivals.length).toBe(3)
    await giveUp()
    const day = await bars('24h')
    expect(day.bars).toHaveLength(24)
    const total = (name: 'accepted' | 'retrying' | 'failed') =>
      day.bars.reduce((sum, bar) => sum + bar[name], 0)
    expect([total('accepted'), total('retrying'), total('failed')]).toEqual([1, 0, 2])
    expect((await bars('7d')).bars).toHaveLength(28)
  })
})

describe('one delivery', () => {
  test('shows what was sent and answered, with no link and no address anywhere, however the receiver repeats them', async () => {
    const { account_id, list, one, buy } = await openAccount()
    const order = await buy()
    await settled(account_id, 'delivered', 1)
    receiver.answers(({ arrival: { body, data }, response }) => {
      const { links } = data.order
      const link = String(links[0])
      response.writeHead(422, { 'content-type': 'text/plain', location: link, 'retry-after': '30' })
      response.end(
        [
          `cannot store ${link}`,
          encodeURIComponent(link),
          JSON.stringify(body),
          link.replaceAll('/', '\\/'),
          Buffer.from(body).toString('base64'),
          'token AbCdEf-9876543210',
          '\u202eevil\u0007',
        ].join(' | '),
      )
    })
    await shop.operator.deliverOrder(order, [LINK])
    await expect.poll(async () => (await list({ code: '4xx' })).deliveries.length).toBe(1)
    const [row] = (await list({ code: '4xx' })).deliveries
    const page = await one(row?.event_id ?? '')
    const sent = receiver.arrivals.at(-1)
    expect(page.attempts).toHaveLength(1)
    expect(page.attempts[0]).toMatchObject({
      n: 1,
      round: 1,
      status: 422,
      error: 'http_422',
      connect_ms: expect.any(Number),
      send_ms: expect.any(Number),
      wait_ms: expect.any(Number),
      answer: {
        headers: expect.arrayContaining([
          ['retry-after', '30'],
          ['location', '[removed]'],
        ]),
      },
    })
    expect(page.attempts[0]?.answer?.text).toContain('cannot store [removed]')
    // As sent, byte for byte, except for the links.
    expect(page.body?.text.replace('••••••••', LINK)).toBe(sent?.body)
    expect(page.body).toMatchObject({
      masked_links: 1,
      bytes: Buffer.byteLength(sent?.body ?? ''),
      sha256: createHash('sha256')
        .update(sent?.body ?? '')
        .digest('hex'),
    })
    const shown = Object.fromEntries(
      (page.attempts[0]?.request_headers ?? []).map(([name, value]) => [name.toLowerCase(), value]),
    )
    expect(sent?.headers).toMatchObject({ ...shown })
    expect(shown).toHaveProperty('x-webhook-signature')

    const text = JSON.stringify(page)
    for (const part of [LINK, encodeURIComponent(LINK), 'gift.example', 'AbCdEf-9876543210', '\u202e'])
      expect(text).not.toContain(part)
    expect(text).not.toContain('remote_address')
    expect(text).not.toContain('127.0.0.1')
    const { answer_sealed } = await shop.database.owner.one<{ answer_sealed: Buffer }>(
      sql`select answer_sealed from delivery_attempts where account_id = ${account_id} and answer_sealed is not null`,
    )
    expect(answer_sealed.includes('cannot store')).toBe(false)
  })

  test('keeps no answer of an accepted order event, and the answer of an accepted test', async () => {
    const { account_id, list, one, buy, sendTest } = await openAccount()
    refuses(200, 'thank you')
    await buy()
    await sendTest()
    await settled(account_id, 'delivered', 2)
    const [tested, bought] = (await list()).deliveries
    expect((await one(tested?.event_id ?? '')).attempts[0]?.answer?.text).toBe('thank you')
    expect((await one(bought?.event_id ?? '')).attempts[0]?.answer).toBeNull()
  })

  test('that was accepted at once shows what was sent, byte for byte except for the links', async () => {
    const { account_id, list, one, buy } = await openAccount()
    const link = 'https://gift.example/accepted/AbCdEf-1234567890'
    await shop.operator.deliverOrder(await buy(), [link])
    await settled(account_id, 'delivered', 2)
    for (const { event_id } of (await list()).deliveries) {
      const { body } = await one(event_id)
      const sent = receiver.arrivals.find(({ headers }) => headers['x-webhook-id'] === event_id)
      expect(body?.text.replace('••••••••', link)).toBe(sent?.body)
      expect(body?.text).not.toContain(link)
    }
  })

  test('of another account is 404, as is sending it again', async () => {
    const mine = await openAccount()
    const theirs = await openAccount()
    await theirs.buy()
    await settled(theirs.account_id, 'delivered', 1)
    const [row] = (await theirs.list()).deliveries
    const id = row?.event_id ?? ''
    expect(await refusalOf(mine.one(id))).toBe('not_found')
    expect(await refusalOf(mine.resend(id))).toBe('not_found')
    expect((await mine.list()).deliveries).toEqual([])
    expect(await refusalOf(mine.one(newId('evt', Date.now())))).toBe('not_found')
    expect((await states(theirs.account_id)).pending).toBeUndefined()
  })

  test('sent again: the same id and bytes in a new round, with an audit row', async () => {
    const { account_id, list, one, resend, buy } = await openAccount()
    await buy()
    await settled(account_id, 'delivered', 1)
    const [row] = (await list()).deliveries
    const id = row?.event_id ?? ''
    await resend(id)
    await expect.poll(() => receiver.arrivals.length).toBe(2)
    expect(receiver.arrivals[0]?.body).toBe(receiver.arrivals[1]?.body)
    await settled(account_id, 'delivered', 1)
    expect((await one(id)).attempts.map(({ round, n }) => [round, n])).toEqual([
      [2, 1],
      [1, 1],
    ])
    const audit = await shop.database.owner.many(
      sql`select action, target from audit_log where account_id = ${account_id}`,
    )
    expect(audit).toEqual([{ action: 'webhook.resend', target: id }])
  })
})

describe('several events sent again', () => {
  test('each once, with what became of it in the order asked, and one audit row with the count and the ids', async () => {
    const { account_id, list, buy, resendSeveral } = await openAccount()
    await buy()
    await buy()
    await settled(account_id, 'delivered', 2)
    refuses(503)
    await buy()
    await expect.poll(async () => (await list({ code: '5xx' })).deliveries.length).toBe(1)
    const [waiting, second, first] = (await list()).deliveries.map(({ event_id }) => event_id) as string[]
    const unknown = newId('evt', Date.now())
    receiver.answersWith(204)
    receiver.arrivals.length = 0
    const asked = [second, unknown, waiting, first] as string[]
    expect((await resendSeveral(asked)).results).toEqual([
      { event_id: second, outcome: 'resent' },
      { event_id: unknown, outcome: 'not_found' },
      { event_id: waiting, outcome: 'already_queued' },
      { event_id: first, outcome: 'resent' },
    ])
    await settled(account_id, 'delivered', 2)
    expect(receiver.arrivals.map(({ id }) => id).sort()).toEqual([first, second])
    const audit = await shop.database.owner.many<{ action: string; target: string; details: object }>(
      sql`select action, target, details from audit_log where account_id = ${account_id}`,
    )
    expect(audit).toMatchObject([
      {
        action: 'webhook.resend_several',
        target: 'webhook',
        details: {
          after: { events: 2, resent: [first, second], already_queued: [waiting], not_found: [unknown] },
        },
      },
    ])
  })

  test('the same request twice, also at the same time, sends once and gets the same answer; with other events it is refused', async () => {
    const { account_id, list, buy, resendSeveral } = await openAccount()
    await buy()
    await buy()
    await settled(account_id, 'delivered', 2)
    const [second, first] = (await list()).deliveries.map(({ event_id }) => event_id) as [string, string]
    const attempt = randomUUID()
    const answers = await Promise.all([1, 2, 3].map(() => resendSeveral([first], attempt)))
    await settled(account_id, 'delivered', 2)
    answers.push(await resendSeveral([first], attempt))
    for (const { results } of answers) expect(results).toEqual([{ event_id: first, outcome: 'resent' }])
    expect((await list()).deliveries.map(({ event_id, round }) => [event_id, round])).toEqual([
      [second, 1],
      [first, 2],
    ])
    expect(await refusalOf(resendSeveral([second], attempt))).toBe('conflict')
  })

  test('of another account are not found, and nothing of it is sent; without an endpoint nothing is', async () => {
    const mine = await openAccount()
    const theirs = await openAccount()
    await mine.buy()
    await theirs.buy()
    await settled(theirs.account_id, 'delivered', 1)
    await settled(mine.account_id, 'delivered', 1)
    const idOf = async ({ list }: typeof mine) => (await list()).deliveries[0]?.event_id ?? ''
    const [own, other] = [await idOf(mine), await idOf(theirs)]
    expect((await mine.resendSeveral([other, own])).results).toEqual([
      { event_id: other, outcome: 'not_found' },
      { event_id: own, outcome: 'resent' },
    ])
    expect(await refusalOf(mine.resendSeveral([other]))).toBe('not_found')
    expect((await theirs.list()).deliveries).toMatchObject([{ state: 'accepted', round: 1 }])
    await configure(mine.key, null)
    expect(await refusalOf(mine.resendSeveral([own]))).toBe('webhook_not_configured')
  })
})

describe('the file', () => {
  test('has the filtered deliveries, or of them those that were selected, newest first, and says when it is full', async () => {
    const { account_id, csv, list, buy, sendTest } = await openAccount()
    await buy()
    await buy()
    await sendTest()
    await settled(account_id, 'delivered', 3)
    const [tested, second, first] = (await list()).deliveries.map(({ event_id }) => event_id) as string[]
    const idsIn = (lines: readonly string[]) => lines.slice(1).map((line) => line.split(',')[0])
    expect((await csv({}))[0]).toBe(
      'event_id,type,order_id,created_at,state,attempts,round,last_status,last_error,last_ms,next_at,endpoint_id',
    )
    expect(idsIn(await csv({}))).toEqual([tested, second, first])
    expect(idsIn(await csv({ type: 'test' }))).toEqual([tested])
    expect(idsIn(await csv({ ids: `${first},${tested}` }))).toEqual([tested, first])
    expect(idsIn(await csv({ ids: `${first},${tested}`, type: 'order.accepted' }))).toEqual([first])
    const { dashboard } = shop.database
    const full = (await textOf(deliveriesCsv(dashboard, account_id, {}, 2))).trim().split('\r\n')
    expect(full).toHaveLength(4)
    expect(full.at(-1)).toMatch(/newest 2 deliveries/)
  })
})

describe('recovering what was given up', () => {
  test('whenever it was, and nothing that was cancelled or never had a URL', async () => {
    const { key, preview, recover, buy, giveUp, sendTest } = await openAccount()
    refuses(503)
    const lost = await buy()
    await expect.poll(() => receiver.arrivals.length).toBe(1)
    await giveUp()
    await sendTest()
    await configure(key, null)
    await buy()
    await configure(key, receiver.url)
    expect(await preview({})).toMatchObject({
      total: 1,
      counts: [{ type: 'order.accepted', state: 'failed', events: 1 }],
    })
    receiver.answersWith(204)
    receiver.arrivals.length = 0
    expect(await recover({})).toEqual({ sent: 1, remaining: 0 })
    await expect.poll(() => receiver.arrivals.map(({ data }) => data.order?.id)).toEqual([lost])
    expect(await preview({})).toMatchObject({ total: 0 })
    expect(await refusalOf(recover({ from: new Date().toISOString() }))).toBe('invalid_request')
  })
})

describe('recovering a period', () => {
  test('after an outage: exactly what was never accepted is sent, once, and a second time nothing is', async () => {
    const { account_id, key, preview, recover, buy, giveUp, sendTest } = await openAccount()
    await buy()
    await buy()
    await settled(account_id, 'delivered', 2)
    refuses(503)
    const lost = [await buy(), await buy(), await buy()]
    await expect.poll(() => receiver.arrivals.length).toBe(5)
    await giveUp()
    // Cancelled with its endpoint, and never queued at all.
    await sendTest()
    await configure(key, null)
    const unsent = await buy()
    await configure(key, receiver.url)
    expect(await preview()).toMatchObject({
      total: 5,
      sends_now: 5,
      counts: [
        { type: 'order.accepted', state: 'failed', events: 3 },
        { type: 'order.accepted', state: 'unsent', events: 1 },
        { type: 'test', state: 'cancelled', events: 1 },
      ],
    })
    receiver.answersWith(204)
    receiver.arrivals.length = 0
    const [one, other] = await Promise.all([recover(), recover()])
    expect(one.sent + other.sent).toBe(5)
    await settled(account_id, 'delivered', 7)
    expect(receiver.arrivals.map(({ data }) => data.order?.id ?? 'test').sort()).toEqual(
      [...lost, unsent, 'test'].sort(),
    )
    expect(await preview()).toMatchObject({ total: 0, first_at: null, counts: [] })
    expect(await recover()).toEqual({ sent: 0, remaining: 0 })
    expect(receiver.arrivals).toHaveLength(5)
  })

  test('needs an endpoint, a period of at most seven days, and one that ends after it begins', async () => {
    const { recover, preview, buy } = await openAccount({ withEndpoint: false })
    await buy()
    expect((await preview()).total).toBe(1)
    expect(await refusalOf(recover())).toBe('webhook_not_configured')
    const now = Date.now()
    const period = (from: number, to: number) => ({
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
    })
    expect(await refusalOf(preview(period(now - 8 * DAY_MS, now)))).toBe('invalid_request')
    expect(await refusalOf(recover(period(now, now - 1)))).toBe('invalid_request')
  })

  test('of many events they are spread over time, so that a new event is not behind all of them', async () => {
    const { account_id, recover, buy } = await openAccount({ withEndpoint: false })
    for (let n = 0; n < 45; n += 1) await buy()
    const key = await shop.makeKey(undefined, account_id)
    await configure(key, `${receiver.url}/many`)
    await recover()
    const [spread] = await shop.database.owner.many<{ seconds: number }>(sql`
      select extract(epoch from max(next_at) - min(created_at))::float8 as seconds
        from deliveries
       where account_id = ${account_id}
         and attempts = 0`)
    expect(spread?.seconds).toBeGreaterThanOrEqual(2)
    await settled(account_id, 'delivered', 45)
  })
})
