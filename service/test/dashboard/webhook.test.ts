import { schemas } from '@shopwire/contract'
import { webhookEventNames } from '@shopwire/contract/dashboard'
import { verifyWebhook } from '@shopwire/contract/signing'
import type { Arrival, PublicReceiver } from '@shopwire/test-kit/receivers/webhook-receiver'
import { Ajv } from 'ajv'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { webhookArea } from '../../src/dashboard/webhooks/webhook.ts'
import { sql } from '../../src/platform/database/db.ts'
import type { Letter } from '../../src/platform/mail/letter.ts'
import { timeInId } from '../../src/platform/text/ids.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { checkWebhookUrl } from '../../src/webhooks/url-rules.ts'
import { callAs, memberAct, memberOf } from '../../testing/member.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startDeliveries, startWebhookReceiver } from '../../testing/webhook-receiver.ts'

let shop: Shop
let receiver: PublicReceiver
let worker: ReturnType<typeof startDeliveries>
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000_000, ordersMax: 1_000_000 } })
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

async function openArea() {
  const db = shop.database.dashboard
  const account_id = (await shop.operator.createAccount('Webhook')).id
  const mails: Letter[] = []
  const area = webhookArea({
    db,
    act: memberAct(shop.database),
    keyring: shop.keyring,
    mailOwners: async (_tx, _member, mail) => void mails.push(mail),
    checkUrl: checkWebhookUrl,
  })
  const member = memberOf(account_id)
  return {
    account_id,
    mails,
    read: () => callAs(member, area.getWebhook),
    readAs: (role: 'viewer' | 'finance') => callAs({ ...member, role }, area.getWebhook),
    set: (url: string | null) => callAs(member, area.setWebhook, { body: { url } }),
    test: () => callAs(member, area.testWebhook, { body: {} }),
    kinds: () => callAs(member, area.listEventKinds),
    example: (type: string) => callAs(member, area.sendExampleEvent, { body: { type } }),
    rotate: () => callAs(member, area.rotateSecret, { body: {} }),
    endPrevious: () => callAs(member, area.endPreviousSecret, { body: {} }),
  }
}

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Refusal ? `${error.type}: ${error.message}` : String(error)),
  )
const auditOf = (account_id: string) =>
  shop.database.owner.many<{ action: string; actor: string; address: string; details: unknown }>(
    sql`select action, actor, address, details from audit_log where account_id = ${account_id} order by id`,
  )
const verifies = ({ headers, body }: Arrival, secret: string) =>
  verifyWebhook({
    secrets: [secret],
    headers,
    body: Buffer.from(body),
    nowS: Number(headers['x-webhook-timestamp']),
  }).ok

