import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sql } from '../../../src/platform/database/db.ts'
import { createRemovalLimit, type Removal, readRemovals } from '../../../src/platform/jobs/removal-limit.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { runAdminOn } from '../../../testing/admin.ts'
import { openShop, type Shop } from '../../../testing/shop.ts'

let shop: Shop
let lines: string[]
let limit: ReturnType<typeof createRemovalLimit>
let metrics: ReturnType<typeof createMetrics>
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())
beforeEach(async () => {
  await shop.database.asOwner(
    `update removals set held_at = null, is_released = false, window_count = 0, window_started_at = now()`,
  )
  lines = []
  metrics = createMetrics('test')
  limit = createRemovalLimit(shop.database.worker, {
    log: createLog('info', { write: (line) => void lines.push(line) }),
    metrics,
  })
})

/** A heap from which chunks are removed, until it is empty or the limit is reached. */
async function removeAll(kind: Removal, heap: { left: number }, chunk = 1_000): Promise<void> {
  const work = async () => {
    const removed = Math.min(chunk, heap.left)
    heap.left -= removed
    return { removed, isMore: heap.left > 0 }
  }
  while (await limit.remove(kind, chunk, work));
}
const stateOf = async (kind: Removal) =>
  (await readRemovals(shop.database.operator)).find((row) => row.kind === kind)
const isHeld = async (kind: Removal) =>
  (await metrics.registry.metrics()).includes(`shopwire_removals_held{kind="${kind}"} 1`)

test('threat 75: more than 10,000 in an hour is held until an operator releases it, who lets all of it go', async () => {
  const heap = { left: 25_500 }
  await removeAll('events', heap)
  expect(heap.left).toBe(15_500)
  expect(await stateOf('events')).toMatchObject({
    held_at: expect.any(Date),
    removed: 10_000,
    per_hour_max: 10_000,
  })
  await removeAll('events', heap)
  expect(heap.left).toBe(15_500)
  expect(await isHeld('events')).toBe(true)
  expect(lines.join('')).toContain('shopwire-admin removals release events')
  expect((await runAdminOn(shop, 'removals', 'show')).out).toMatch(/events +10000 +10000 +STOPPED since/)
  expect((await runAdminOn(shop, 'removals', 'release', 'events')).code).toBe(2)
  const released = await runAdminOn(shop, 'removals', 'release', 'events', '--reason', 'looked')
  expect(released).toMatchObject({ code: 0, out: expect.stringContaining('until nothing is left') })
  await removeAll('events', heap)
  expect(heap.left).toBe(0)
  expect(await isHeld('events')).toBe(false)
  // The release ends with the heap.
  expect(await stateOf('events')).toMatchObject({ held_at: null, is_released: false })
  const another = { left: 25_000 }
  await removeAll('events', another)
  expect(another.left).toBeGreaterThan(0)
})

test('what is removed in small numbers is never held, and does not count what it did not remove', async () => {
  for (let minute = 0; minute < 30; minute += 1) await removeAll('links', { left: 7 })
  expect(await stateOf('links')).toMatchObject({ held_at: null, removed: 210 })
})

test('exactly the limit, and nothing left: not held', async () => {
  const heap = { left: 10_000 }
  await removeAll('evidence', heap)
  expect(heap.left).toBe(0)
  expect(await stateOf('evidence')).toMatchObject({ held_at: null, removed: 10_000 })
})

test('the limit rises with what a store makes in an hour; an hour later it counts anew', async () => {
  await shop.database.asOwner(`
    insert into events (account_id, id, type, created_at)
    select '${shop.account.id}', 'evt_rate_' || lpad(n::text, 6, '0'), 'test', now() - interval '10 hours' + n * interval '0.5 s'
      from generate_series(1, 51700) n;
    analyze events`)
  // 5,170 an hour, and less as time goes on: far enough from whole chunks that it stays between the same two.
  const { per_hour_max } = (await stateOf('events')) ?? { per_hour_max: 0 }
  expect(per_hour_max).toBeGreaterThan(15_200)
  expect(per_hour_max).toBeLessThan(15_800)
  const heap = { left: 50_000 }
  await removeAll('events', heap)
  const chunks = 15_000
  expect(heap.left).toBe(50_000 - chunks)
  await shop.database.asOwner(`
    update removals set held_at = null, window_started_at = now() - interval '61 minutes' where kind = 'events'`)
  await removeAll('events', heap)
  expect(heap.left).toBe(50_000 - 2 * chunks)
  await shop.database.asOwner(`delete from events where id like 'evt_rate_%'; analyze events`)
})

test('of the journal three days of files go at a time', async () => {
  const heap = { left: 30 }
  await removeAll('journal', heap, 1)
  expect(heap.left).toBe(27)
  expect(await stateOf('journal')).toMatchObject({ held_at: expect.any(Date), per_hour_max: 3 })
})

test('several workers at once remove no more than the limit', async () => {
  const heap = { left: 100_000 }
  await Promise.all(Array.from({ length: 8 }, () => removeAll('links', heap)))
  expect(100_000 - heap.left).toBe(10_000)
  const { n } = await shop.database.owner.one<{ n: number }>(sql`
    select count(*)::integer as n from removals where held_at is not null`)
  expect(n).toBe(1)
})
