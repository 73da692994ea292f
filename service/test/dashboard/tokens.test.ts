import type { AddressInfo } from 'node:net'
import type { Role } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMemberAct } from '../../src/dashboard/act.ts'
import { createTokenEvents } from '../../src/dashboard/keys/token-events.ts'
import { callerOfToken, tokensArea } from '../../src/dashboard/keys/tokens.ts'
import { createMailOwners } from '../../src/dashboard/team/mail-owners.ts'
import { createEdge } from '../../src/edge/server.ts'
import { tokensFamily } from '../../src/edge/tokens/tokens-family.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { type Db, sql } from '../../src/platform/database/db.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { newId } from '../../src/platform/text/ids.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { callAs, memberOf, signIn } from '../../testing/member.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const ITEM = '1144058340327047001'
const LINK = 'https://gift.example/secret-'

let shop: Shop
let db: Db
let origin: string
let events: ReturnType<typeof createTokenEvents>
let worker: ReturnType<typeof startWorker>
let close: () => Promise<void>
let address = '192.0.2.1'
let linkCount = 0

beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 1_000, ordersMax: 1_000 } })
  db = shop.database.dashboard
  events = createTokenEvents({ db, keyring: shop.keyring, clock: systemClock, onError: () => {} })
  events.start()
  const metrics = createMetrics('test', ['dashboard'])
  const edge = createEdge(
    { log: createLog('silent'), metrics, connectionsMax: 1_000, connectionsPerAddressMax: 0 },
    [tokensFamily({ db, clock: systemClock, metrics, events, addressOf: () => address })],
  )
  await edge.listen({ host: '127.0.0.1', port: 0 })
  origin = `http://127.0.0.1:${(edge.server.address() as AddressInfo).port}`
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(ITEM)]))
  worker = startWorker(shop)
  close = async () => {
    await events.stop()
    await edge.close()
    await worker.stop()
    await shop.close()
  }
})
afterAll(() => close())

let people = 0
/** A person of the account, with the area as they see it. */
async function join(account_id = shop.account.id, role: Role = 'developer') {
  people += 1
  const person_id = `person_${people}`
  const facts = { person_id, person_name: `Person ${people}`, role }
  const member = await signIn(shop.database, memberOf(account_id, facts))
  const area = tokensArea({
    db,
    act: createMemberAct(db, systemClock),
    mailOwners: createMailOwners(shop.keyring),
    origin: 'https://dashboard.example',
  })
  return {
    person_id,
    list: () => callAs(member, area.listTokens),
    revoke: (id: string) => callAs(member, area.revokeToken, { body: { id } }),
    create: (facts: object = {}) =>
      callAs(member, area.createToken, {
        body: {
          name: 'laptop',
          rights: ['events:listen', 'orders:prove'],
          with_links: false,
          days: 30,
          ...facts,
        },
      }),
  }
}

const get = (path: string, token?: string, headers: Record<string, string> = {}) =>
  fetch(`${origin}${path}`, {
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  })

async function refusal(path: string, token?: string) {
  const response = await get(path, token)
  const { error } = (await response.json()) as { error: { type: string } }
  return [response.status, error.type]
}

interface Message {
  readonly id: string | undefined
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: the test says what it should be
  readonly data: any
}

/** Follows the stream until `close`. */
async function listen(token: string, headers: Record<string, string> = {}) {
  const stop = new AbortController()
  const response = await fetch(`${origin}/tokens/events`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: stop.signal,
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
  const messages: Message[] = []
  let isOver = false
  const reading = (async () => {
    let text = ''
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString('utf8')
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1]
        const data = field('data')
        if (data) messages.push({ id: field('id'), event: field('event') ?? '', data: JSON.parse(data) })
      }
    }
  })()
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  await expect.poll(() => messages.length).toBeGreaterThan(0)
  return {
    messages,
    events: () => messages.filter(({ event }) => event === 'event').map(({ data }) => data),
    isOver: () => isOver,
    async close() {
      stop.abort()
      await reading
    },
  }
}

