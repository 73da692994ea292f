import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createKeyUsage, deleteOldUsage } from '../../src/access/key-usage.ts'
import { type Queryable, sql } from '../../src/platform/database/db.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'

const HOUR_MS = 3_600_000
const NOW = Date.parse('2026-03-04T10:30:00.000Z')
const who = { account_id: 'acct_1', key_id: 'key_1' }
const from = (address: string) =>
  ({ socket: { remoteAddress: address }, headers: {} }) as unknown as IncomingMessage
const addressOf = (request: IncomingMessage) => String(request.socket.remoteAddress)

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => database.asOwner('truncate key_usage, key_last_uses'))

const usageOn = (db: Queryable, keysMax?: number) =>
  createKeyUsage(db, { addressOf, log: createLog('silent'), ...(keysMax && { keysMax }) })
const hours = () =>
  database.owner.many<object>(sql`
    select key_id, hour, requests, orders, last_address
      from key_usage
     order by key_id, hour`)

describe('the usage of keys', () => {
  test('two processes that count the same key at once add up, and the last address is the latest', async () => {
    const processes = [usageOn(database.api), usageOn(database.api)] as const
    for (let round = 0; round < 5; round += 1) {
      for (const [n, usage] of processes.entries()) {
        for (let times = 0; times < 10; times += 1)
          usage.request(who, from(`192.0.2.${n}`), NOW + round * 10 + n)
        usage.order(who, from(`192.0.2.${n}`), NOW + round * 10 + n)
      }
      await Promise.all(processes.map((usage) => usage.flush()))
    }
    expect(await hours()).toEqual([
      {
        key_id: 'key_1',
        hour: new Date('2026-03-04T10:00:00Z'),
        requests: 100,
        orders: 10,
        last_address: '192.0.2.1',
      },
    ])
  })

  test('requests before and after the full hour are counted in their own hours', async () => {
    const usage = usageOn(database.api)
    usage.request(who, from('192.0.2.1'), NOW)
    usage.request(who, from('192.0.2.1'), NOW + HOUR_MS)
    usage.request(who, from('192.0.2.2'), NOW)
    await usage.flush()
    expect(await hours()).toMatchObject([{ requests: 2 }, { requests: 1 }])
    const [last] = await database.owner.many(sql`select last_used_at, last_address from key_last_uses`)
    expect(last).toEqual({ last_used_at: new Date(NOW + HOUR_MS), last_address: '192.0.2.1' })
  })

  test('the first quote of a key is written down, and later ones change nothing', async () => {
    const firstQuote = async () =>
      (await database.owner.one<{ at: Date | null }>(sql`select first_quote_at as at from key_last_uses`)).at
    const [one, other] = [usageOn(database.api), usageOn(database.api)]
    one.request(who, from('192.0.2.1'), NOW + 5)
    await one.flush()
    expect(await firstQuote()).toBeNull()
    // Of another process, written after a later request was.
    other.quote(who, from('192.0.2.2'), NOW)
    other.quote(who, from('192.0.2.2'), NOW + 1)
    await other.flush()
    expect(await firstQuote()).toEqual(new Date(NOW))
    one.quote(who, from('192.0.2.1'), NOW + HOUR_MS)
    await one.flush()
    expect(await firstQuote()).toEqual(new Date(NOW))
    const [last] = await database.owner.many(sql`select last_used_at, last_address from key_last_uses`)
    expect(last).toEqual({ last_used_at: new Date(NOW + HOUR_MS), last_address: '192.0.2.1' })
  })

  test('while the database is away counts wait; the last ones are written at the stop', async () => {
    let isAway = true
    const run = ((statement) =>
      isAway
        ? Promise.reject(new Unavailable('database', new Error('away')))
        : database.api.run(statement)) as Queryable['run']
    const usage = usageOn({ ...database.api, run })
    usage.request(who, from('192.0.2.1'), NOW)
    await usage.flush()
    usage.request(who, from('192.0.2.1'), NOW)
    await usage.flush()
    expect(await hours()).toEqual([])
    isAway = false
    usage.request(who, from('192.0.2.1'), NOW)
    await usage.stop()
    expect(await hours()).toMatchObject([{ requests: 3 }])
  })

  test('keys beyond the limit are not counted, and memory stays bounded', async () => {
    const usage = usageOn(database.api, 10)
    for (let n = 0; n < 100; n += 1) usage.request({ ...who, key_id: `key_${n}` }, from('192.0.2.1'), NOW)
    await usage.flush()
    expect(await hours()).toHaveLength(10)
  })

  test('old hours are deleted; the last use of the key stays', async () => {
    const usage = usageOn(database.api)
    usage.request(who, from('192.0.2.1'), NOW)
    usage.request(who, from('192.0.2.1'), NOW + 2 * HOUR_MS)
    await usage.flush()
    expect(await deleteOldUsage(database.worker, new Date(NOW + HOUR_MS))).toBe(1)
    expect(await deleteOldUsage(database.worker, new Date(NOW + 10 * HOUR_MS))).toBe(1)
    expect(await hours()).toEqual([])
    expect(await database.owner.many(sql`select key_id from key_last_uses`)).toEqual([{ key_id: 'key_1' }])
  })

  test("the dashboard's role reads its own account's usage and changes none", async () => {
    const usage = usageOn(database.api)
    usage.request(who, from('192.0.2.1'), NOW)
    await usage.flush()
    const dashboard = database.dashboard
    const seenBy = (account_id: string) =>
      dashboard.transaction(async (tx) => {
        await tx.run(sql`select set_config('shopwire.account_id', ${account_id}, true)`)
        return tx.many(sql`select key_id from key_usage`)
      })
    expect(await seenBy('acct_1')).toHaveLength(1)
    expect(await seenBy('acct_2')).toEqual([])
    await expect(dashboard.run(sql`delete from key_usage`)).rejects.toThrow('permission denied')
    await expect(dashboard.run(sql`update key_usage set requests = 0`)).rejects.toThrow('permission denied')
  })
})
