import { orderRoutes } from '@shopwire/contract/dashboard'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ordersCsv } from '../../src/dashboard/orders/orders-csv.ts'
import { setRefundRule } from '../../src/orders/fulfilment/refund-rule.ts'
import { sql } from '../../src/platform/database/db.ts'
import type { Sent } from '../../src/platform/outbound/guarded-client.ts'
import { Refusal } from '../../src/platform/trouble.ts'
import { setEndpoint } from '../../src/webhooks/endpoint.ts'
import { runAdminOn } from '../../testing/admin.ts'
import {
  buy,
  delivered,
  openAccount,
  openAreas,
  startDeliveries,
  textOf,
} from '../../testing/dashboard-shop.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [ring, wing, manual] = ['10000000000000001', '10000000000000002', '10000000000000003'] as const
const LINK = 'https://gift.example/secret-'

let shop: Shop
let worker: ReturnType<typeof startWorker>
let deliveries: ReturnType<typeof startDeliveries>
let areas: ReturnType<typeof openAreas>
let answer: Sent = { error: null, status: 200, remote_address: '93.184.216.34' }
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  worker = startWorker(shop)
  deliveries = startDeliveries(shop, () => answer)
  areas = openAreas(shop)
  await putItems(shop.database.operator, [
    itemOf(ring, { name: 'Aurora Ring', price_cents: 1_299, collection: 'Northern Lights' }),
    itemOf(wing, { name: '=HYPERLINK("http://evil.example","Wing")', price_cents: 699 }),
    itemOf(manual, { name: 'By hand', price_cents: 500 }),
  ])
  for (const [n, item] of [ring, wing].entries())
    await shop.operator.loadPool(
      item,
      Array.from({ length: 60 }, (_, unit) => `${LINK}${n}-${unit}`),
    )
  await shop.operator.chooseSource(manual, { source: 'hand' })
})
afterAll(async () => {
  await worker.stop()
  await deliveries.stop()
  await shop.close()
})

const list = (account_id: string, query: object = {}) => areas.call(account_id, 'listOrders', { query })
const idsOf = ({ orders }: { orders: readonly { id: string }[] }) => orders.map(({ id }) => id)
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof Refusal ? error.type : String(error)),
  )

