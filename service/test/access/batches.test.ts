import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../testing/database.ts'

/** Each run asks for up to 16 requests, in two ways. */
const RUNS = process.env.SHOPWIRE_LONG ? 6_000 : 150
const REQUESTS_MAX = 5
const ORDERS_MAX = 3
const KEY = 'key_c1_0000000000000000000000000a'
const WINDOW_MS = 60_000
/** After a loss of nonces, all of them are stored durably for this long. */
const USABLE_S = 120
/** How far the clock moves while a request is asked for. */
const TOLERANCE_MS = 2_000

interface Row {
  verdict: string
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
  /** The clock was ahead when the last request was counted. */
  isClockBehind: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  refusedAgeMs: fc.constantFrom(1_000, 30_000, 90_000),
  refusedCount: fc.constantFrom(0, 0, 1, REQUESTS_MAX - 1, REQUESTS_MAX, REQUESTS_MAX + 1),
  refusedTo: fc.constantFrom('long ago' as const, 'long ago' as const, 'just now' as const),
  witnessed: fc.constantFrom('nothing' as const, 'nothing' as const, 'nonce' as const, 'refusal' as const),
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

/** What is stored about one account, and the answer to its request. */
interface State {
  requests: number
  orders: number
  refused_count: number
  requests_refused_to: number
  orders_refused_to: number
  spent: number
  witnessed: number
  witnessed_refusal: number
}
interface Expected {
  verdict: string
  state: State
  used?: [requests: number, orders: number]
  waitMs?: number
}

const timesOf = (one: Situation, nowMs: number) => {
  const requests = one.requestAges.map((ms) => nowMs - ms)
  if (one.isClockBehind && requests.length > 0) requests[requests.length - 1] = nowMs + WINDOW_MS
  return { requests, orders: one.orderAges.map((ms) => nowMs - ms) }
}
const signedAt = ({ signed }: Situation, nowMs: number) =>
  Math.floor(nowMs / 1000) + { now: 0, ahead: 100, 'long ago': -7_200 }[signed]
const refusedToOf = (one: Situation, nowMs: number) =>
  one.hasWindow && one.refusedTo === 'just now' ? signedAt(one, nowMs) + 1 : 0

/** The rules of admission for one request, without SQL or locks. */
function expectedOf(one: Situation, nowMs: number, isRecentLoss: boolean, mayWait: boolean): Expected {
  const signed_at = signedAt(one, nowMs)
  const times = one.hasWindow ? timesOf(one, nowMs) : { requests: [], orders: [] }
  const refusedField = one.isOrder ? 'orders_refused_to' : 'requests_refused_to'
  const refusedBefore = one.witnessed === 'refusal' ? signed_at : 0
  const isHeld = one.hasWindow || mayWait
  const before: State = {
    requests: times.requests.length,
    orders: times.orders.length,
    refused_count: one.hasWindow ? one.refusedCount : 0,
    requests_refused_to: 0,
    orders_refused_to: 0,
    // A refusal from before the loss is put back as soon as the windows are held.
    [refusedField]: Math.max(refusedToOf(one, nowMs), isRecentLoss && isHeld ? refusedBefore : 0),
    spent: one.isSpent ? 1 : 0,
    witnessed: one.witnessed === 'nonce' ? 1 : 0,
    witnessed_refusal: refusedBefore,
  }
  if (!one.isCurrent) return { verdict: 'changed', state: before }
  if (one.signed === 'long ago') return { verdict: 'forgotten', state: before }
  if (!isHeld) return { verdict: 'busy', state: before }

  const inWindow = (all: number[]) =>
    all.map((ms) => Math.min(ms, nowMs)).filter((ms) => ms > nowMs - WINDOW_MS)
  const requests = inWindow(times.requests)
  const orders = inWindow(times.orders)
  const waitFor = (all: number[], max: number) =>
    all.length < max ? 0 : (all[all.length - max] as number) + WINDOW_MS - nowMs
  const waitMs = Math.max(waitFor(requests, REQUESTS_MAX), one.isOrder ? waitFor(orders, ORDERS_MAX) : 0)
  const refusals = one.hasWindow && one.refusedAgeMs < WINDOW_MS ? one.refusedCount : 0
  const refusedTo = before[refusedField]
  const mustSurvive = one.signed === 'ahead' || isRecentLoss
  const isUsed = one.isSpent || (mustSurvive && one.witnessed === 'nonce')
  const used = [requests.length, orders.length] as [number, number]

  if (signed_at <= refusedTo || (waitMs > 0 && refusals >= REQUESTS_MAX)) {
    if (isUsed) return { verdict: 'replayed', state: before }
    const latest = Math.max(refusedTo, signed_at)
    const state = { ...before }
    if (signed_at > refusedTo) {
      state[refusedField] = signed_at
      if (mustSurvive) state.witnessed_refusal = signed_at
    }
    return { verdict: 'limited', state, used, waitMs: Math.max(waitMs, (latest - signed_at + 1) * 1_000) }
  }
  if (isUsed) return { verdict: 'replayed', state: before }
  const stored = { ...before, spent: 1, witnessed: mustSurvive ? 1 : before.witnessed }
  if (waitMs > 0)
    return { verdict: 'limited', state: { ...stored, refused_count: refusals + 1 }, used, waitMs }
  const after: [number, number] = [requests.length + 1, orders.length + (one.isOrder ? 1 : 0)]
  return {
    verdict: 'admitted',
    state: { ...stored, requests: after[0], orders: after[1] },
    used: after,
    waitMs: 0,
  }
}

const STATE = `
  select coalesce(cardinality(w.requests), 0) as requests, coalesce(cardinality(w.orders), 0) as orders,
         coalesce(w.refused_count, 0) as refused_count,
         coalesce(w.requests_refused_to, 0)::float8 as requests_refused_to, coalesce(w.orders_refused_to, 0)::float8 as orders_refused_to,
         (select count(*)::integer from spent_nonces s where s.account_id = a.id) as spent,
         (select count(*)::integer from witnessed_nonces s where s.account_id = a.id) as witnessed,
         (select coalesce(max(refused_to), 0)::float8 from witnessed_refusals s where s.account_id = a.id) as witnessed_refusal
    from accounts a
    left join admission_windows w on w.account_id = a.id
   where a.id = any ($1)
   order by a.id`

async function setUp(situations: readonly Situation[], nowMs: number, lossAgeS: number): Promise<string[]> {
  const ids = situations.map((_, n) => `acc_model${String(n).padStart(2, '0')}`)
  await client.query('update admission_memory set lost_at = $1', [Math.floor(nowMs / 1000) - lossAgeS])
  await client.query(
    `insert into accounts (id, name, created_at, access_version) select id, 'Model', now(), 1 from unnest($1::text[]) id`,
    [ids],
  )
  for (const [n, one] of situations.entries()) {
    const id = ids[n] as string
    const signed_at = signedAt(one, nowMs)
    if (one.hasWindow) {
      const { requests, orders } = timesOf(one, nowMs)
      const refusedTo = refusedToOf(one, nowMs)
      await client.query(
        `insert into admission_windows
           (account_id, requests, orders, refused_since, refused_count, requests_refused_to, orders_refused_to)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          id,
          requests,
          orders,
          nowMs - one.refusedAgeMs,
          one.refusedCount,
          one.isOrder ? 0 : refusedTo,
          one.isOrder ? refusedTo : 0,
        ],
      )
    }
    for (const [table, isThere] of [
      ['spent_nonces', one.isSpent],
      ['witnessed_nonces', one.witnessed === 'nonce'],
    ] as const) {
      if (isThere)
        await client.query(
          `insert into ${table} (account_id, key_id, nonce, signed_at) values ($1, $2, $3, $4)`,
          [id, KEY, 'nonce', signed_at],
        )
    }
    if (one.witnessed === 'refusal')
      await client.query(
        'insert into witnessed_refusals (account_id, is_order, refused_to) values ($1, $2, $3)',
        [id, one.isOrder, signed_at],
      )
  }
  return ids
}

const ADMIT = `
  select t.verdict, t.requests_used, t.requests_oldest_ms, t.orders_used, t.orders_oldest_ms, t.wait_ms
    from admit_many($1, $2, $3, $4, $5, $6, $7, $8, $9) m
   cross join lateral unnest(m.verdicts, m.requests_used, m.requests_oldest_ms, m.orders_used, m.orders_oldest_ms, m.wait_ms)
         as t (verdict, requests_used, requests_oldest_ms, orders_used, orders_oldest_ms, wait_ms)`

test('requests get the verdicts of the model, alone and together, and what it says is stored', async () => {
  const seen = new Set<string>()
  const property = fc.asyncProperty(
    fc.array(situation, { minLength: 1, maxLength: 16 }),
    fc.constantFrom(60, 3_600),
    async (situations, lossAgeS) => {
      const nowMs = Date.now()
      await client.query('begin')
      try {
        const ids = await setUp(situations, nowMs, lossAgeS)
        const ask = async (mayWait: boolean, asked: readonly number[]) => {
          const of = <Value>(value: (one: Situation) => Value) =>
            asked.map((n) => value(situations[n] as Situation))
          const { rows } = await client.query<Row>(ADMIT, [
            mayWait,
            asked.map((n) => ids[n]),
            of(() => KEY),
            of(() => 'nonce'),
            of((one) => signedAt(one, nowMs)),
            of(({ isCurrent }) => (isCurrent ? 1 : 2)),
            of(({ isOrder }) => isOrder),
            REQUESTS_MAX,
            ORDERS_MAX,
          ])
          return rows
        }
        const all = ids.map((_, n) => n)
        const alone = async () => {
          const rows: Row[] = []
          for (const n of all) rows.push(...(await ask(true, [n])))
          return rows
        }
        await client.query('savepoint asked')
        for (const [mayWait, work] of [
          [true, alone],
          [false, () => ask(false, all)],
        ] as const) {
          await client.query('rollback to savepoint asked')
          const rows = await work()
          const states = (await client.query<State>(STATE, [ids])).rows
          expect(rows).toHaveLength(ids.length)
          for (const [n, row] of rows.entries()) {
            const isRecentLoss = lossAgeS < USABLE_S
            const expected = expectedOf(situations[n] as Situation, nowMs, isRecentLoss, mayWait)
            expect({ verdict: row.verdict, state: states[n] }).toEqual({
              verdict: expected.verdict,
              state: expected.state,
            })
            seen.add(row.verdict)
            if (!expected.used) continue
            expect([row.requests_used, row.orders_used]).toEqual(expected.used)
            expect(Math.abs((row.wait_ms ?? Number.NaN) - (expected.waitMs ?? 0))).toBeLessThan(TOLERANCE_MS)
          }
        }
      } finally {
        await client.query('rollback')
      }
    },
  )
  await fc.assert(property, { numRuns: RUNS })
  expect([...seen].sort()).toEqual(['admitted', 'busy', 'changed', 'forgotten', 'limited', 'replayed'])
})

test.each([
  [
    'an account twice in one call: one of its requests would not be counted',
    false,
    ['acc_twice', 'acc_twice'],
  ],
  [
    'a call for several accounts that may wait: one would make the others wait',
    true,
    ['acc_one', 'acc_other'],
  ],
])('%s: refused', async (_what, mayWait, ids) => {
  const nowS = Math.floor(Date.now() / 1000)
  const values = [mayWait, ids, [KEY, KEY], ['a', 'b'], [nowS, nowS], [1, 1], [false, false], 120, 20]
  await expect(client.query(ADMIT, values)).rejects.toMatchObject({ code: '22023' })
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
  const asked = client.query(`select verdicts from admit_many(false, $1, $2, $3, $4, $5, $6, 120, 20)`, [
    ids,
    [KEY, KEY],
    ['a', 'b'],
    ids.map(() => Math.floor(Date.now() / 1000)),
    [1, 1],
    [false, false],
  ])
  const first = await Promise.race([asked, sleep(5_000)])
  expect(first).toMatchObject({ rows: [{ verdicts: ['busy', 'admitted'] }] })
  await holder.query('rollback')
  await holder.end()
})