describe('the endpoint', () => {
  test('the first URL returns a secret once, mails the owners and receives a test signed with it', async () => {
    const { read, set, test, mails, account_id } = await openArea()
    expect(await read()).toMatchObject({
      state: 'none',
      secret: null,
      set_by: null,
      health: { webhook_url: null },
    })
    const { secret = '', page } = await set(`${receiver.url}?token=hidden-token`)
    expect(page).toMatchObject({
      state: 'unused',
      secret: { hint: secret.slice(-4), previous_ends_at: null },
      set_by: { kind: 'person', name: 'Ada' },
      schedule_s: [0, 60, 180, 420, 900, 1860, 3780, 7380, 10980, 14580, 18180, 21780],
    })
    const { event_id } = await test()
    await expect.poll(async () => (await read()).state).toBe('healthy')
    expect(receiver.arrivals.map(({ id }) => id)).toEqual([event_id])
    expect(verifies(receiver.arrivals[0] as Arrival, secret)).toBe(true)
    expect((await read()).events_seen).toMatchObject([{ type: 'test' }])
    expect(mails.map(({ subject }) => subject)).toEqual(['The webhook URL was changed'])
    const audit = await auditOf(account_id)
    expect(audit.map(({ action }) => action)).toEqual(['webhook.set', 'webhook.test'])
    const written = JSON.stringify([audit, mails])
    expect(written).toContain(new URL(receiver.url).host)
    for (const never of [secret, 'hidden-token']) expect(written).not.toContain(never)
  })

  test('the same URL again changes nothing; another one keeps the secret; null stops; the next has a new secret', async () => {
    const { set, mails } = await openArea()
    const first = await set(receiver.url)
    expect(await set(receiver.url)).not.toHaveProperty('secret')
    expect(mails).toHaveLength(1)
    const moved = await set(`${receiver.url}/moved`)
    expect(moved).not.toHaveProperty('secret')
    expect(moved.page.secret?.hint).toBe(first.secret?.slice(-4))
    expect((await set(null)).page).toMatchObject({ state: 'none', secret: null })
    const next = await set(receiver.url)
    expect(next.secret).toBeDefined()
    expect(next.secret).not.toBe(first.secret)
    expect(mails.map(({ subject }) => subject)).toEqual([
      'The webhook URL was changed',
      'The webhook URL was changed',
      'The webhook was stopped',
      'The webhook URL was changed',
    ])
  })

  test.each([
    ['https://127.0.0.1/hook', 'its address is not a public one'],
    ['https://user:pw@93.184.216.34/', 'it carries credentials'],
    ['https://93.184.216.34/#part', 'it carries a fragment'],
    ['https://93.184.216.34:25/', 'port 25 is not one we deliver to'],
    ['https://intranet/', 'its host is not a public name'],
  ])('%s is refused because %s, and nothing is changed', async (url, why) => {
    const { set, read, mails } = await openArea()
    expect(await refusalOf(set(url))).toContain(
      `webhook_url_not_allowed: This URL cannot receive events: ${why}`,
    )
    expect((await read()).state).toBe('none')
    expect(mails).toEqual([])
  })

  test('without a URL, a test and a rotation are refused with what to do', async () => {
    const { test, rotate, endPrevious } = await openArea()
    expect(await refusalOf(test())).toContain('webhook_not_configured: There is no URL to send a test to.')
    expect(await refusalOf(rotate())).toContain('webhook_not_configured')
    expect(await refusalOf(endPrevious())).toContain('conflict: Only one secret signs now')
  })

  test('the page names the key that set the URL and says when it lost orders:read or was revoked', async () => {
    const { account_id, read } = await openArea()
    const key = await shop.makeKey(undefined, account_id)
    await shop.call('POST', '/v1/webhook', { key, body: JSON.stringify({ url: receiver.url }) })
    expect((await read()).set_by).toEqual({
      kind: 'key',
      id: key.id,
      name: 'test',
      is_revoked: false,
      lacks_orders_read: false,
    })
    await shop.database.asOwner('alter table api_keys disable trigger api_keys_stay_as_made')
    await shop.database.asOwner(`update api_keys set scopes = '{webhooks:write}' where id = '${key.id}'`)
    await shop.operator.revokeKey(key.id)
    expect((await read()).set_by).toMatchObject({ is_revoked: true, lacks_orders_read: true })
  })

  test('people who build nothing see the URL without what follows the question mark', async () => {
    const { set, readAs } = await openArea()
    await set(`${receiver.url}?token=hidden-token`)
    for (const role of ['viewer', 'finance'] as const)
      expect((await readAs(role)).health.webhook_url).toBe(`${receiver.url}?…`)
  })

  test('a receiver that refuses everything is shown as failing, and as healthy after it accepted again', async () => {
    const { set, test, read } = await openArea()
    await set(receiver.url)
    let isUp = false
    receiver.answers(({ response }) => response.writeHead(isUp ? 200 : 503).end())
    await test()
    await expect.poll(async () => (await read()).state).toBe('failing')
    expect(await read()).toMatchObject({
      health: { pending: 1, last_error: 'http_503' },
      retrying: 1,
      recent: { attempts: 1, failed: 1 },
    })
    isUp = true
    await test()
    await expect.poll(async () => (await read()).health.last_delivered_at).not.toBeNull()
    expect((await read()).state).toBe('retrying')
  })
})

