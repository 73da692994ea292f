import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXIT } from '../../src/admin/program.ts'
import { recordVerifyRun } from '../../src/operations/verify.ts'
import { recordHeartbeat } from '../../src/platform/jobs/worker-heartbeats.ts'
import { runAdminOn } from '../../testing/admin.ts'
import { itemOf, putItems, untilFollowed } from '../../testing/items.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const BY_HAND = '50000000000000008'
const POOLED = '50000000000000009'
const NOTHING_FOUND = { rule: 'M01', what: '', violations: 0, ids: [], ms: 1 }

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  const items = [itemOf(BY_HAND, {}), itemOf(POOLED, { name: 'Aurora Ring' })]
  await untilFollowed(shop.catalogue, await putItems(shop.database.operator, items))
})
afterAll(() => shop.close())
const status = (...args: string[]) => runAdminOn(shop, 'status', ...args)

test('status says that all is well, with exit code 0, and what it cannot know', async () => {
  await recordHeartbeat(shop.database.worker, 'one')
  await recordVerifyRun(shop.database.operator, [NOTHING_FOUND], Date.now())
  const { code, out } = await status()
  expect(out).toMatch(/^Store +open$/m)
  expect(out).toMatch(/^Workers +1$/m)
  expect(out).toMatch(/^Waiting +no order$/m)
  expect(out).toMatch(/^Verified +20.* UTC, all rules hold$/m)
  expect(out).toMatch(/^Backups +not known$/m)
  expect(out).toMatch(/^All is well\.$/m)
  expect(code).toBe(EXIT.ok)
  expect(out.split('\n').length).toBeLessThan(24)
})

test('status names what needs a person, with the command, and exits with 1; --json has the same', async () => {
  await shop.operator.chooseSource(POOLED, { source: 'pool', warn_below: 5 })
  await shop.operator.loadPool(POOLED, ['https://gift.example/1'])
  for (const key of ['first-order', 'second-order']) {
    const body = JSON.stringify({ items: [{ id: BY_HAND }], idempotency_key: key })
    expect((await shop.call('POST', '/v1/orders', { body })).status).toBe(201)
  }
  await shop.database.asOwner(
    `update jobs set note = 'item ${BY_HAND}: 1 to be delivered by hand', run_at = 'infinity'; delete from worker_heartbeats`,
  )
  await shop.operator.setStore(false, 'stock-taking')
  const { code, out, err } = await status()
  expect(code).toBe(EXIT.failed)
  expect(err).toContain('3 things need attention')
  expect(out).toMatch(/^Store +CLOSED: stock-taking$/m)
  expect(out).toMatch(/^Workers +NONE/m)
  expect(out).toMatch(/^ +2 {2}to be delivered by hand$/m)
  expect(out).toMatch(/^ +1 {2}50000000000000009 Aurora Ring$/m)
  expect(out).toContain('1 pool low: pool levels --low')
  const { json } = await status('--json')
  expect(json()).toMatchObject({
    ok: false,
    attention: [expect.stringContaining('store show'), expect.anything(), expect.anything()],
    waiting: { orders: 2, causes: [{ cause: 'to be delivered by hand', orders: 2 }] },
    pools: { low: 1, empty: 0 },
    backups: null,
  })
})
