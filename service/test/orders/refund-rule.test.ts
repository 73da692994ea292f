import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { createRefundRule } from '../../src/orders/fulfilment/refund-rule.ts'
import { sql } from '../../src/platform/database/db.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { timeInId } from '../../src/platform/text/ids.ts'
import { createMetrics } from '../../src/programs/metrics.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const ITEM = '10000000000000001'
const HOUR_MS = 3_600_000

let shop: Shop
let placed = 0
beforeAll(async () => {
  shop = await openShop()
  await putItems(shop.database.operator, [itemOf(ITEM, { price_cents: 1 })])
})
afterAll(() => shop.close())
beforeEach(async () => {
  await shop.database.asOwner(`delete from jobs; update orders set status = 'cancelled', cancelled_at = now(), cancel_reason = 'x'
    where status = 'paid'; update refund_rule set per_hour_max = 100, window_count = 0, window_started_at = now(), held_at = null`)
  await shop.operator.setRefundRule({ cancel_after_ms: HOUR_MS })
})

/** Makes this many orders that are overdue. */
async function overdue(count: number) {
  for (let n = 0; n < count; n += 1) {
    placed += 1
    const request = { items: [{ id: ITEM }], idempotency_key: `overdue-${placed}` }
    await shop.operator.placeOrder(shop.account.id, request)
  }
  await shop.database.asOwner(`
    update orders set created_at = now() - interval '61 minutes' where status = 'paid';
    update jobs set attempts = 1;
    update refund_rule set working_since = now() - interval '2 hours', worked_at = now();
    update database_identity set confirmed_at = now() - interval '2 hours'`)
}
const waiting = async () =>
  (
    await shop.database.owner.one<{ count: number }>(
      sql`select count(*) as count from orders where status = 'paid'`,
    )
  ).count
const admin = (...args: string[]) => runAdminOn(shop, ...args)

/** The rule as one worker applies it. */
function worker({ monotonicMs = () => performance.now() } = {}) {
  const lines: string[] = []
  const metrics = createMetrics('test')
  const { database, vault } = shop
  const apply = createRefundRule({
    db: database.worker,
    vault,
    metrics,
    monotonicMs,
    log: createLog('info', { write: (line) => void lines.push(line) }),
  })
  return { apply, logged: () => lines.join(''), metrics: () => metrics.registry.metrics() }
}

test('of 250 overdue orders exactly 100 are refunded; the rest wait for an operator, 100 at a time', async () => {
  await overdue(250)
  const { apply, logged, metrics } = worker()
  expect(await apply()).toBe(100)
  expect(await waiting()).toBe(150)
  expect(await metrics()).toContain('shopwire_refund_rule_held 1')
  expect(logged()).toMatch(/"level":"?error.*reached its limit for one hour and stopped.*refunds release/)
  expect(await apply()).toBe(0)
  expect(await worker().apply()).toBe(0)
  expect((await admin('orders', 'waiting')).out).toMatch(/STOPPED since .* limit of 100 an hour/)
  expect((await admin('refunds', 'rule')).out).toContain('shopwire-admin refunds release')

  expect((await admin('refunds', 'release')).out).toContain('up to 100 orders')
  expect(await apply()).toBe(100)
  expect(await waiting()).toBe(50)
  expect((await admin('refunds', 'release')).code).toBe(EXIT.ok)
  expect(await apply()).toBe(50)
  expect(await metrics()).toContain('shopwire_refund_rule_held 0')
  expect((await admin('refunds', 'release')).code).toBe(EXIT.usage)
  const { json } = await admin('audit', '--target', 'refunds', '--json', '--limit', '2')
  expect(json().actions.map(({ action }: { action: string }) => action)).toEqual([
    'refunds.release',
    'refunds.release',
  ])
}, 60_000)

test('an order that nobody has tried to deliver is not refunded', async () => {
  await overdue(2)
  await shop.database.asOwner('update jobs set attempts = 0')
  expect(await worker().apply()).toBe(0)
})

test('after days without a worker nothing is refunded before the workers had the whole time', async () => {
  await overdue(20)
  await shop.database.asOwner(`update refund_rule set worked_at = now() - interval '2 days'`)
  const { apply } = worker()
  expect([await apply(), await apply()]).toEqual([0, 0])
  await shop.database.asOwner(`update refund_rule set working_since = now() - interval '61 minutes'`)
  expect(await apply()).toBe(20)
})

test('after the opening of a restored store nothing is refunded before the workers had the whole time', async () => {
  await overdue(1)
  await shop.database.asOwner(`update database_identity set confirmed_at = now() - interval '30 minutes'`)
  expect(await worker().apply()).toBe(0)
})

test('an order that was delivered in a time that a restore lost is not refunded, by hand only with a flag', async () => {
  await overdue(1)
  const { id } = await shop.database.owner.one<{ id: string }>(
    sql`select id from orders where status = 'paid'`,
  )
  await shop.database.owner.run(sql`
    insert into lost_links (hash, account_id, order_id, sold_at, found_at)
    values (sha256(${Buffer.from(id)}), ${shop.account.id}, ${id}, now(), now())`)
  expect(await worker().apply()).toBe(0)
  // Operators find it by its id, which begins with its time.
  await shop.database.owner.run(
    sql`update orders set created_at = ${new Date(Number(timeInId(id)))} where id = ${id}`,
  )
  const refused = await admin('orders', 'cancel', id, '--reason', 'test')
  expect(refused.err).toMatch(/in a time that a restore lost: its customer has the links/)
  expect(await waiting()).toBe(1)
  expect((await admin('orders', 'cancel', id, '--reason', 'test', '--although-delivered')).code).toBe(EXIT.ok)
  expect(await waiting()).toBe(0)
})

describe('with a limit of 3 an hour', () => {
  beforeEach(async () => {
    expect((await admin('refunds', 'rule', '--per-hour', '3')).out).toContain('up to 3 an hour')
    expect((await admin('refunds', 'rule', '--per-hour', '0')).code).toBe(EXIT.usage)
  })

  test('two concurrent workers refund 3 in total', async () => {
    await overdue(8)
    const refunded = await Promise.all([worker().apply(), worker().apply()])
    expect(refunded.reduce((sum, n) => sum + n, 0)).toBe(3)
  })

  test('exactly 3 in one hour do not stop the rule, and the next hour allows another 3', async () => {
    await overdue(3)
    let ownMs = 0
    const { apply } = worker({ monotonicMs: () => ownMs })
    expect(await apply()).toBe(3)
    ownMs += HOUR_MS
    await shop.database.asOwner(`update refund_rule set window_started_at = now() - interval '1 hour'`)
    await overdue(3)
    expect(await apply()).toBe(3)
    expect((await admin('refunds', 'rule')).out).not.toContain('STOPPED')
  })

  test('a database clock that steps an hour ahead after every refund allows no more than 3 in an hour of the process', async () => {
    await overdue(8)
    const { apply } = worker()
    await shop.database.asOwner(`create function jump() returns trigger language plpgsql as $$
      begin new.window_started_at := new.window_started_at - interval '2 hours'; return new; end $$;
      create trigger jump before update of window_count on refund_rule for each row execute function jump()`)
    try {
      expect(await apply()).toBe(3)
      expect((await admin('refunds', 'rule')).out).toContain('STOPPED')
    } finally {
      await shop.database.asOwner('drop function jump cascade')
    }
  })

  test('a clock step back does not start a new hour', async () => {
    await overdue(5)
    await shop.database.asOwner(
      `update refund_rule set window_started_at = now() + interval '3 days', window_count = 2`,
    )
    expect(await worker().apply()).toBe(1)
  })
})