let orders = 0
async function buy(): Promise<{ id: string; key: string }> {
  orders += 1
  linkCount += 1
  await shop.operator.loadPool(ITEM, [`${LINK}${linkCount}`])
  const key = `token-test-${orders}`
  const { status, body } = await shop.call('POST', '/v1/orders', {
    body: JSON.stringify({ items: [{ id: ITEM, qty: 1 }], idempotency_key: key }),
  })
  expect(status).toBe(201)
  return { id: body.id, key }
}

const WAIT = { timeout: 15_000 }

describe('personal access tokens', () => {
  test('a token is shown once, stored as a hash, listed for its person alone, and reported to the owners', async () => {
    const [ada, bob, owner] = [await join(), await join(), await join(shop.account.id, 'owner')]
    const { secret, token, dashboard_url } = await ada.create({ name: 'Ada laptop' })
    expect(secret).toMatch(/^swp_[A-Za-z0-9_-]{43}$/)
    expect(dashboard_url).toBe('https://dashboard.example')
    expect((await ada.list()).tokens).toEqual([token])
    expect((await bob.list()).tokens).toEqual([])
    const rows = await shop.database.owner.many<{ dump: string }>(
      sql`select to_json(t)::text as dump from outgoing_mail t`,
    )
    expect(rows.map(({ dump }) => dump).join()).toContain(`${owner.person_id}@example.com`)
    const dump = await shop.operator.listActions(token.id, 10)
    expect(JSON.stringify(dump)).not.toContain(secret)
  })

  test('another person cannot revoke it: 404', async () => {
    const [ada, bob] = [await join(), await join()]
    const { token } = await ada.create()
    await expect(bob.revoke(token.id)).rejects.toThrow(Refusal)
    expect((await ada.list()).tokens[0]?.state).toBe('active')
  })

  test('no token, one of another form, an unknown one: 401', async () => {
    for (const token of [undefined, 'swp_short', `swp_${'a'.repeat(43)}`, 'sk_something'])
      expect(await refusal('/tokens/proofs/x', token)).toEqual([401, 'authentication_failed'])
  })

  test('a right that the token lacks: 403; what it has: served', async () => {
    const ada = await join()
    const { id } = await buy()
    const prove = await ada.create({ rights: ['orders:prove'] })
    const hear = await ada.create({ rights: ['events:listen'] })
    expect(await refusal('/tokens/events', prove.secret)).toEqual([403, 'insufficient_scope'])
    expect(await refusal(`/tokens/proofs/${id}`, hear.secret)).toEqual([403, 'insufficient_scope'])
    expect((await get(`/tokens/proofs/${id}`, prove.secret)).status).toBe(200)
  })

  test('expired, revoked, of a removed member, of a member who became a viewer: 401', async () => {
    const { id } = await buy()
    const path = `/tokens/proofs/${id}`
    const end: [string, (ada: Awaited<ReturnType<typeof join>>, token_id: string) => Promise<unknown>][] = [
      [
        'expired',
        (_, token_id) =>
          shop.database.asOwner(`
            update personal_tokens
               set created_at = now() - interval '31 days', expires_at = now() - interval '1 s'
             where id = '${token_id}'`),
      ],
      ['revoked', (ada, token_id) => ada.revoke(token_id)],
      [
        'removed',
        ({ person_id }) => shop.database.asOwner(`delete from memberships where person_id = '${person_id}'`),
      ],
      [
        'viewer',
        ({ person_id }) =>
          shop.database.asOwner(`update memberships set role = 'viewer' where person_id = '${person_id}'`),
      ],
    ]
    for (const [name, work] of end) {
      const ada = await join()
      const { secret, token } = await ada.create()
      expect((await get(path, secret)).status, name).toBe(200)
      await work(ada, token.id)
      expect(await refusal(path, secret), name).toEqual([401, 'authentication_failed'])
    }
  })

  test('a person has at most 20 usable tokens in an account', async () => {
    const ada = await join()
    for (let n = 0; n < 20; n += 1) await ada.create()
    await expect(ada.create()).rejects.toThrow('Revoke one')
    const [first] = (await ada.list()).tokens
    await ada.revoke(first?.id ?? '')
    await ada.create()
  }, 30_000)

  test('an address whose tokens are refused again and again gets 429; others do not', async () => {
    address = '192.0.2.99'
    for (let n = 0; n < 31; n += 1) await refusal('/tokens/proofs/x', `swp_${'b'.repeat(43)}`)
    expect(await refusal('/tokens/proofs/x', `swp_${'b'.repeat(43)}`)).toEqual([429, 'rate_limited'])
    address = '192.0.2.1'
    expect(await refusal('/tokens/proofs/x')).toEqual([401, 'authentication_failed'])
  })

  test('a cookie is not looked at, and nothing but GET is taken', async () => {
    const ada = await join()
    const { secret } = await ada.create()
    const response = await get('/tokens/proofs/x', undefined, { cookie: `token=${secret}` })
    expect([response.status, response.headers.get('set-cookie')]).toEqual([401, null])
    const post = await fetch(`${origin}/tokens/events`, { method: 'POST' })
    expect(post.status).toBe(405)
  })
})