describe('the list', () => {
  test('shows the orders of the API with their lines, times and counts', async () => {
    const { account_id, key } = await openAccount(shop)
    const first = await buy(shop, key, [{ id: ring, qty: 2 }, { id: manual }])
    const second = await buy(shop, key, [{ id: ring }])
    const done = await delivered(shop, key, second.body.id)
    const third = await buy(shop, key, [{ id: manual }])
    await shop.operator.cancelOrder(third.body.id, 'out of stock')
    const page = await list(account_id)
    const own = (await shop.call('GET', '/v1/orders', { key })).body.orders
    expect(
      page.orders.map(({ id, status, total_cents, created_at }) => ({
        id,
        status,
        currency: 'USD',
        total_cents,
        created_at,
      })),
    ).toEqual(own)
    expect(page.orders.map(({ status, lines }) => [status, lines])).toEqual([
      ['cancelled', 'By hand'],
      ['delivered', 'Aurora Ring'],
      ['paid', '2 × Aurora Ring, By hand'],
    ])
    expect(page.orders[1]).toMatchObject({
      delivered_at: done.delivered_at,
      seconds_to_delivery: (Date.parse(done.delivered_at) - Date.parse(done.created_at)) / 1000,
      idempotency_key: second.idempotency_key,
      key_id: key.id,
    })
    expect(page).toMatchObject({
      next: null,
      previous: null,
      searched_to: null,
      counts: { all: 3, paid: 1, delivered: 1, cancelled: 1 },
      account: { orders: 3, first_at: first.body.created_at, worth_cents: 3_098 + 1_299 + 500 },
    })
  })

  test('pages of older orders and back, while new orders arrive: no order twice, none left out', async () => {
    const { account_id, key } = await openAccount(shop)
    const made: string[] = []
    const more = async (count: number) => {
      for (let n = 0; n < count; n += 1) made.unshift((await buy(shop, key, [{ id: manual }])).body.id)
    }
    await more(7)
    const one = await list(account_id, { limit: 3 })
    await more(2)
    const two = await list(account_id, { limit: 3, before: one.next })
    const three = await list(account_id, { limit: 3, before: two.next })
    expect([...idsOf(one), ...idsOf(two), ...idsOf(three)]).toEqual(made.slice(2))
    expect(three.next).toBeNull()
    const back = await list(account_id, { limit: 3, after: three.previous })
    expect(idsOf(back)).toEqual(idsOf(two))
    const newer = await list(account_id, { limit: 3, after: back.previous })
    expect(idsOf(newer)).toEqual(idsOf(one))
    const newest = await list(account_id, { limit: 3, after: newer.previous })
    expect([idsOf(newest), newest.previous]).toEqual([made.slice(0, 2), null])
    expect(await refusalOf(list(account_id, { before: made[0], after: made[1] }))).toBe('invalid_request')
  })

  test('filters by status, time, amount, key, item, id, end of an id and idempotency key, alone and together', async () => {
    const { account_id, key } = await openAccount(shop)
    const other = await shop.makeKey(undefined, account_id)
    const cheap = (await buy(shop, key, [{ id: manual }])).body
    const dear = (await buy(shop, other, [{ id: manual, qty: 4 }], 'cart:88213')).body
    const gone = (await buy(shop, key, [{ id: manual, qty: 2 }, { id: ring }])).body
    await shop.operator.cancelOrder(gone.id, 'out of stock')
    const found = async (query: object) => idsOf(await list(account_id, query))
    expect(await found({ status: 'paid' })).toEqual([dear.id, cheap.id])
    expect(await found({ status: 'cancelled' })).toEqual([gone.id])
    expect(await found({ status: 'delivered' })).toEqual([])
    expect(await found({ from: dear.created_at })).toEqual([gone.id, dear.id])
    expect(await found({ to: dear.created_at })).toEqual([cheap.id])
    expect(await found({ min_cents: 500, max_cents: 2_000 })).toEqual([dear.id, cheap.id])
    expect(await found({ key_id: other.id })).toEqual([dear.id])
    expect(await found({ item_id: ring })).toEqual([gone.id])
    expect(await found({ q: cheap.id })).toEqual([cheap.id])
    expect(await found({ q: 'cart:88213' })).toEqual([dear.id])
    expect(await found({ q: dear.id.slice(-6) })).toEqual([dear.id])
    expect(await found({ q: `ord_…${dear.id.slice(-8)}`.toUpperCase() })).toEqual([dear.id])
    expect(await found({ q: 'no such key' })).toEqual([])
    expect(await found({ q: dear.id, status: 'cancelled' })).toEqual([])
    expect(await found({ status: 'paid', min_cents: 600, key_id: other.id })).toEqual([dear.id])
    const { counts } = await list(account_id, { key_id: key.id, status: 'paid' })
    expect(counts).toEqual({ all: 2, paid: 1, delivered: 0, cancelled: 1 })
  })

  test("another account's orders are neither listed nor found", async () => {
    const [mine, theirs] = [await openAccount(shop), await openAccount(shop)]
    const { body, idempotency_key } = await buy(shop, theirs.key, [{ id: manual }])
    for (const query of [{}, { q: body.id }, { q: idempotency_key }, { q: body.id.slice(-8) }])
      expect(await list(mine.account_id, query)).toMatchObject({ orders: [] })
    expect(await refusalOf(areas.call(mine.account_id, 'getOrder', { id: body.id }))).toBe('not_found')
    expect(await refusalOf(areas.call(mine.account_id, 'getProof', { id: body.id }))).toBe('not_found')
  })
})

describe('the sums of a day', () => {
  test('count every order that passes the filters, not those of a page, and leave out what was refunded', async () => {
    const { account_id, key } = await openAccount(shop)
    const made = []
    for (let n = 0; n < 4; n += 1) made.push((await buy(shop, key, [{ id: manual, qty: n + 1 }])).body)
    await shop.operator.cancelOrder(made[3].id, 'out of stock')
    const sums = (query: object) => areas.call(account_id, 'sumOrders', { query })
    expect(await sums({})).toEqual({ orders: 4, spent_cents: 500 + 1_000 + 1_500 })
    expect(await sums({ from: made[1].created_at, to: made[2].created_at })).toEqual({
      orders: 1,
      spent_cents: 1_000,
    })
    expect(await sums({ status: 'cancelled' })).toEqual({ orders: 1, spent_cents: 0 })
    expect(await sums({ status: 'paid', min_cents: 1_000 })).toEqual({ orders: 2, spent_cents: 2_500 })
    expect(await sums({ q: 'no such key' })).toEqual({ orders: 0, spent_cents: 0 })
    const other = await openAccount(shop)
    expect(await areas.call(other.account_id, 'sumOrders', {})).toEqual({ orders: 0, spent_cents: 0 })
  })
})