describe('examples of events', () => {
  const ajv = new Ajv({ strict: true })
  const schemaOf = (type: string) =>
    schemas.WebhookEvent.anyOf.find(({ properties }) => properties.event.const === type) as object

  test('each type is described with a schema and an example that are those of the contract', async () => {
    const { kinds } = await (await openArea()).kinds()
    expect(kinds.map(({ type }) => type)).toEqual(webhookEventNames)
    for (const { type, schema, example } of kinds) {
      expect([type, ajv.validate(schemaOf(type), example), ajv.errors]).toEqual([type, true, null])
      const own = new Ajv({ strict: false, formats: { 'date-time': true, uri: true } })
      expect([type, own.validate(schema, example), own.errors]).toEqual([type, true, null])
      expect(own.validate(schema, { ...example, data: {} })).toBe(false)
      expect(JSON.stringify(schema)).not.toContain('$ref')
    }
  })

  test.each(webhookEventNames)(
    '%s arrives signed, with what the catalogue shows, and says that it is an example',
    async (type) => {
      const { account_id, set, example, kinds } = await openArea()
      const { secret = '' } = await set(receiver.url)
      const { event_id } = await example(type)
      await expect.poll(() => receiver.arrivals.length).toBe(1)
      const arrival = receiver.arrivals[0] as Arrival
      expect(arrival.id).toBe(event_id)
      expect(verifies(arrival, secret)).toBe(true)
      const body = JSON.parse(arrival.body)
      const shown = (await kinds()).kinds.find((one) => one.type === type)?.example
      expect(body).toEqual({ ...shown, id: event_id, created_at: body.created_at })
      expect(body.data.message).toMatch(/^A test\.|^An example/)
      if (body.data.order) expect(timeInId(body.data.order.id)).toBe(0)
      // To the store it is a test: of no order, and in no list of orders.
      const events = await shop.database.owner.many(
        sql`select type, order_id from events where account_id = ${account_id}`,
      )
      expect(events).toEqual([{ type: 'test', order_id: null }])
      expect((await auditOf(account_id)).at(-1)).toMatchObject({
        action: 'webhook.send_example',
        details: { after: { type } },
      })
    },
  )

  test('without a URL it is refused, and ten that are not accepted wait at most, like tests', async () => {
    const { set, example, test: sendTest } = await openArea()
    expect(await refusalOf(example('order.delivered'))).toContain('webhook_not_configured')
    receiver.answers(({ response }) => response.writeHead(503).end())
    await set(receiver.url)
    for (let n = 0; n < 9; n += 1) await example('order.delivered')
    await sendTest()
    expect(await refusalOf(example('order.delivered'))).toContain('rate_limited')
  })

  test('one that was refused is sent again with the same bytes', async () => {
    const { account_id, set, example } = await openArea()
    let isUp = false
    receiver.answers(({ response }) => response.writeHead(isUp ? 200 : 503).end())
    await set(receiver.url)
    const { event_id } = await example('order.delivered')
    // Events of another account may still be arriving.
    const bodies = () => receiver.arrivals.filter(({ id }) => id === event_id).map(({ body }) => body)
    await expect.poll(() => bodies().length).toBe(1)
    isUp = true
    await expect
      .poll(async () => {
        await shop.database.asOwner(`
          update deliveries set next_at = now() where account_id = '${account_id}' and state = 'pending';
          update jobs set run_at = now() where account_id = '${account_id}'`)
        return bodies().length
      })
      .toBe(2)
    expect(bodies()[1]).toBe(bodies()[0])
  })
})

describe('the signing secret', () => {
  test('rotated while events arrive: a receiver that switches half-way rejects none', async () => {
    const { set, rotate, test, read, mails, account_id } = await openArea()
    let known = (await set(receiver.url)).secret ?? ''
    const rejected: string[] = []
    receiver.answers(({ arrival, response }) => {
      const isGenuine = verifies(arrival, known)
      if (!isGenuine) rejected.push(arrival.id)
      response.writeHead(isGenuine ? 204 : 401).end()
    })
    const sent: string[] = []
    const send = async (times: number) => {
      for (let n = 0; n < times; n += 1) {
        sent.push((await test()).event_id)
        await expect.poll(() => receiver.arrivals.length).toBe(sent.length)
      }
    }
    await send(5)
    const { secret: fresh = '', page } = await rotate()
    expect(page.secret).toMatchObject({ hint: fresh.slice(-4), previous_hint: known.slice(-4) })
    const left = new Date(page.secret?.previous_ends_at ?? 0).getTime() - Date.now()
    expect(left).toBeGreaterThan(23.9 * 3_600_000)
    expect(left).toBeLessThanOrEqual(24 * 3_600_000)
    await send(5)
    known = fresh
    await send(5)
    expect(rejected).toEqual([])
    expect(receiver.arrivals.map(({ id }) => id)).toEqual(sent)
    // The receiver has the last one a moment before its acceptance is recorded.
    await expect.poll(() => read()).toMatchObject({ state: 'healthy', health: { pending: 0, failed: 0 } })
    expect(mails.at(-1)?.subject).toBe('The webhook signing secret was rotated')
    expect(JSON.stringify([mails, await auditOf(account_id)])).not.toContain(fresh)
  })

  test('the overlap ended early: the next event carries one signature only, and ending it again is refused', async () => {
    const { set, rotate, endPrevious, test } = await openArea()
    await set(receiver.url)
    await rotate()
    expect((await endPrevious()).page.secret).toMatchObject({ previous_ends_at: null, previous_hint: null })
    await test()
    await expect.poll(() => receiver.arrivals.length).toBe(1)
    expect(receiver.arrivals[0]?.headers).not.toHaveProperty('x-webhook-signature-previous')
    expect(await refusalOf(endPrevious())).toContain('conflict')
  })
})