describe('GET /tokens/proofs/{id}', () => {
  test('returns the same proof for the order and for its key', async () => {
    const { secret } = await (await join()).create()
    const { id, key } = await buy()
    await shop.call('POST', '/v1/orders', {
      body: JSON.stringify({ items: [{ id: ITEM, qty: 1 }], idempotency_key: key }),
    })
    await shop.evidence.flush()
    const byOrder = await (await get(`/tokens/proofs/${id}`, secret)).json()
    expect(byOrder).toMatchObject({
      verdict: 'bought_once',
      idempotency_key: key,
      account_id: shop.account.id,
      orders: [{ id, total_cents: 100 }],
      debits: [{ change_cents: -100 }],
      counts: { attempts: 2, replayed: 1 },
      summary: expect.stringContaining('Bought once'),
    })
    const byKey = await (await get(`/tokens/proofs/${encodeURIComponent(key)}`, secret)).json()
    expect({ ...(byKey as object), orders: 0 }).toEqual({ ...(byOrder as object), orders: 0 })
    expect(JSON.stringify(byOrder)).not.toContain(LINK)
  })

  test("another account's order: 404", async () => {
    const { id: other } = await shop.operator.createAccount('Other')
    const { secret } = await (await join(other)).create()
    const { id } = await buy()
    expect(await refusal(`/tokens/proofs/${id}`, secret)).toEqual([404, 'not_found'])
    expect(await refusal('/tokens/proofs/%zz', secret)).toEqual([400, 'invalid_request'])
  })
})