describe('the export', () => {
  test('has the orders of the list, and no cell that a spreadsheet would run', async () => {
    const { account_id, key } = await openAccount(shop)
    const { body } = await buy(shop, key, [{ id: wing }, { id: ring, qty: 2 }])
    await buy(shop, key, [{ id: manual }])
    const { filename, content } = await areas.call(account_id, 'exportOrders', { query: { item_id: wing } })
    expect(filename).toMatch(/^orders-\d{4}-\d{2}-\d{2}\.csv$/)
    const [head, row, ...rest] = (await textOf(content)).split('\r\n')
    expect(head).toContain('order_id,status,total_usd')
    expect(row?.startsWith(`${body.id},`)).toBe(true)
    expect(row).toContain(',32.97,')
    // The name stands behind its quantity, so that the cell is a text; quotes are doubled.
    expect(row).toContain('"1 x =HYPERLINK(""http://evil.example"",""Wing""); 2 x Aurora Ring"')
    expect(rest).toEqual([''])
  })

  test('of selected orders has those that pass the filters, and none of another account', async () => {
    const { account_id, key } = await openAccount(shop)
    const other = await openAccount(shop)
    const [first, second, third] = [
      await buy(shop, key, [{ id: manual }]),
      await buy(shop, key, [{ id: wing }]),
      await buy(shop, key, [{ id: manual }]),
    ].map(({ body }) => body.id) as [string, string, string]
    const foreign = (await buy(shop, other.key, [{ id: manual }])).body.id
    const idsOf = async (query: object) => {
      const { content } = await areas.call(account_id, 'exportOrders', { query })
      return (await textOf(content))
        .trim()
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(',')[0])
    }
    expect(await idsOf({ ids: [first, third, foreign].join() })).toEqual([third, first])
    expect(await idsOf({ ids: [first, second].join(), item_id: wing })).toEqual([second])
    expect(await idsOf({ ids: foreign })).toEqual([])
  })

  test('an idempotency key that begins like a formula is written as text', async () => {
    const { account_id, key } = await openAccount(shop)
    await buy(shop, key, [{ id: manual }], '-2.3:cmd.exe')
    const text = await textOf(ordersCsv(shop.database.dashboard, account_id, {}))
    expect(text).toContain(",'-2.3:cmd.exe,")
  })

  test('a full file says that it is not all, and where to continue', async () => {
    const { account_id, key } = await openAccount(shop)
    for (let n = 0; n < 5; n += 1) await buy(shop, key, [{ id: manual }])
    const lines = (await textOf(ordersCsv(shop.database.dashboard, account_id, {}, 3))).trim().split('\r\n')
    expect(lines).toHaveLength(1 + 3 + 1)
    const until = /created before (\S+)\.$/.exec(lines.at(-1) ?? '')?.[1]
    const rest = await textOf(ordersCsv(shop.database.dashboard, account_id, { to: until ?? '' }, 3))
    expect(rest.trim().split('\r\n')).toHaveLength(1 + 2)
  })
})

