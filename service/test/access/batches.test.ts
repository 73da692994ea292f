import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'

/** Each run compares up to 16 requests. */
const RUNS = process.env.SHOPWIRE_LONG ? 6_000 : 150
const REQUESTS_MAX = 5
const ORDERS_MAX = 3
const KEY = 'key_c1_0000000000000000000000000a'
const WINDOW_MS = 60_000
/** How far the clock moves between the two ways to ask. */
const TOLERANCE_MS = 2_000

interface Row {
  verdict: string | null
  requests_used: number | null
  requests_oldest_ms: number | null
  orders_used: number | null
  orders_oldest_ms: number | null
  wait_ms: number | null
}

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await openTestDatabase()
  client = new pg.Client({ connectionString: database.superuserUrl })
  await client.connect()
  await client.query('select from admission_memory_check()')
  // An hour ago: until two minutes after a loss everything goes one by one.
  await client.query('update admission_memory set lost_at = floor(extract(epoch from now())) - 3600')
})
afterAll(async () => {
  await client.end()
  await database.close()
})

/** Ages in ms, oldest first; none so close to the end of the window that it leaves it during the comparison. */
const ages = (max: number) =>
  fc
    .array(
      fc.oneof(
        fc.integer({ min: 1, max: WINDOW_MS - 5_000 }),
        fc.integer({ min: WINDOW_MS + 1, max: 2 * WINDOW_MS }),
      ),
      { maxLength: max },
    )
    .map((all) => all.sort((a, b) => b - a))
const situation = fc.record({
  hasWindow: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
  requestAges: ages(REQUESTS_MAX + 2),
  orderAges: ages(ORDERS_MAX + 1),
  refusedAgeMs: fc.constantFrom(1_000, 30_000, 90_000),
  refusedCount: fc.constantFrom(0, 0, 1, REQUESTS_MAX - 1, REQUESTS_MAX, REQUESTS_MAX + 1),
  refusedTo: fc.constantFrom('long ago' as const, 'long ago' as const, 'just now' as const),
  isOrder: fc.boolean(),
  isCurrent: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  isSpent: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  signed: fc.constantFrom(
    'now' as const,
    'now' as const,
    'now' as const,
    'ahead' as const,
    'long ago' as const,
  ),
})
type Situation = typeof situation extends fc.Arbitrary<infer Value> ? Value : never

const STATE = `
  select w.account_id, cardinality(w.requests) as requests, cardinality(w.orders) as orders, w.refused_count,
         w.requests_refused_to, w.orders_refused_to,
         (select count(*) from spent_nonces s where s.account_id = w.account_id) as spent
    from admission_windows w
   where w.account_id = any ($1)
   order by w.account_id`