describe('GET /tokens/events', () => {
  test('sends what happens from now on, with links masked unless the token has them', {
    timeout: 30_000,
  }, async () => {
    const before = await buy()
    const ada = await join()
    const bare = await ada.create()
    const whole = await ada.create({ with_links: true })
    const [masked, open] = [await listen(bare.secret), await listen(whole.secret)]
    expect(masked.messages[0]).toMatchObject({
      event: 'ready',
      data: { account: { id: shop.account.id }, endpoint_url: null, with_links: false },
    })
    const { id } = await buy()
    const delivered = (stream: typeof open) =>
      stream.events().find(({ type, order_id }) => type === 'order.delivered' && order_id === id)
    await expect.poll(() => delivered(masked) && delivered(open), WAIT).toBeTruthy()
    expect(
      open
        .events()
        .filter(({ order_id }) => order_id === id)
        .map(({ type }) => type),
    ).toEqual(['order.accepted', 'order.delivered'])
    expect(delivered(open)).toMatchObject({ links: 'included' })
    const order = (await shop.call('GET', `/v1/orders/${id}`)).body
    expect(JSON.parse(delivered(open).body)).toMatchObject({ event: 'order.delivered', data: { order } })
    expect(delivered(masked)).toMatchObject({ links: 'masked' })
    expect(JSON.parse(delivered(masked).body).data.order).toEqual({
      ...order,
      links: ['https://link-masked.invalid/1'],
    })
    expect(JSON.stringify(masked.messages)).not.toContain(LINK)
    // What was there before: at most its delivery, which may have come after the stream began.
    expect(
      open.events().filter(({ type, order_id }) => type === 'order.accepted' && order_id === before.id),
    ).toEqual([])
    const audited = await shop.operator.listActions(id, 10)
    expect(audited.filter(({ action }) => action === 'links.stream')).toMatchObject([
      { actor: `person:${ada.person_id}`, details: { token_id: whole.token.id } },
    ])
    await masked.close()
    await open.close()
  })

  test('continues after the last event that the reader has', { timeout: 30_000 }, async () => {
    const { secret } = await (await join()).create()
    const first = await listen(secret)
    const one = await buy()
    await expect
      .poll(
        () => first.events().some(({ type, order_id }) => type === 'order.delivered' && order_id === one.id),
        WAIT,
      )
      .toBe(true)
    await first.close()
    const last = first.messages.at(-1)?.id ?? ''
    const two = await buy()
    const again = await listen(secret, { 'last-event-id': last })
    await expect.poll(() => again.events().some(({ order_id }) => order_id === two.id), WAIT).toBe(true)
    expect(again.events().map(({ id }) => id)).not.toContain(last)
    await again.close()
  })

  test('ends within two seconds when the token is revoked or the member removed', {
    timeout: 30_000,
  }, async () => {
    const [ada, bob] = [await join(), await join()]
    const [one, two] = [await ada.create(), await bob.create()]
    const [first, second] = [await listen(one.secret), await listen(two.secret)]
    await ada.revoke(one.token.id)
    await shop.database.asOwner(`delete from memberships where person_id = '${bob.person_id}'`)
    await expect.poll(() => first.isOver() && second.isOver(), WAIT).toBe(true)
    expect(first.messages.at(-1)).toMatchObject({ event: 'ended' })
    expect(second.messages.at(-1)).toMatchObject({ event: 'ended' })
  })

  test('a stream that begins while the tokens of the others are checked goes on', async () => {
    const { secret } = await (await join()).create()
    const { secret: late } = await (await join()).create()
    const started = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const slow = createTokenEvents({
      db: {
        ...db,
        async many(statement) {
          const isCheck = statement.text.includes('find_personal_tokens')
          if (isCheck) started.resolve()
          if (isCheck) await released.promise
          return db.many(statement)
        },
      },
      keyring: shop.keyring,
      clock: systemClock,
      onError: () => {},
    })
    const open = async (token: string) =>
      slow.open(await callerOfToken(db, token, 'events:listen', Date.now()), {
        last_event_id: undefined,
        address: '192.0.2.1',
        request_id: 'req_late',
      })
    await open(secret)
    slow.start()
    await started.promise
    const stream = await open(late)
    released.resolve()
    const { id } = await buy()
    let text = ''
    for await (const chunk of stream) {
      text += chunk
      if (text.includes(id)) break
    }
    expect(text).not.toContain('event: ended')
    expect(text).toContain(id)
    await slow.stop()
  })

  test("another account's stream carries none of it, and a suspended account gets its events when it is resumed", {
    timeout: 30_000,
  }, async () => {
    const { id: other } = await shop.operator.createAccount('Neighbour')
    const theirs = await listen((await (await join(other)).create()).secret)
    const ours = await listen((await (await join()).create()).secret)
    const { id } = await buy()
    await expect.poll(() => ours.events().some(({ order_id }) => order_id === id), WAIT).toBe(true)
    expect(theirs.events()).toEqual([])
    const happen = (account_id: string, event_id: string) =>
      shop.database.asOwner(`select record_event('${account_id}', '${event_id}', 'test', null, null, now())`)
    const [meanwhile, elsewhere] = [newId('evt', Date.now()), newId('evt', Date.now())]
    await shop.operator.suspendAccount(shop.account.id, 'test')
    await happen(shop.account.id, meanwhile)
    await happen(other, elsewhere)
    await expect.poll(() => theirs.events().map((event) => event.id), WAIT).toEqual([elsewhere])
    expect(ours.events().map((event) => event.id)).not.toContain(meanwhile)
    await shop.operator.resumeAccount(shop.account.id)
    await expect.poll(() => ours.events().map((event) => event.id), WAIT).toContain(meanwhile)
    await theirs.close()
    await ours.close()
  })

  test('an account is listened to by ten command lines at most', { timeout: 30_000 }, async () => {
    const { id: busy } = await shop.operator.createAccount('Busy')
    const { secret } = await (await join(busy)).create()
    const streams = []
    for (let n = 0; n < 10; n += 1) streams.push(await listen(secret))
    expect(await refusal('/tokens/events', secret)).toEqual([429, 'rate_limited'])
    for (const stream of streams) await stream.close()
    await expect.poll(() => events.count()).toBe(0)
  })
})
