import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { INVARIANTS } from '../../src/installation.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { sql } from '../../src/platform/database/db.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'
import { startWorker } from '../../testing/worker.ts'

let shop: Shop
let worker: ReturnType<typeof startWorker>
let item: string
let links: string[]
const lines: string[] = []
let count = 0
beforeAll(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  worker = startWorker(shop, { write: (line) => void lines.push(line) })
})
afterAll(async () => {
  await worker.stop()
  await shop.close()
})
beforeEach(async () => {
  count += 1
  item = `5${String(count).padStart(16, '0')}`
  links = Array.from({ length: 6 }, (_, n) => `https://gift.example/aside-${count}-${n}`)
  await putItems(shop.database.operator, [itemOf(item)])
  await shop.operator.loadPool(item, links)
})

async function buy(qty = 1) {
  count += 1
  const request = { items: [{ id: item, qty }], idempotency_key: `aside-${count}` }
  const bought = await shop.operator.placeOrder(shop.account.id, request)
  return bought.kind === 'bought' ? bought.order.id : bought.order_id
}
const linksOf = async (order: string) =>
  (await shop.call('GET', `/v1/orders/${order}`)).body.links as string[]
const noteOf = async (order: string) =>
  (
    await shop.database.owner.one<{ note: string | null }>(
      sql`select note from jobs where subject = ${order}`,
    )
  ).note ?? ''
const pool = async () => ({
  left: (
    await shop.database.owner.one<{ n: number }>(
      sql`select pool_left as n from item_supply where item_id = ${item}`,
    )
  ).n,
  aside: (
    await shop.database.owner.many<{ id: string }>(
      sql`select id from pool_links where item_id = ${item} and set_aside_at is not null`,
    )
  ).map(({ id }) => id),
})
/** Flips a bit of the last byte of the first links of the pool; doing it twice restores them. */
const damage = (n: number) =>
  shop.database.asOwner(
    `update pool_links
        set link_sealed = set_byte(link_sealed, length(link_sealed) - 1, get_byte(link_sealed, length(link_sealed) - 1) # 1)
      where (item_id, id) in (select item_id, id from pool_links where item_id = '${item}' order by id limit ${n})`,
  )
const broken = async () =>
  (await verifyData(shop.database.operator, await readRules(INVARIANTS), () => {})).filter(
    ({ violations }) => violations > 0,
  )

test('a damaged link is set aside and reported, and the order is delivered with the next one', async () => {
  await damage(1)
  const order = await buy()
  await expect.poll(() => linksOf(order)).toEqual([links[1]])
  const { left, aside } = await pool()
  expect([left, aside.length]).toEqual([4, 1])
  const alarms = lines.filter((line) => line.includes('set aside') && line.includes(item))
  expect(alarms.map((line) => JSON.parse(line).pool_link)).toEqual(aside)
  expect(lines.join('')).not.toContain('gift.example')
  expect(await worker.metrics.registry.metrics()).toContain('shopwire_pool_links_set_aside_total 1')
  expect((await runAdminOn(shop, 'pool', 'set-aside')).out).toContain(String(aside[0]))
  expect(await broken()).toEqual([])
  // A duplicate even while it is set aside.
  expect(await shop.operator.loadPool(item, [String(links[0])])).toMatchObject({ loaded: 0 })

  await damage(1)
  const restored = await runAdminOn(shop, 'pool', 'restore', item)
  expect(restored.out).toBe(`Put 1 links back; the pool of ${item} holds 5.\n`)
  const next = await buy()
  await expect.poll(() => linksOf(next)).toEqual([links[0]])
  expect([await pool(), await broken()]).toEqual([{ left: 4, aside: [] }, []])
})

test('three damaged links are set aside at once; the item becomes unavailable when no other is left', async () => {
  await damage(3)
  const order = await buy(3)
  await expect.poll(() => linksOf(order)).toEqual(links.slice(3))
  const { left, aside } = await pool()
  expect([left, aside.length]).toEqual([0, 3])
  expect(await broken()).toEqual([])
})

test.each([
  ['more than three links in a row do not open', () => damage(4), /4 links in a row do not open/],
  [
    'the key of a link is not configured',
    () =>
      shop.database.asOwner(
        `update pool_links set link_kek_id = 'gone', link_sealed = overlay(link_sealed placing 'gone'::bytea from 3 for 4)
          where item_id = '${item}'`,
      ),
    /encryption key "gone" is not configured/,
  ],
])('nothing is set aside and the order waits when %s', async (_what, prepare, note) => {
  await prepare()
  const order = await buy()
  await expect.poll(() => noteOf(order)).toMatch(note)
  expect(await pool()).toEqual({ left: 6, aside: [] })
  expect(lines.some((line) => line.includes('cannot be decrypted') && line.includes(item))).toBe(true)
  expect(await broken()).toEqual([])
})

test('pool check sets aside all damaged links; pool restore puts back only those that can be decrypted again', async () => {
  await damage(5)
  const order = await buy()
  // The order has tried and would try again in a minute: the command wakes it.
  await expect.poll(() => noteOf(order)).toMatch(/4 links in a row/)
  const checked = await runAdminOn(shop, 'pool', 'check', item)
  expect(checked).toMatchObject({
    code: 0,
    out: `1 links can be decrypted, 5 were set aside; the pool of ${item} holds 1.\n`,
  })
  await expect.poll(() => linksOf(order)).toEqual([links[5]])
  expect([(await pool()).aside.length, await broken()]).toEqual([5, []])

  await damage(2)
  const restored = await runAdminOn(shop, 'pool', 'restore', item)
  expect(restored).toMatchObject({
    code: 5,
    out: `Put 2 links back; the pool of ${item} holds 2.\n`,
    err: expect.stringContaining('3 links still cannot be decrypted'),
  })
  const next = await buy()
  await expect.poll(() => linksOf(next)).toEqual([links[0]])
  expect([(await pool()).aside.length, await broken()]).toEqual([3, []])
})
