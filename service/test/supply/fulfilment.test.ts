import { startSupplier } from '@shopwire/test-kit/receivers/supplier'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRefundRule } from '../../src/orders/fulfilment/refund-rule.ts'
import { sql } from '../../src/platform/database/db.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

let shop: Shop
let worker: ReturnType<typeof startWorker>
const lines: string[] = []
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  worker = startWorker(shop, { write: (line) => void lines.push(line) })
})
afterAll(async () => {
  await worker.stop()
  await shop.close()
})

let count = 0
const fresh = (what: string) => {
  count += 1
  return `${what}-${count}-${'x'.repeat(8)}`
}
async function newItem(facts = {}) {
  count += 1
  const id = String(3 * 10 ** 16 + count * 8)
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(id, facts)]))
  return id
}
const linksOf = (n: number) => Array.from({ length: n }, () => `https://gift.example/${fresh('link')}`)
async function buy(...items: { id: string; qty?: number }[]) {
  const { status, body } = await shop.call('POST', '/v1/orders', {
    body: JSON.stringify({ items, idempotency_key: fresh('order') }),
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id as string
}
const read = async (id: string) => (await shop.call('GET', `/v1/orders/${id}`)).body
const untilStatus = (id: string, status: string) =>
  expect.poll(async () => (await read(id)).status, { timeout: 10_000, interval: 20 }).toBe(status)
const noteOf = async (id: string) =>
  (
    await shop.database.owner.maybeOne<{ note: string | null }>(
      sql`select note from jobs where subject = ${id}`,
    )
  )?.note
const untilNote = (id: string, note: RegExp) =>
  expect.poll(() => noteOf(id), { timeout: 10_000, interval: 20 }).toMatch(note)
const balance = async () => (await shop.call('GET', '/v1/balance')).body.balance_cents as number
const isSellable = async (id: string) => {
  const { revision } = await shop.database.owner.one<{ revision: number }>(
    sql`select revision from catalogue_state`,
  )
  await untilFollowed(shop.catalogue, revision)
  return (await shop.call('GET', `/v1/catalogue/${id}`)).body.sellable as boolean
}
const eventsOf = async (id: string) =>
  (
    await shop.database.owner.many<{ type: string }>(
      sql`select type from events where order_id = ${id} order by created_at, type`,
    )
  ).map(({ type }) => type)

const poolLeft = async (item: string) =>
  (
    await shop.database.owner.one<{ left: number }>(
      sql`select pool_left as left from item_supply where item_id = ${item}`,
    )
  ).left

describe('from a pool', () => {
  test('links are delivered one per unit, in the order of the lines, oldest first; each is sold once', async () => {
    const [first, second] = [await newItem(), await newItem()]
    const [ofFirst, ofSecond] = [linksOf(3), linksOf(3)]
    await shop.operator.loadPool(first, ofFirst)
    await shop.operator.loadPool(second, ofSecond)
    const id = await buy({ id: second, qty: 2 }, { id: first })
    await untilStatus(id, 'delivered')
    const order = await read(id)
    expect(order.links).toEqual([ofSecond[0], ofSecond[1], ofFirst[0]])
    expect(new Date(order.delivered_at).getTime()).toBeGreaterThanOrEqual(
      new Date(order.created_at).getTime(),
    )
    expect(await eventsOf(id)).toEqual(['order.accepted', 'order.delivered'])
    const again = await buy({ id: first })
    await untilStatus(again, 'delivered')
    expect((await read(again)).links).toEqual([ofFirst[1]])
  })

  test('a link that this store has ever held is not loaded again', async () => {
    const item = await newItem()
    const links = linksOf(2)
    expect(await shop.operator.loadPool(item, links)).toEqual({ loaded: 2, known: [], pool_left: 2 })
    const more = [links[0], ...linksOf(1), links[1]] as string[]
    expect(await shop.operator.loadPool(item, [...more, more[1] as string])).toEqual({
      loaded: 1,
      known: [1, 3, 4],
      pool_left: 3,
    })
    const id = await buy({ id: item, qty: 3 })
    await untilStatus(id, 'delivered')
    expect(await shop.operator.loadPool(await newItem(), links)).toMatchObject({ loaded: 0, known: [1, 2] })
  })

  test('another spelling of a link counts as the same link', async () => {
    const item = await newItem()
    const [link = ''] = linksOf(1)
    const spelled = link.replace('https://gift.example/', 'https://GIFT.example:443/')
    expect(await shop.operator.loadPool(item, [link, spelled, `${link}#again`])).toMatchObject({
      loaded: 1,
      known: [2, 3],
    })
  })

  test('links returned by a cancellation go to the order that waits for them', async () => {
    const item = await newItem()
    const greedy = await buy({ id: item, qty: 2 })
    const modest = await buy({ id: item })
    await Promise.all([greedy, modest].map((id) => untilNote(id, /by hand/)))
    await shop.operator.loadPool(item, linksOf(1))
    await untilNote(greedy, /1 short/)
    await shop.operator.cancelOrder(greedy, 'test')
    await untilStatus(modest, 'delivered')
  })

  test('taking the last link makes the item unavailable in the same commit; new links make it available', async () => {
    const item = await newItem()
    await shop.operator.loadPool(item, linksOf(1))
    expect(await isSellable(item)).toBe(true)
    const id = await buy({ id: item })
    await untilStatus(id, 'delivered')
    expect(await isSellable(item)).toBe(false)
    const refused = await shop.call('POST', '/v1/orders', {
      body: JSON.stringify({ items: [{ id: item }], idempotency_key: fresh('order') }),
    })
    expect([refused.status, refused.body.error.type]).toEqual([409, 'item_unavailable'])
    await shop.operator.loadPool(item, linksOf(1))
    expect(await isSellable(item)).toBe(true)
  })

  test('more than the pool has is not sold: the quote says sold_out, the order is refused', async () => {
    const item = await newItem()
    await shop.operator.loadPool(item, linksOf(3))
    const statusOf = async (qty: number) =>
      (await shop.call('POST', '/v1/quote', { body: JSON.stringify({ items: [{ id: item, qty }] }) })).body
        .lines[0].status
    expect([await statusOf(4), await statusOf(3)]).toEqual(['sold_out', 'ok'])
    const refused = await shop.call('POST', '/v1/orders', {
      body: JSON.stringify({ items: [{ id: item, qty: 4 }], idempotency_key: fresh('order') }),
    })
    expect([refused.status, refused.body.error.type]).toEqual([409, 'item_unavailable'])
    expect(refused.body.error.message).toContain(`${item} (fewer than 4 left)`)
    await untilStatus(await buy({ id: item, qty: 3 }), 'delivered')
  })

  test('units that are sold and not assigned yet are no longer for sale: by quote, by order, until their order is cancelled', async () => {
    const item = await newItem()
    await shop.operator.loadPool(item, linksOf(5))
    const buyNow = async (qty: number) => {
      const { status, body } = await shop.call('POST', '/v1/orders', {
        body: JSON.stringify({ items: [{ id: item, qty }], idempotency_key: fresh('order') }),
      })
      return status === 201 ? (body.id as string) : body.error.message
    }
    const quoted = async (qty: number) =>
      (await shop.call('POST', '/v1/quote', { body: JSON.stringify({ items: [{ id: item, qty }] }) })).body
        .lines[0].status
    await worker.stop()
    const first = await buyNow(3)
    expect(await buyNow(3)).toContain(`${item} (fewer than 3 left)`)
    expect([await quoted(3), await quoted(2)]).toEqual(['sold_out', 'ok'])
    const second = await buyNow(2)
    expect(await buyNow(1)).not.toContain('fewer than')
    expect(await quoted(1)).toBe('sold_out')
    await shop.operator.cancelOrder(first, 'test')
    const third = await buyNow(3)
    worker = startWorker(shop, { write: (line) => void lines.push(line) })
    for (const id of [second, third]) await untilStatus(id, 'delivered')
    expect(await quoted(1)).toBe('sold_out')
  })

  test('an order with too few links stays paid and keeps those it has; loading the pool delivers it', async () => {
    const item = await newItem()
    const [early, late] = [linksOf(1), linksOf(2)]
    const id = await buy({ id: item, qty: 3 })
    await untilNote(id, /by hand/)
    await shop.operator.loadPool(item, early)
    await untilNote(id, /the pool is 2 short/)
    expect(await read(id)).toMatchObject({ status: 'paid', links: [], delivered_at: null })
    await shop.operator.loadPool(item, late)
    await untilStatus(id, 'delivered')
    expect((await read(id)).links).toEqual([...early, ...late])
  })

  test('falling below the warning level is logged once', async () => {
    const item = await newItem()
    await shop.operator.loadPool(item, linksOf(4))
    await shop.operator.chooseSource(item, { warn_below: 3 })
    for (let n = 0; n < 3; n += 1) await untilStatus(await buy({ id: item }), 'delivered')
    const warnings = lines.filter((line) => line.includes('is running low') && line.includes(item))
    expect(warnings.map((line) => JSON.parse(line).pool_left)).toEqual([2])
  })

  test('links are unreadable in the database and never logged', async () => {
    const item = await newItem()
    const [link = ''] = linksOf(1)
    await shop.operator.loadPool(item, [link])
    const id = await buy({ id: item })
    await untilStatus(id, 'delivered')
    const { found } = await shop.database.owner.one<{ found: number }>(
      sql`select count(*) as found from order_links where position('http'::bytea in link_sealed) > 0`,
    )
    expect(found).toBe(0)
    expect(lines.join('')).not.toContain('gift.example')
  })
})

describe('by hand', () => {
  test('an operator sees links only once the order is delivered', async () => {
    const [pooled, byHand] = [await newItem(), await newItem()]
    await shop.operator.loadPool(pooled, linksOf(1))
    const id = await buy({ id: pooled }, { id: byHand })
    await untilNote(id, /by hand/)
    await expect(shop.operator.revealLinks(id)).rejects.toThrow(/paid; it has no links to show/)
  })

  test('the order waits with a note, and is delivered with exactly the links it lacks', async () => {
    const [pooled, byHand] = [await newItem(), await newItem()]
    const [own] = linksOf(1) as [string]
    await shop.operator.loadPool(pooled, [own])
    const id = await buy({ id: byHand, qty: 2 }, { id: pooled })
    await untilNote(id, /2 to be delivered by hand/)
    const given = linksOf(2)
    await expect(shop.operator.deliverOrder(id, linksOf(3))).rejects.toThrow(/lacks 2 links .* 3 were given/)
    await expect(shop.operator.deliverOrder(id, [own, given[0] as string])).rejects.toThrow(
      /was in this store before/,
    )
    await expect(shop.operator.deliverOrder(id, ['http://gift.example/a', 'x'])).rejects.toThrow(
      /Link 1 is not a link/,
    )
    expect((await read(id)).status).toBe('paid')
    expect(await shop.operator.deliverOrder(id, given)).toMatchObject({ isNew: true })
    expect(await read(id)).toMatchObject({ status: 'delivered', links: [...given, own] })
    expect(await shop.operator.deliverOrder(id, given)).toMatchObject({ isNew: false })
    await expect(shop.operator.cancelOrder(id, 'too late')).rejects.toThrow(
      /delivered already; that is final/,
    )
  })
})

describe('cancelling', () => {
  test('refunds the whole order in the same commit, once, with a reason', async () => {
    const item = await newItem()
    const before = await balance()
    const id = await buy({ id: item, qty: 5 })
    expect(await shop.operator.cancelOrder(id, 'out of stock')).toMatchObject({ isNew: true })
    expect(await shop.operator.cancelOrder(id, 'again')).toMatchObject({ isNew: false })
    expect(await balance()).toBe(before)
    expect(await read(id)).toMatchObject({ status: 'cancelled', links: [], delivered_at: null })
    expect(await eventsOf(id)).toEqual(['order.accepted', 'order.cancelled'])
    await expect(shop.operator.deliverOrder(id, linksOf(5))).rejects.toThrow(
      /cancelled already; that is final/,
    )
    const { reason } = await shop.database.owner.one<{ reason: string }>(
      sql`select cancel_reason as reason from orders where id = ${id}`,
    )
    expect(reason).toBe('out of stock')
  })

  test('returns links already assigned to the order to their pool', async () => {
    const [pooled, byHand] = [await newItem(), await newItem()]
    const links = linksOf(2)
    await shop.operator.loadPool(pooled, links)
    const id = await buy({ id: pooled, qty: 2 }, { id: byHand })
    await untilNote(id, /by hand/)
    expect(await isSellable(pooled)).toBe(false)
    await shop.operator.cancelOrder(id, 'not needed')
    expect(await isSellable(pooled)).toBe(true)
    const next = await buy({ id: pooled, qty: 2 })
    await untilStatus(next, 'delivered')
    expect((await read(next)).links.toSorted()).toEqual(links.toSorted())
  })

  test('sets a link aside that can no longer be decrypted, and gives the money back all the same', async () => {
    const [pooled, byHand] = [await newItem(), await newItem()]
    await shop.operator.loadPool(pooled, linksOf(2))
    const before = await balance()
    const id = await buy({ id: pooled, qty: 2 }, { id: byHand })
    await untilNote(id, /by hand/)
    await shop.database.asOwner(`
      update order_links set link_sealed = set_byte(link_sealed, length(link_sealed) - 1, get_byte(link_sealed, length(link_sealed) - 1) # 1)
       where order_id = '${id}' and unit = 1`)
    await shop.operator.cancelOrder(id, 'not needed')
    expect(await balance()).toBe(before)
    expect(await poolLeft(pooled)).toBe(1)
    const { n } = await shop.database.owner.one<{ n: number }>(
      sql`select count(*) as n from pool_links where item_id = ${pooled} and set_aside_at is not null`,
    )
    expect(n).toBe(1)
  })

  test('happens automatically once an order has waited for longer than the refund rule allows', async () => {
    const item = await newItem()
    const id = await buy({ id: item })
    await untilNote(id, /by hand/)
    const { database, vault, metrics } = shop
    const applyRefundRule = createRefundRule({
      db: database.worker,
      vault,
      metrics,
      log: createLog('silent'),
    })
    expect(await applyRefundRule()).toBe(0)
    await shop.operator.setRefundRule({ cancel_after_ms: 3_600_000 })
    expect(await applyRefundRule()).toBe(0)
    await shop.database.asOwner(
      `update orders set created_at = now() - interval '61 minutes' where id = '${id}';
       update refund_rule set working_since = now() - interval '2 hours';
       update database_identity set confirmed_at = now() - interval '2 hours'`,
    )
    expect(await applyRefundRule()).toBe(1)
    expect((await shop.call('GET', `/v1/orders/${id}`)).body.status).toBe('cancelled')
    await shop.operator.setRefundRule({ cancel_after_ms: null })
  })
})

describe('from a supplier', () => {
  async function suppliedItem(options: { withFallback?: boolean; timeout_ms?: number } = {}) {
    const { timeout_ms = 2_000 } = options
    const [first, second] = [await startSupplier(fresh('first')), await startSupplier(fresh('second'))]
    for (const supplier of [first, second]) {
      const { name, url } = supplier
      const { secret } = await shop.operator.createSupplier({ name, url, timeout_ms, allowHttp: true })
      supplier.setSecret(secret)
    }
    const item = await newItem()
    await shop.operator.chooseSource(item, {
      supplier: first.name,
      sku: 'SKU-7',
      ...(options.withFallback && { fallback: second.name }),
    })
    const close = () => Promise.all([first.close(), second.close()])
    return { item, first, second, close }
  }

  test('the supplier gets a signed request with our order and line, and its links are delivered', async () => {
    const { item, first, close } = await suppliedItem()
    const id = await buy({ id: await newItemWithPool() }, { id: item, qty: 2 })
    await untilStatus(id, 'delivered')
    expect(first.asked).toEqual([{ id: `${id}-2`, sku: 'SKU-7', qty: 2, isSigned: true }])
    expect((await read(id)).links.slice(1)).toEqual(
      [0, 1].map((n) => `https://gift.example/${first.name}/${id}-2/${n}`),
    )
    await close()
  })

  async function newItemWithPool() {
    const item = await newItem()
    await shop.operator.loadPool(item, linksOf(1))
    return item
  }

  test.each([
    ['fails', { status: 500 }, /http_500/],
    [
      'answers with the wrong number of links',
      { status: 200, body: { links: ['https://gift.example/only-one'] } },
      /bad_reply/,
    ],
    ['answers with texts that are not links', { status: 200, body: { links: ['a', 'b'] } }, /bad_reply/],
    ['answers 202', { status: 202 }, /being_made/],
    ['redirects', { status: 302 }, /http_302/],
  ])('that %s is asked again with the same id until it answers with links', async (_what, answer, note) => {
    const { item, first, close } = await suppliedItem()
    first.answers(() => answer)
    const id = await buy({ id: item, qty: 2 })
    await untilNote(id, note)
    expect((await read(id)).status).toBe('paid')
    first.answers(undefined)
    await shop.operator.retryOrder(id)
    await untilStatus(id, 'delivered')
    expect(new Set(first.asked.map((ask) => JSON.stringify(ask))).size).toBe(1)
    await close()
  })

  test('that hangs is given up after its time limit', async () => {
    const { item, first, close } = await suppliedItem({ timeout_ms: 200 })
    first.answers(() => ({ status: 200, hangs: true }))
    const id = await buy({ id: item })
    await untilNote(id, /timeout/)
    first.answers(undefined)
    await untilStatus(id, 'delivered')
    await close()
  })

  test('whose answer was lost returns the same links again; none is delivered twice', async () => {
    const { item, first, close } = await suppliedItem({ timeout_ms: 300 })
    first.answers((ask) => ({ ...first.give(ask), hangs: true }))
    const id = await buy({ id: item, qty: 3 })
    await untilNote(id, /timeout/)
    first.answers(undefined)
    await untilStatus(id, 'delivered')
    expect(new Set((await read(id)).links).size).toBe(3)
    await close()
  })

  test('that has none in stock is followed by the fallback at once', async () => {
    const { item, first, second, close } = await suppliedItem({ withFallback: true })
    first.answers(() => ({ status: 409 }))
    const id = await buy({ id: item })
    await untilStatus(id, 'delivered')
    expect([first.asked.length, second.asked.length]).toEqual([1, 1])
    expect((await read(id)).links[0]).toContain(second.name)
    await close()
  })

  test('that is paused is not asked', async () => {
    const { item, first, second, close } = await suppliedItem({ withFallback: true })
    await shop.operator.pauseSupplier(first.name, true)
    await untilStatus(await buy({ id: item }), 'delivered')
    expect([first.asked.length, second.asked.length]).toEqual([0, 1])
    await close()
  })

  test('that keeps failing is skipped: new orders go to its fallback, orders it was asked for wait for it', async () => {
    const { item, first, second, close } = await suppliedItem({ withFallback: true })
    first.answers(() => ({ status: 503 }))
    const ids = [await buy({ id: item }), await buy({ id: item }), await buy({ id: item })]
    await expect.poll(() => first.asked.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(5)
    const later = await buy({ id: item })
    await untilStatus(later, 'delivered')
    expect(second.sold()).toEqual([`${later}-1`])
    for (const id of ids) expect((await read(id)).status).toBe('paid')
    const open = await shop.database.owner.many(
      sql`select 1 from supplier_requests where supplier = ${first.name} and ended_at is null`,
    )
    expect(open.length).toBe(3)
    await close()
  })

  test('that returns a link we sold before has delivered nothing', async () => {
    const { item, first, close } = await suppliedItem()
    const [link = ''] = linksOf(1)
    first.answers(() => ({ status: 200, body: { links: [link] } }))
    await untilStatus(await buy({ id: item }), 'delivered')
    const id = await buy({ id: item })
    await untilNote(id, /held before/)
    expect((await read(id)).status).toBe('paid')
    first.answers(undefined)
    await shop.operator.retryOrder(id)
    await untilStatus(id, 'delivered')
    await close()
  })

  test('asked for a line that a load has filled meanwhile: its links go to the pool', async () => {
    const { item: first, first: slow, close } = await suppliedItem()
    const other = await newItem()
    await shop.operator.chooseSource(other, { supplier: slow.name })
    const byHand = await newItem()
    // While the supplier is asked for the first line, the pool of the second is loaded: settling the first line takes from it.
    slow.answers(async (ask) => {
      if (ask.id.endsWith('-1')) await shop.operator.loadPool(other, linksOf(1))
      return slow.give(ask)
    })
    const id = await buy({ id: first }, { id: other }, { id: byHand })
    await untilNote(id, /by hand/)
    expect(slow.asked.map((ask) => ask.id)).toEqual([`${id}-1`])
    await shop.operator.cancelOrder(id, 'test')
    expect([await poolLeft(first), await poolLeft(other)]).toEqual([1, 1])
    await close()
  })

  test('is not asked for the rest of an order that has ended', async () => {
    const { item, first, close } = await suppliedItem()
    const other = await newItem()
    await shop.operator.chooseSource(other, { supplier: first.name })
    first.answers(async (ask) => {
      await shop.operator.cancelOrder(ask.id.replace(/-\d$/, ''), 'test')
      return first.give(ask)
    })
    const id = await buy({ id: item }, { id: other })
    await expect.poll(() => poolLeft(item)).toBe(1)
    expect(first.asked.map((ask) => ask.id)).toEqual([`${id}-1`])
    await close()
  })

  test('that answers 202 is waited for instead of the fallback', async () => {
    const { item, first, second, close } = await suppliedItem({ withFallback: true })
    first.answers(() => ({ status: 202 }))
    const id = await buy({ id: item })
    for (let n = 1; n <= 4; n += 1) {
      await expect.poll(() => first.asked.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(n)
      await shop.operator.retryOrder(id)
    }
    first.answers(undefined)
    await untilStatus(id, 'delivered')
    expect(second.asked).toEqual([])
    await close()
  })

  test('has its request recorded as open until its links are stored', async () => {
    const { item, first, close } = await suppliedItem()
    const stages: string[] = []
    first.answers(async (ask) => {
      const rows = await shop.database.owner.many<{ stage: string }>(
        sql`select stage from supplier_requests where supplier = ${first.name}`,
      )
      stages.push(...rows.map(({ stage }) => stage))
      return first.give(ask)
    })
    await untilStatus(await buy({ id: item }), 'delivered')
    const after = await shop.database.owner.one(
      sql`select stage from supplier_requests where supplier = ${first.name}`,
    )
    expect([stages, after]).toEqual([['requested'], { stage: 'fulfilled' }])
    await close()
  })

  test('that returns one new and one old link has delivered one; the rest comes from the fallback', async () => {
    const { item, first, second, close } = await suppliedItem({ withFallback: true })
    const [old = '', fresh1 = ''] = linksOf(2)
    first.answers(() => ({ status: 200, body: { links: [old] } }))
    await untilStatus(await buy({ id: item }), 'delivered')
    first.answers(() => ({ status: 200, body: { links: [old, fresh1] } }))
    const id = await buy({ id: item, qty: 2 })
    await untilStatus(id, 'delivered')
    const { links } = await read(id)
    expect([links[0], links[1].includes(second.name), second.asked[0]?.qty]).toEqual([fresh1, true, 1])
    await close()
  })

  test('gets the sku of the first request; after a refusal a new request is made', async () => {
    const { item, first, close } = await suppliedItem()
    first.answers(() => ({ status: 500 }))
    const id = await buy({ id: item })
    await untilNote(id, /http_500/)
    await shop.operator.chooseSource(item, { sku: 'SKU-8' })
    await expect.poll(() => first.asked.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(2)
    expect(new Set(first.asked.map(({ id: asked, sku }) => `${asked} ${sku}`))).toEqual(
      new Set([`${id}-1 SKU-7`]),
    )
    first.answers(() => ({ status: 422 }))
    await shop.operator.retryOrder(id)
    await untilNote(id, /unknown_sku/)
    first.answers(undefined)
    await shop.operator.retryOrder(id)
    await untilStatus(id, 'delivered')
    expect(first.asked.at(-1)).toMatchObject({ id: `${id}-1-2`, sku: 'SKU-8' })
    await close()
  })

  test('that has refused a line 32,767 times is asked once more', async () => {
    const { item, first, close } = await suppliedItem()
    first.answers(() => ({ status: 422 }))
    const id = await buy({ id: item })
    await untilNote(id, /unknown_sku/)
    await shop.database.asOwner(`update supplier_requests set round = 32767 where order_id = '${id}'`)
    first.answers(undefined)
    await shop.operator.retryOrder(id)
    await untilStatus(id, 'delivered')
    expect(first.asked.at(-1)).toMatchObject({ id: `${id}-1-32768` })
    await close()
  })

  test('whose links arrive after the order was cancelled: they go to the pool', async () => {
    const { item, first, close } = await suppliedItem()
    first.answers(async (ask) => {
      await shop.operator.cancelOrder(ask.id.replace(/-1$/, ''), 'changed my mind')
      return first.give(ask)
    })
    const before = await balance()
    const id = await buy({ id: item, qty: 2 })
    await expect.poll(() => poolLeft(item)).toBe(2)
    expect(await read(id)).toMatchObject({ status: 'cancelled', links: [] })
    expect(await balance()).toBe(before)
    first.answers(undefined)
    const next = await buy({ id: item, qty: 2 })
    await untilStatus(next, 'delivered')
    expect(first.asked.length).toBe(1)
    await close()
  })
})
