import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sql } from '../../src/platform/database/db.ts'
import { recordEvent } from '../../src/webhooks/events.ts'
import { deleteOldEvents, EVENTS_CHUNK } from '../../src/webhooks/retention.ts'
import { openShop, type Shop, type TestKey } from '../../testing/shop.ts'

const DAY_MS = 86_400_000

let shop: Shop
let key: TestKey
let account_id: string
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())
beforeEach(async () => {
  account_id = (await shop.operator.createAccount('Receiver')).id
  key = await shop.makeKey(undefined, account_id)
  const body = JSON.stringify({ url: 'https://93.184.216.34/hook' })
  expect((await shop.call('POST', '/v1/webhook', { key, body })).status).toBe(200)
})

/** Inserts an event of this many days ago. */
const record = (daysAgo: number) =>
  shop.database.worker.transaction((tx) =>
    recordEvent(tx, { account_id, type: 'test' }, Date.now() - daysAgo * DAY_MS),
  )
const settle = (state: string) =>
  shop.database.owner.run(sql`
    update deliveries
       set state = ${state}, attempts = 1, done_at = now()
     where account_id = ${account_id}`)
const count = () =>
  shop.database.owner.one<{ events: number; deliveries: number }>(sql`
    select (select count(*) from events where account_id = ${account_id}) as events,
           (select count(*) from deliveries where account_id = ${account_id}) as deliveries`)
const deleteOld = async () =>
  (await deleteOldEvents(shop.database.worker, new Date(Date.now() - 90 * DAY_MS))).removed

test('events past their retention are deleted with deliveries and attempts; newer ones stay', async () => {
  await record(91)
  await record(89)
  await settle('delivered')
  await shop.database.owner.run(sql`
    insert into delivery_attempts (account_id, endpoint_id, event_id, round, n, started_at, finished_at, status)
    select account_id, endpoint_id, event_id, 1, 1, now(), now(), 200 from deliveries where account_id = ${account_id}`)
  expect(await deleteOld()).toBe(1)
  expect(await count()).toEqual({ events: 1, deliveries: 1 })
  expect(await deleteOld()).toBe(0)
  const { kept_since } = await shop.database.owner.one<{ kept_since: Date }>(
    sql`select kept_since from event_retention`,
  )
  // Up to what was deleted, not further.
  expect(Math.round((Date.now() - kept_since.getTime()) / DAY_MS)).toBe(91)
})

test('an event with a pending delivery stays, however old', async () => {
  await record(400)
  expect(await deleteOld()).toBe(0)
  expect(await count()).toEqual({ events: 1, deliveries: 1 })
  await settle('failed')
  expect(await deleteOld()).toBe(1)
})

test('several concurrent workers delete everything once, in chunks', async () => {
  await shop.database.owner.run(sql`
    insert into events (account_id, id, type, created_at)
    select ${account_id}, 'evt_old_' || n, 'test', now() - interval '200 days' from generate_series(1, ${EVENTS_CHUNK + 5}) n`)
  let removed = 0
  for (let n = 0; n < 4; n += 1) {
    const parts = await Promise.all([deleteOld(), deleteOld(), deleteOld()])
    expect(Math.max(...parts)).toBeLessThanOrEqual(EVENTS_CHUNK)
    removed += parts.reduce((sum, part) => sum + part, 0)
  }
  expect(removed).toBe(EVENTS_CHUNK + 5)
})
