import { afterAll, beforeAll, expect, test } from 'vitest'
import { FULFIL_QUEUE } from '../../src/orders/fulfilment/fulfil-queue.ts'
import { sql } from '../../src/platform/database/db.ts'
import { DELIVER_QUEUE } from '../../src/webhooks/deliver-queue.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

let shop: Shop
let order: string
let endpoint: string
const ITEM = '50000000000000008'
beforeAll(async () => {
  shop = await openShop()
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, [itemOf(ITEM, {})]))
  const body = JSON.stringify({ url: 'https://93.184.216.34/hook' })
  expect((await shop.call('POST', '/v1/webhook', { body })).status).toBe(200)
  const bought = await shop.call('POST', '/v1/orders', {
    body: JSON.stringify({ items: [{ id: ITEM }], idempotency_key: 'dead-letters' }),
  })
  order = bought.body.id
  endpoint = (await shop.database.owner.one<{ id: string }>(sql`select id from webhook_endpoints`)).id
})
afterAll(() => shop.close())

const jobs = (...args: string[]) => runAdminOn(shop, 'jobs', ...args)
const kill = (queue: string) =>
  shop.database.asOwner(
    `update jobs set run_at = 'infinity', dead_at = now(), failures = 15, note = 'failed on our side (TypeError); see the log'
      where queue = '${queue}'`,
  )
const dead = async () => (await jobs('dead')).out

test('lists dead letters with the reason, and makes one or all of them due again', async () => {
  expect(await dead()).toContain('There are no dead letters.')
  await kill(FULFIL_QUEUE)
  await kill(DELIVER_QUEUE)
  expect(await dead()).toMatch(new RegExp(`${order} +fulfil .* 15 +failed on our side \\(TypeError\\)`))
  expect((await jobs('retry', order)).out).toContain('1 orders, 0 endpoints')
  expect(await dead()).not.toContain(order)
  expect(await dead()).toContain(endpoint)
  expect((await jobs('retry', '--all')).out).toContain('0 orders, 1 endpoints')
  expect(await dead()).toContain('There are no dead letters.')
  const { due } = await shop.database.owner.one<{ due: number }>(
    sql`select count(*) as due from jobs where run_at <= clock_timestamp() and failures = 0`,
  )
  expect(due).toBe(2)
})

test('says what to give when it is given nothing or something unknown', async () => {
  const nothing = await jobs('retry')
  expect(nothing.code).not.toBe(0)
  expect(nothing.err).toContain('or --all')
  const unknown = await jobs('retry', 'ord_unknown')
  expect(unknown.code).not.toBe(0)
  expect(unknown.err).toContain('"jobs dead" lists')
})

test('a paid order is not dropped: the refusal says how to end it', async () => {
  await kill(FULFIL_QUEUE)
  const refused = await jobs('drop', order, '--reason', 'test')
  expect(refused.code).not.toBe(0)
  expect(refused.err).toContain(`orders cancel ${order}`)
  expect(await dead()).toContain(order)
})

test('dropping an endpoint gives up what it had to send; it can be recovered', async () => {
  await kill(DELIVER_QUEUE)
  const dropped = await jobs('drop', endpoint, '--reason', 'test')
  expect(dropped.out).toMatch(/1 events were given up.*webhooks recover/s)
  const left = await shop.database.owner.many(sql`select state from deliveries`)
  expect(left).toEqual([{ state: 'failed' }])
  expect(await shop.database.owner.many(sql`select queue from jobs`)).toEqual([{ queue: FULFIL_QUEUE }])
  const [audited] = await shop.database.owner.many<{ action: string; target: string }>(
    sql`select action, target from audit_log order by id desc limit 1`,
  )
  expect(audited).toEqual({ action: 'jobs.drop', target: endpoint })
})
