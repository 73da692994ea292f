import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SEALED_COLUMNS } from '../../src/operations/sealed-columns.ts'
import { ERASE_CHUNK, eraseOldLinks } from '../../src/orders/links/link-retention.ts'
import { type Db, sql } from '../../src/platform/database/db.ts'
import { localKeks, openKeyring } from '../../src/platform/encryption/encryption.ts'
import { countByKek, reEncryptColumn } from '../../src/platform/encryption/re-encrypt.ts'
import { orderLinkSecrets } from '../../src/supply/gift-link.ts'
import { deleteOldEvents } from '../../src/webhooks/retention.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { buy, delivered, openAccount, openAreas } from '../../testing/dashboard-shop.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

const [ring, manual] = ['10000000000000001', '10000000000000003'] as const
const LINK = 'https://gift.example/secret-'
const DAY_MS = 86_400_000
const KEPT_DAYS = 90
const keks = new Map([
  ['test', randomBytes(32)],
  ['next', randomBytes(32)],
])

let shop: Shop
let worker: ReturnType<typeof startWorker>
let areas: ReturnType<typeof openAreas>
beforeAll(async () => {
  shop = await openShop({
    keyring: openKeyring(localKeks(keks, 'test')),
    limits: { requestsMax: 100_000, ordersMax: 100_000 },
  })
  worker = startWorker(shop)
  areas = openAreas(shop)
  await putItems(shop.database.operator, [itemOf(ring), itemOf(manual)])
  const links = Array.from({ length: 60 }, (_, n) => `${LINK}${n}`)
  await shop.operator.loadPool(ring, links)
  await shop.operator.chooseSource(manual, { source: 'hand' })
})
afterAll(async () => {
  await worker.stop()
  await shop.close()
})

/** What the worker does every minute, so many days from now; events are kept as long as links. */
async function dayFromNow(days: number, db: Db = shop.database.worker) {
  const nowMs = Date.now() + days * DAY_MS
  const before = new Date(nowMs - KEPT_DAYS * DAY_MS)
  await deleteOldEvents(db, before)
  while ((await eraseOldLinks(db, before, nowMs)).isMore);
}
async function buyDelivered(key: TestKey, qty = 1) {
  const { body } = await buy(shop, key, [{ id: ring, qty }])
  return delivered(shop, key, body.id)
}
const linksOf = async (key: TestKey, id: string) =>
  (await shop.call('GET', `/v1/orders/${id}`, { key })).body.links as string[]
const isErased = async (key: TestKey, id: string) => (await linksOf(key, id)).length === 0
const keptLonger = async () =>
  (
    await shop.database.owner.many<{ order_id: string }>(
      sql`select order_id from links_kept_longer order by order_id`,
    )
  ).map(({ order_id }) => order_id)

test('links are erased when their time is over and not before; fingerprints, counts and the order stay', async () => {
  const { account_id, key } = await openAccount(shop)
  const order = await buyDelivered(key, 3)
  expect(order.links).toHaveLength(3)
  await dayFromNow(KEPT_DAYS - 1)
  expect(await linksOf(key, order.id)).toEqual(order.links)
  expect((await areas.call(account_id, 'getOrder', { id: order.id })).links_erased_at).toBeNull()

  await dayFromNow(KEPT_DAYS + 1)
  const { body } = await shop.call('GET', `/v1/orders/${order.id}`, { key })
  expect(body).toEqual({ ...order, links: [] })
  expect(
    await shop.database.owner.one(sql`
      select count(*) as links, count(link_sealed) as sealed, count(link_kek_id) as keks, count(f.hash) as fingerprints
        from order_links k
        join link_fingerprints f on f.hash = k.link_hash
       where k.order_id = ${order.id}`),
  ).toEqual({ links: 3, sealed: 0, keks: 0, fingerprints: 3 })
  // A link that was sold is still refused as new stock.
  expect(await shop.operator.loadPool(ring, [order.links[0]])).toMatchObject({ loaded: 0 })
})

test('returns why the links are gone to the dashboard and to operators', async () => {
  const { account_id, key } = await openAccount(shop)
  const order = await buyDelivered(key, 2)
  await dayFromNow(KEPT_DAYS + 1)
  const detail = await areas.call(account_id, 'getOrder', { id: order.id })
  expect(detail.links).toHaveLength(2)
  expect(Date.parse(detail.links_erased_at ?? '')).toBeGreaterThan(Date.now() + KEPT_DAYS * DAY_MS)
  expect(detail.story).toContainEqual({ kind: 'delivered', at: order.delivered_at, links: 2 })
  const day = detail.links_erased_at?.slice(0, 10)
  await expect(
    areas.call(account_id, 'revealLink', { body: { order_id: order.id, n: 1 } }),
  ).rejects.toMatchObject({ type: 'not_found', message: expect.stringContaining(`were erased on ${day}`) })
  const { err, code } = await runAdminOn(shop, 'orders', 'show', order.id, '--reveal-links')
  expect([code, err]).toEqual([4, expect.stringContaining(`The links of ${order.id} were erased on ${day}`)])
})

