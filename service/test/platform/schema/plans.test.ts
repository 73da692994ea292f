import { afterEach, beforeEach, expect, test } from 'vitest'
import { buy, delivered, startDeliveries } from '../../../testing/dashboard-shop.ts'
import { asSuperuser } from '../../../testing/database.ts'
import { itemOf, putItems, untilFollowed } from '../../../testing/items.ts'
import { openShop, type Shop } from '../../../testing/shop.ts'
import { startWorker } from '../../../testing/worker.ts'

/** A row or more with every order, or as many as there are customers. Reading one of them whole takes longer every day. */
const GROWING = [
  'accounts',
  'api_keys',
  'balances',
  'deliveries',
  'delivery_attempts',
  'events',
  'jobs',
  'link_fingerprints',
  'link_reads',
  'order_answers',
  'order_attempts',
  'order_lines',
  'order_links',
  'orders',
  'pool_links',
  'spent_nonces',
  'transfers',
  'webhook_endpoints',
  'webhook_secrets',
]
const ITEM = '1144058340327047001'
/** More than a prepared statement is planned anew for. */
const ORDERS = 25

let shop: Shop
const running: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  shop = await openShop({ limits: { requestsMax: 100_000, ordersMax: 100_000 } })
  await untilFollowed(
    shop.catalogue,
    await putItems(shop.database.operator, [itemOf(ITEM, { price_cents: 1 })]),
  )
  await shop.operator.loadPool(
    ITEM,
    Array.from({ length: 2 * ORDERS }, (_, n) => `https://gift.example/${n}`),
  )
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((part) => part.stop()))
  await shop.close()
})

test('a store whose tables were analysed while they were empty sells, delivers and notifies without reading a growing table whole', {
  timeout: 60_000,
}, async () => {
  const { body } = await shop.call('POST', '/v1/webhook', {
    body: JSON.stringify({ url: 'https://93.184.216.34/hook' }),
  })
  expect(body.secret).toBeDefined()
  // Plans that are made from now on are made for empty tables, and kept.
  for (const table of GROWING) await shop.database.asOwner(`analyze ${table}`)
  await endSessions()
  const before = await scans()
  running.push(
    startWorker(shop),
    startDeliveries(shop, () => ({ error: null, status: 200, remote_address: '93.184.216.34' })),
  )
  for (let n = 0; n < ORDERS; n += 1) {
    const { body: order } = await buy(shop, shop.key, [{ id: ITEM }])
    await delivered(shop, shop.key, order.id)
  }
  await expect.poll(pending, { timeout: 10_000 }).toBe(0)
  await Promise.all(running.splice(0).map((part) => part.stop()))
  await endSessions()
  const after = await scans()
  expect(after.get('orders')?.rows).toBe(ORDERS)
  expect(after.get('deliveries')?.rows).toBeGreaterThan(ORDERS)
  expect(GROWING.filter((table) => after.get(table)?.whole !== before.get(table)?.whole)).toEqual([])
})

const pending = async () =>
  (
    await asSuperuser(async (client) => {
      // This look is not to be counted.
      await client.query('set enable_seqscan = off')
      return client.query(`select from deliveries where state = 'pending'`)
    }, shop.database.superuserUrl)
  ).rowCount

/** A session reports its counts when it ends. */
async function endSessions(): Promise<void> {
  await asSuperuser(async (client) => {
    const { rows } = await client.query<{ pid: number }>(`
      select pid, pg_terminate_backend(pid)
        from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
    const left = () =>
      client.query('select from pg_stat_activity where pid = any ($1)', [rows.map(({ pid }) => pid)])
    await expect.poll(async () => (await left()).rowCount, { timeout: 5_000 }).toBe(0)
  }, shop.database.superuserUrl)
}

async function scans() {
  const { rows } = await asSuperuser(
    (client) =>
      client.query<{ name: string; whole: string; rows: number }>(
        'select relname as name, seq_scan as whole, n_tup_ins::integer as rows from pg_stat_user_tables',
      ),
    shop.database.superuserUrl,
  )
  return new Map(rows.map(({ name, ...counts }) => [name, counts]))
}