describe('one order', () => {
  test('its story goes from the attempt to the debit, the delivery, the events, the reads and the reveals', async () => {
    const { account_id, key } = await openAccount(shop)
    await shop.database.api.transaction((tx) =>
      setEndpoint(tx, shop.keyring, { account_id, url: 'https://hook.example/', set_by: 'test' }, Date.now()),
    )
    answer = { error: null, status: 204, remote_address: '93.184.216.34' }
    const cart = [{ id: ring, qty: 2 }, { id: wing }]
    const bought = await buy(shop, key, cart, 'story-of-one')
    const order = await delivered(shop, key, bought.body.id)
    const replayed = await buy(shop, key, cart, 'story-of-one')
    await buy(shop, key, [{ id: wing }], 'story-of-one')
    await areas.call(account_id, 'revealLink', { body: { order_id: order.id, n: 2 } })
    const read = async () => {
      await shop.evidence.flush()
      return areas.call(account_id, 'getOrder', { id: order.id })
    }
    const kindsOf = async () => (await read()).story.map(({ kind }) => kind).sort()
    await expect
      .poll(kindsOf, { timeout: 10_000 })
      .toEqual(
        expect.arrayContaining(['attempt', 'debit', 'delivered', 'delivery', 'delivery', 'read', 'reveal']),
      )
    await expect
      .poll(async () => (await read()).story.filter(({ kind }) => kind === 'delivery').length)
      .toBe(2)
    const detail = await read()
    expect(detail).toMatchObject({
      id: order.id,
      status: 'delivered',
      total_cents: order.total_cents,
      delivered_at: order.delivered_at,
      idempotency_key: 'story-of-one',
      key: { id: key.id, name: 'test' },
      request_id: bought.request_id,
      client_address: '127.0.0.1',
      lines: [
        {
          item_id: ring,
          name: 'Aurora Ring',
          collection: 'Northern Lights',
          qty: 2,
          unit_price_cents: 1_299,
        },
        { item_id: wing, qty: 1 },
      ],
      links: [
        { n: 1, item_id: ring },
        { n: 2, item_id: ring },
        { n: 3, item_id: wing },
      ],
      proof: {
        verdict: 'bought_once',
        requests: 3,
        charges: 1,
        charged_cents: 3_297,
        replayed: 1,
        refused: 1,
      },
      story_left_out: 0,
    })
    const { story } = detail
    expect(story.map(({ at }) => at)).toEqual(story.map(({ at }) => at).toSorted())
    expect(story[0]).toMatchObject({ kind: 'attempt', outcome: 'bought', status: 201, is_same_cart: true })
    expect(story).toContainEqual(
      expect.objectContaining({
        kind: 'debit',
        amount_cents: 3_297,
        balance_before_cents: 100_000,
        balance_after_cents: 96_703,
        transfer_id: detail.proof.transfer_id,
      }),
    )
    expect(story).toContainEqual(
      expect.objectContaining({ kind: 'attempt', outcome: 'replayed', request_id: replayed.request_id }),
    )
    expect(story).toContainEqual(
      expect.objectContaining({ kind: 'attempt', outcome: 'idempotency_conflict', is_same_cart: false }),
    )
    expect(story).toContainEqual({ kind: 'delivered', at: order.delivered_at, links: 3 })
    expect(story).toContainEqual(
      expect.objectContaining({
        kind: 'delivery',
        type: 'order.delivered',
        status: 204,
        error: null,
        attempt: 1,
      }),
    )
    expect(story).toContainEqual(
      expect.objectContaining({ kind: 'read', key_id: key.id, client_address: '127.0.0.1', links: 3 }),
    )
    expect(story).toContainEqual(
      expect.objectContaining({ kind: 'reveal', link: 2, person_name: 'Ada', address: '192.0.2.7' }),
    )
    const text = JSON.stringify(detail)
    expect(text).not.toContain('93.184.216.34')
    for (const link of order.links) expect(text).not.toContain(link)
  })

  test('a cancelled order shows its reason and its refund; an operator is named as such', async () => {
    const { account_id } = await openAccount(shop)
    const placed = await shop.operator.placeOrder(account_id, {
      items: [{ id: manual }],
      idempotency_key: 'by-an-operator',
    })
    const order_id = (placed as { order: { id: string } }).order.id
    const before = await areas.call(account_id, 'getOrder', { id: order_id })
    expect(before).toMatchObject({ status: 'paid', links: [], proof: { requests: 1, charges: 1 } })
    expect(before.story[0]).toMatchObject({ kind: 'attempt', outcome: 'bought', key_id: null })
    await shop.operator.cancelOrder(order_id, 'out of stock')
    const after = await areas.call(account_id, 'getOrder', { id: order_id })
    expect(after).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'out of stock',
      proof: { verdict: 'bought_once', charged_cents: 500, refunded_cents: 500 },
    })
    expect(after.story.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['cancelled', 'refund', 'event']),
    )
  })

  test('one that waits says what is usual, from when it is late, when it is refunded and whom to ask', async () => {
    const { account_id, key } = await openAccount(shop)
    const read = (id: string, nowMs = Date.now()) => areas.call(account_id, 'getOrder', { id, nowMs })
    const { body: order } = await buy(shop, key, [{ id: manual }])
    const madeMs = Date.parse(order.created_at)
    const first = (await read(order.id)).waiting
    expect(first).toMatchObject({
      usual_s: null,
      usual_most_s: null,
      is_late: false,
      contact: 'help@shop.example',
    })
    // The rule counts from the payment; workers and the store were there before.
    const dayLater = new Date(madeMs + 24 * 3_600_000).toISOString()
    expect(first?.refund_at).toBe(dayLater)
    expect((await read(order.id, madeMs + 10 * 60_000 + 1)).waiting?.is_late).toBe(true)

    let last = ''
    for (let n = 0; n < 5; n += 1) last = (await buy(shop, key, [{ id: ring }])).body.id
    const done = await delivered(shop, key, last)
    await expect.poll(async () => (await read(order.id)).waiting?.usual_s, { timeout: 10_000 }).not.toBeNull()
    expect((await read(done.id)).waiting).toBeNull()
    const { usual_s, usual_most_s } = (await read(order.id)).waiting ?? {}
    expect(usual_s).toBeGreaterThan(0)
    expect(usual_most_s).toBeGreaterThanOrEqual(usual_s ?? Number.POSITIVE_INFINITY)

    const refundAfter = (cancel_after_ms: number | null) =>
      shop.database.operator.transaction((tx) => setRefundRule(tx, { cancel_after_ms }, new Date()))
    await refundAfter(null)
    expect((await read(order.id)).waiting?.refund_at).toBeNull()
    await refundAfter(24 * 3_600_000)
    await shop.operator.cancelOrder(order.id, 'out of stock')
    expect((await read(order.id)).waiting).toBeNull()
  })

  test('the proof is what the operator gets from "orders prove"', async () => {
    const { account_id, key } = await openAccount(shop)
    const { body, idempotency_key } = await buy(shop, key, [{ id: ring }])
    await buy(shop, key, [{ id: ring }], idempotency_key)
    await delivered(shop, key, body.id)
    await shop.evidence.flush()
    const { filename, content } = await areas.call(account_id, 'getProof', { id: body.id })
    expect(filename).toBe(`proof-${body.id}.json`)
    const printed = (await runAdminOn(shop, 'orders', 'prove', body.id, '--json')).json()
    expect(JSON.parse(await textOf(content))).toEqual(printed)
    expect(printed).toMatchObject({ verdict: 'bought_once', counts: { attempts: 2, replayed: 1 } })
  })
})