test('an order delivered long after it was bought keeps its links until they are old enough', async () => {
  const { key } = await openAccount(shop)
  const { body } = await buy(shop, key, [{ id: manual }])
  const cancelled = await buy(shop, key, [{ id: manual }])
  await shop.operator.cancelOrder(cancelled.body.id, 'not needed')
  await dayFromNow(KEPT_DAYS + 1)
  expect(await keptLonger()).toEqual([body.id])
  await shop.operator.deliverOrder(body.id, [`${LINK}by-hand`])
  // As if it had been delivered on that day.
  await shop.database.asOwner(`
    set session_replication_role = replica;
    update orders
       set delivered_at = delivered_at + make_interval(days => ${KEPT_DAYS})
     where id = '${body.id}'`)
  await dayFromNow(2 * KEPT_DAYS - 1)
  expect(await linksOf(key, body.id)).toEqual([`${LINK}by-hand`])
  await dayFromNow(2 * KEPT_DAYS + 1)
  expect(await isErased(key, body.id)).toBe(true)
  expect(await keptLonger()).toEqual([])
})

test('the event that carries the links is still pending: they stay until it is gone', async () => {
  const { account_id, key } = await openAccount(shop)
  const hook = JSON.stringify({ url: 'https://93.184.216.34/hook' })
  expect((await shop.call('POST', '/v1/webhook', { key, body: hook })).status).toBe(200)
  const order = await buyDelivered(key)
  await dayFromNow(3 * KEPT_DAYS)
  expect(await linksOf(key, order.id)).toEqual(order.links)
  await shop.database.owner.run(sql`
    update deliveries
       set state = 'failed', attempts = 12, done_at = now()
     where account_id = ${account_id}`)
  await dayFromNow(3 * KEPT_DAYS + 1)
  expect(await isErased(key, order.id)).toBe(true)
})

test('two workers at once, and one that is killed between two chunks: everything is erased once', async () => {
  const { account_id, key } = await openAccount(shop)
  const order = await buyDelivered(key)
  // More than a chunk in one millisecond, and some later, long before everything else.
  await shop.database.owner.transaction(async (tx) => {
    await tx.run(sql`
      update link_retention
         set looked_to = 'epoch'`)
    await tx.run(sql`
      insert into orders (account_id, id, idempotency_key, request_hash, status, total_cents, key_id, created_at, delivered_at)
      select ${account_id}, 'ord_old_' || n, 'old-' || n, decode('00', 'hex'), 'delivered', 100, 'test', at, at
        from generate_series(1, ${2 * ERASE_CHUNK}) n,
             lateral (select case when n < ${ERASE_CHUNK + 9} then timestamptz '2020-01-01T00:00:00.000123Z'
                             else timestamptz '2020-01-01' + make_interval(mins => n) end as at) t`)
    await tx.run(sql`
      insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
      select account_id, id, 1, ${ring}, 'Ring', 1, 100
        from orders
       where id like 'ord_old_%'`)
    await tx.run(sql`
      with made as (
        insert into link_fingerprints (hash, seen_at)
        select decode(md5(id), 'hex'), now()
          from orders
         where id like 'ord_old_%'
      )
      insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
      select account_id, id, 1, 1, decode('00', 'hex'), 'test', decode(md5(id), 'hex'), 'pool', created_at
        from orders
       where id like 'ord_old_%'`)
  })
  const left = async () =>
    (
      await shop.database.owner.one<{ links: number }>(sql`
        select count(link_sealed) as links
          from order_links
         where order_id like 'ord_old_%'`)
    ).links
  const before = new Date()
  const first = await eraseOldLinks(shop.database.worker, before, Date.now())
  expect(first).toEqual({ removed: ERASE_CHUNK + 8, isMore: true })
  expect(await left()).toBe(ERASE_CHUNK - 8)
  // Killed in the middle of a chunk: the transaction ends without a commit, and the place is where it was.
  const killed = shop.database.worker.transaction(async (tx) => {
    const inside = {
      ...shop.database.worker,
      transaction: (work: (given: typeof tx) => unknown) => work(tx),
    } as Db
    expect((await eraseOldLinks(inside, before, Date.now())).removed).toBeGreaterThan(0)
    expect(await Promise.all([eraseOldLinks(shop.database.worker, before, Date.now()), left()])).toEqual([
      { removed: 0, isMore: false },
      ERASE_CHUNK - 8,
    ])
    throw new Error('killed')
  })
  await expect(killed).rejects.toThrow('killed')
  expect(await left()).toBe(ERASE_CHUNK - 8)
  for (let isMore = true; isMore; ) {
    const both = await Promise.all([1, 2].map(() => eraseOldLinks(shop.database.worker, before, Date.now())))
    isMore = both.some((one) => one.isMore)
  }
  expect(await left()).toBe(0)
  expect(await linksOf(key, order.id)).toEqual(order.links)
})

test('a new encryption key and the count by key leave erased links out', async () => {
  const { key } = await openAccount(shop)
  const order = await buyDelivered(key, 2)
  await dayFromNow(4 * KEPT_DAYS)
  expect(await isErased(key, order.id)).toBe(true)
  const kept = await buyDelivered(key, 2)
  const unopened: unknown[] = []
  const done = await reEncryptColumn(
    shop.database.operator,
    openKeyring(localKeks(keks, 'next')),
    orderLinkSecrets,
    {
      onUnopened: (row) => unopened.push(row),
    },
  )
  const [{ links } = { links: -1 }] = await shop.database.owner.many<{ links: number }>(sql`
    select count(link_sealed) as links
      from order_links`)
  expect([done, unopened]).toEqual([links, []])
  expect(await countByKek(shop.database.operator, SEALED_COLUMNS)).toContainEqual({
    kek_id: 'next',
    secrets: links,
  })
  expect(await linksOf(key, kept.id)).toHaveLength(2)
})