async function setUp(situations: readonly Situation[], nowMs: number) {
  const ids = situations.map((_, n) => `acc_model${String(n).padStart(2, '0')}`)
  await client.query(
    `insert into accounts (id, name, created_at, access_version) select id, 'Model', now(), 1 from unnest($1::text[]) id`,
    [ids],
  )
  const signed_ats = situations.map(({ signed }) => {
    const nowS = Math.floor(nowMs / 1000)
    return { now: nowS, ahead: nowS + 100, 'long ago': nowS - 7_200 }[signed]
  })
  for (const [n, one] of situations.entries()) {
    const refusedTo = one.refusedTo === 'just now' ? (signed_ats[n] ?? 0) + 1 : 0
    if (one.hasWindow) {
      await client.query(
        `insert into admission_windows
           (account_id, requests, orders, refused_since, refused_count, requests_refused_to, orders_refused_to)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          ids[n],
          one.requestAges.map((ms) => nowMs - ms),
          one.orderAges.map((ms) => nowMs - ms),
          nowMs - one.refusedAgeMs,
          one.refusedCount,
          one.isOrder ? 0 : refusedTo,
          one.isOrder ? refusedTo : 0,
        ],
      )
    }
    if (one.isSpent) {
      await client.query(
        'insert into spent_nonces (account_id, key_id, nonce, signed_at) values ($1, $2, $3, $4)',
        [ids[n], KEY, 'nonce', signed_ats[n]],
      )
    }
  }
  return { ids, signed_ats, versions: situations.map(({ isCurrent }) => (isCurrent ? 1 : 2)) }
}

test('a batch decides and counts what the same requests one by one would have, or leaves them alone', async () => {
  const seen = new Map<string, number>()
  const property = fc.asyncProperty(
    fc.array(situation, { minLength: 1, maxLength: 16 }),
    async (situations) => {
      const nowMs = Date.now()
      await client.query('begin')
      try {
        const { ids, signed_ats, versions } = await setUp(situations, nowMs)
        const areOrders = situations.map(({ isOrder }) => isOrder)
        await client.query('savepoint asked')
        const single: Row[] = []
        for (const [n, id] of ids.entries()) {
          const { rows } = await client.query<Row>(
            `select verdict, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms
             from admit($1, $2, 'nonce', $3, $4, $5, $6, $7)`,
            [id, KEY, signed_ats[n], versions[n], areOrders[n], REQUESTS_MAX, ORDERS_MAX],
          )
          single.push(rows[0] as Row)
        }
        const stateAfter = async () =>
          new Map((await client.query(STATE, [ids])).rows.map((row) => [row.account_id, row]))
        const expected = await stateAfter()
        await client.query('rollback to savepoint asked')
        const before = await stateAfter()
        const { rows } = await client.query<Row>(
          `select t.verdict, t.requests_used, t.requests_oldest_ms, t.orders_used, t.orders_oldest_ms, t.wait_ms
           from admit_many($1, $2, $3, $4, $5, $6, $7, $8) m
          cross join lateral unnest(m.verdicts, m.requests_used, m.requests_oldest_ms, m.orders_used, m.orders_oldest_ms, m.wait_ms)
                as t (verdict, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms)`,
          [
            ids,
            ids.map(() => KEY),
            ids.map(() => 'nonce'),
            signed_ats,
            versions,
            areOrders,
            REQUESTS_MAX,
            ORDERS_MAX,
          ],
        )
        const actual = await stateAfter()
        expect(rows).toHaveLength(ids.length)
        for (const [n, row] of rows.entries()) {
          const id = ids[n] as string
          const verdict = row.verdict ?? 'alone'
          seen.set(verdict, (seen.get(verdict) ?? 0) + 1)
          if (row.verdict === null) {
            expect(actual.get(id)).toEqual(before.get(id))
            continue
          }
          const alone = single[n] as Row
          expect(row.verdict).toBe(alone.verdict)
          expect(actual.get(id)).toEqual(expected.get(id))
          if (row.verdict !== 'admitted' && row.verdict !== 'limited') continue
          expect([row.requests_used, row.orders_used]).toEqual([alone.requests_used, alone.orders_used])
          for (const name of ['requests_oldest_ms', 'orders_oldest_ms', 'wait_ms'] as const) {
            expect(Math.abs((row[name] ?? Number.NaN) - (alone[name] ?? Number.NaN))).toBeLessThan(
              TOLERANCE_MS,
            )
          }
        }
      } finally {
        await client.query('rollback')
      }
    },
  )
  await fc.assert(property, { numRuns: RUNS })
  expect([...seen.keys()].sort()).toEqual([
    'admitted',
    'alone',
    'changed',
    'forgotten',
    'limited',
    'replayed',
  ])
})

test('a window that somebody else holds is left alone, and the others are admitted without waiting', async () => {
  const ids = ['acc_held', 'acc_free']
  await client.query(
    `insert into accounts (id, name, created_at, access_version) select id, 'Held', now(), 1 from unnest($1::text[]) id`,
    [ids],
  )
  await client.query('insert into admission_windows (account_id) select a from unnest($1::text[]) a', [ids])
  const holder = new pg.Client({ connectionString: database.superuserUrl })
  await holder.connect()
  await holder.query('begin')
  await holder.query(`select from admission_windows where account_id = 'acc_held' for update`)
  const asked = client.query(`select verdicts from admit_many($1, $2, $3, $4, $5, $6, 120, 20)`, [
    ids,
    [KEY, KEY],
    ['a', 'b'],
    ids.map(() => Math.floor(Date.now() / 1000)),
    [1, 1],
    [false, false],
  ])
  const first = await Promise.race([asked, sleep(5_000)])
  expect(first).toMatchObject({ rows: [{ verdicts: [null, 'admitted'] }] })
  await holder.query('rollback')
  await holder.end()
})