describe('revealing a link', () => {
  const reveal = (account_id: string, order_id: string, n: number) =>
    areas.call(account_id, 'revealLink', { body: { order_id, n } })

  test('needs a second factor, and the role of an owner or developer', () => {
    const route = orderRoutes.find(({ name }) => name === 'revealLink')
    expect(route).toMatchObject({ method: 'POST', isStepUp: true, access: ['owner', 'developer'] })
  })

  test('answers with one link, and leaves an audit row and a mail without it', async () => {
    const { account_id, key } = await openAccount(shop)
    const { body } = await buy(shop, key, [{ id: ring, qty: 2 }])
    const { links } = await delivered(shop, key, body.id)
    const before = areas.mails.length
    expect(await reveal(account_id, body.id, 2)).toEqual({ link: links[1] })
    const rows = await shop.database.owner.many<{ actor: string; text: string }>(sql`
      select actor, row_to_json(a)::text as text
        from audit_log a
       where target = ${body.id}
         and account_id = ${account_id}`)
    expect(rows).toHaveLength(1)
    expect(rows[0]?.actor).toBe('person:person_ada')
    const row = JSON.parse(rows[0]?.text ?? '{}')
    expect(row).toMatchObject({
      action: 'order.reveal_link',
      address: '192.0.2.7',
      request_id: 'req_test',
      details: { name: 'Ada', after: { link: 2 } },
    })
    const [mail, ...others] = areas.mails.slice(before)
    expect([mail?.subject, others.length]).toEqual([`A gift link of ${body.id} was revealed`, 0])
    for (const text of [rows[0]?.text, JSON.stringify(mail)]) expect(text).not.toContain(LINK)
  })

  test('returns 404, and leaves no audit row, for a link that is not there or not theirs', async () => {
    const [mine, theirs] = [await openAccount(shop), await openAccount(shop)]
    const paid = (await buy(shop, mine.key, [{ id: manual }])).body
    const foreign = (await buy(shop, theirs.key, [{ id: ring }])).body
    await delivered(shop, theirs.key, foreign.id)
    expect(await refusalOf(reveal(mine.account_id, paid.id, 1))).toBe('not_found')
    expect(await refusalOf(reveal(mine.account_id, foreign.id, 1))).toBe('not_found')
    expect(await refusalOf(reveal(theirs.account_id, foreign.id, 2))).toBe('not_found')
    const rows = await shop.database.owner.many(sql`
      select id
        from audit_log
       where account_id in (${mine.account_id}, ${theirs.account_id})
         and action = 'order.reveal_link'`)
    expect(rows).toEqual([])
  })
})
