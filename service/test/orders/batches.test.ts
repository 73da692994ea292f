import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getAccount } from '../../src/accounts/account.ts'
import { INVARIANTS } from '../../src/installation.ts'
import { readRules, verifyData } from '../../src/operations/verify.ts'
import { placeInBatches } from '../../src/orders/placing/order-batches.ts'
import { callPlaceOrder, callPlaceOrders, type NewOrder, type Placed } from '../../src/orders/queries.ts'
import { MUST_WAIT } from '../../src/platform/batching/batched.ts'
import { type Db, isRolledBack, sql } from '../../src/platform/database/db.ts'
import { Unavailable } from '../../src/platform/trouble.ts'
import { queueTest, setEndpoint } from '../../src/webhooks/endpoint.ts'
import { itemOf, putItems } from '../../testing/items.ts'
import { orderWith } from '../../testing/new-order.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

const HERE = 'https://93.184.216.34/hook'
/** Each run compares up to 16 carts. */
const RUNS = process.env.SHOPWIRE_LONG ? 12_500 : 150

let shop: Shop
let blocker: pg.Client
/** Sees the others' sessions as they are now, which a session inside a transaction does not. */
let watcher: pg.Client
const items = {
  cheap: '500000000000000001',
  dear: '500000000000000002',
  hidden: '500000000000000003',
  gone: '500000000000000004',
  empty: '500000000000000005',
}

beforeAll(async () => {
  shop = await openShop()
  await putItems(shop.database.operator, [
    itemOf(items.cheap, { price_cents: 100 }),
    itemOf(items.dear, { price_cents: 90_000 }),
    itemOf(items.hidden, { is_for_sale: false }),
    itemOf(items.gone, { available_until: new Date(Date.now() - 60_000) }),
    itemOf(items.empty),
  ])
  blocker = new pg.Client({ connectionString: shop.database.superuserUrl })
  await blocker.connect()
  watcher = new pg.Client({ connectionString: shop.database.superuserUrl })
  await watcher.connect()
  await blocker.query('update items set has_supply = false where id = $1', [items.empty])
})
afterAll(async () => {
  await blocker.query('update items set has_supply = true')
  await blocker.end()
  await watcher.end()
  const findings = await verifyData(shop.database.operator, await readRules(INVARIANTS), () => {})
  await shop.close()
  expect(findings.filter(({ violations }) => violations > 0)).toEqual([])
})

/** An account with money, and with an endpoint whose job is there, or without. */
async function newAccount({ hasEndpoint = true } = {}): Promise<string> {
  const { id } = await shop.operator.createAccount('Batched')
  await shop.operator.fundAccount(id, { amount_cents: 100_000, reference: `opening ${id}` })
  if (hasEndpoint) {
    const endpoint = { account_id: id, url: HERE, set_by: 'test' }
    await shop.database.api.transaction((tx) => setEndpoint(tx, shop.keyring, endpoint, Date.now()))
    await shop.database.api.transaction((tx) => queueTest(tx, id, Date.now()))
  }
  return id
}

async function orderOf(
  account_id: string,
  idempotency_key = randomBytes(8).toString('hex'),
): Promise<NewOrder> {
  const { access_version } = await getAccount(shop.database.operator, account_id)
  return orderWith({ account_id, access_version, idempotency_key, cart: [{ id: items.cheap, qty: 2 }] })
}

async function ordersOf(account_id: string): Promise<number> {
  const { count } = await shop.database.owner.one<{ count: number }>(
    sql`select count(*) as count from orders where account_id = ${account_id}`,
  )
  return count
}

/** The same database; each statement that was sent to it, as it will end. */
function watch({ commit }: Db): { watched: Pick<Db, 'commit'>; calls: Promise<unknown>[] } {
  const calls: Promise<unknown>[] = []
  const watched: Pick<Db, 'commit'> = {
    commit(statement) {
      const call = commit<never>(statement)
      calls.push(call)
      return call
    },
  }
  return { watched, calls }
}

/** Holds rows with this statement while the work runs. */
async function holding<Result>(statement: string, work: () => Promise<Result>): Promise<Result> {
  await blocker.query('begin')
  await blocker.query(statement)
  try {
    return await work()
  } finally {
    await blocker.query('rollback')
  }
}

test('carts of several accounts are bought together, each with its own order, debit, event and jobs', async () => {
  const accounts = await Promise.all([newAccount(), newAccount({ hasEndpoint: false }), newAccount()])
  const orders = await Promise.all(accounts.map((id) => orderOf(id)))
  const placed = (await callPlaceOrders(shop.database.api, orders)) as Placed[]
  expect(placed.map(({ verdict }) => verdict)).toEqual(['bought', 'bought', 'bought'])
  expect(placed.map(({ order_id }) => order_id)).toEqual(orders.map(({ order_id }) => order_id))
  const balances = await shop.database.owner.many(
    sql`select balance_cents from balances where account_id = any (${accounts})`,
  )
  expect(balances).toEqual(accounts.map(() => ({ balance_cents: 99_800 })))
})

test.each([
  [false, 'on the key of transfers', '23505'],
  [true, 'on the job of its endpoint', '21000'],
])(
  'the same account twice in one call, endpoint %s, fails as a whole %s: nothing is written',
  async (hasEndpoint, _why, code) => {
    const [one, other] = await Promise.all([newAccount({ hasEndpoint }), newAccount({ hasEndpoint })])
    const orders = [await orderOf(one), await orderOf(other), await orderOf(one)]
    const error = await callPlaceOrders(shop.database.api, orders).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code })
    expect(isRolledBack(error)).toBe(true)
    expect(await Promise.all([one, other].map(ordersOf))).toEqual([0, 0])
  },
)

test.each([
  ['balance', (id: string) => `select from balances where account_id = '${id}' for update`],
  ['endpoint', (id: string) => `select from webhook_endpoints where account_id = '${id}' for update`],
  ['job of the endpoint', (id: string) => `select from jobs where account_id = '${id}' for update`],
])(
  'somebody holds the %s of one account: it waits, and the others are served at once',
  async (_what, held) => {
    const [stuck, ...free] = (await Promise.all([newAccount(), newAccount(), newAccount()])) as [
      string,
      ...string[],
    ]
    const place = placeInBatches(shop.database.api, { mode: 'always' })
    let isStuckDone = false
    const waiting = await holding(held(stuck), async () => {
      const orders = await Promise.all([stuck, ...free].map((id) => orderOf(id)))
      const [first, ...others] = orders.map(place) as [Promise<Placed>, ...Promise<Placed>[]]
      void first.finally(() => {
        isStuckDone = true
      })
      expect((await Promise.all(others)).map(({ verdict }) => verdict)).toEqual(['bought', 'bought'])
      expect(isStuckDone).toBe(false)
      return { first }
    })
    expect((await waiting.first).verdict).toBe('bought')
  },
)

test('an account that does not exist is refused, whether the call may wait or not, and holds up nobody', async () => {
  const account_id = await newAccount()
  const unknown = { ...(await orderOf(account_id)), account_id: 'acc_unknown' }
  expect((await callPlaceOrder(shop.database.api, unknown)).verdict).toBe('changed')
  expect(await callPlaceOrders(shop.database.api, [unknown, await orderOf(account_id)])).toMatchObject([
    { verdict: 'changed' },
    { verdict: 'bought' },
  ])
})

test('a call for several accounts that may wait is refused: one of them would make the others wait', async () => {
  const orders = await Promise.all([newAccount(), newAccount()].map(async (id) => orderOf(await id)))
  await expect(callPlaceOrders(shop.database.api, orders, { mayWait: true })).rejects.toMatchObject({
    code: '22023',
  })
})

test('workers that record attempts on an endpoint hold up no order of its account', async () => {
  const account_id = await newAccount()
  const order = await orderOf(account_id)
  await holding(
    `select from webhook_endpoints where account_id = '${account_id}' for no key update`,
    async () => {
      expect((await callPlaceOrder(shop.database.api, order)).verdict).toBe('bought')
      expect(await callPlaceOrders(shop.database.api, [await orderOf(account_id)])).toMatchObject([
        { verdict: 'bought' },
      ])
    },
  )
})

test('orders of one account never share a call, so that none of the calls fails', async () => {
  const accounts = await Promise.all([newAccount(), newAccount()])
  const { watched, calls } = watch(shop.database.api)
  const place = placeInBatches(watched, { mode: 'always' })
  const orders = await Promise.all([...accounts, ...accounts, ...accounts].map((id) => orderOf(id)))
  await Promise.all(orders.map(place))
  expect((await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')).toEqual([])
})

test('a batch that creates jobs does not deadlock with a transaction that creates them in the order of accounts', async () => {
  const accounts = (await Promise.all([newAccount(), newAccount()])).sort() as [string, string]
  await blocker.query(`delete from jobs where account_id = any ($1) and queue = 'deliver'`, [accounts])
  const orders = await Promise.all(accounts.toReversed().map((id) => orderOf(id)))
  const createJob = (account_id: string) => `
    insert into jobs (account_id, queue, subject, run_at, created_at)
    select account_id, 'deliver', id, now(), now() from webhook_endpoints where account_id = '${account_id}'
        on conflict (queue, subject) do nothing`
  await blocker.query('begin')
  // A deadlock would end this transaction; the other one would be tried again, and nobody would see it.
  await blocker.query(`set local deadlock_timeout = '10ms'`)
  await blocker.query(createJob(accounts[0]))
  const placed = callPlaceOrders(shop.database.api, orders)
  await expect
    .poll(async () => {
      const { rowCount } = await watcher.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%place_orders(%'`,
      )
      return rowCount
    })
    .toBe(1)
  await blocker.query(createJob(accounts[1]))
  await blocker.query('commit')
  expect(await placed).toMatchObject([{ verdict: 'bought' }, { verdict: 'bought' }])
})

test('one idempotency key raced through batches and alone, by two processes, buys once', async () => {
  const accounts = await Promise.all([newAccount(), newAccount(), newAccount()])
  const placers = [
    placeInBatches(shop.database.api, { mode: 'always' }),
    placeInBatches(shop.database.api),
    placeInBatches(shop.database.api, { mode: 'off' }),
  ]
  for (let round = 0; round < 10; round += 1) {
    const verdicts = await Promise.all(
      accounts.map(async (account_id) => {
        const orders = await Promise.all(
          Array.from({ length: 12 }, () => orderOf(account_id, `raced in round ${round}`)),
        )
        return Promise.all(orders.map((order, n) => (placers[n % 3] as (typeof placers)[0])(order)))
      }),
    )
    for (const placed of verdicts) {
      expect(placed.filter(({ verdict }) => verdict === 'bought')).toHaveLength(1)
      expect(new Set(placed.map(({ order_id }) => order_id)).size).toBe(1)
    }
  }
})

test('a batch whose session ends is unavailable to all of its callers; repeated, each key buys once', async () => {
  const accounts = await Promise.all([newAccount(), newAccount(), newAccount()])
  const orders = await Promise.all(accounts.map((id) => orderOf(id)))
  const { watched, calls } = watch(shop.database.api)
  const place = placeInBatches(watched, { mode: 'always' })
  const ends = await holding('lock table transfers in access exclusive mode', async () => {
    const lost = Promise.allSettled(orders.map(place))
    await expect
      .poll(async () => {
        const { rowCount } = await watcher.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%place_orders(%'`,
        )
        return rowCount
      })
      .toBe(1)
    return lost
  })
  expect(ends.map((end) => end.status === 'rejected' && end.reason instanceof Unavailable)).toEqual([
    true,
    true,
    true,
  ])
  // Nobody was tried again: whether a statement did something is not known when its session has ended.
  expect(calls).toHaveLength(1)
  expect(await Promise.all(accounts.map(ordersOf))).toEqual([0, 0, 0])
  expect((await Promise.all(orders.map(place))).map(({ verdict }) => verdict)).toEqual([
    'bought',
    'bought',
    'bought',
  ])
  expect(await Promise.all(accounts.map(ordersOf))).toEqual([1, 1, 1])
})

/** Everything that an order writes, but for the moments at which it was written. */
const STATE = `
  select jsonb_build_object(
    'orders', (select jsonb_agg(to_jsonb(o) order by o.account_id, o.id) from orders o where o.account_id = any ($1)),
    'lines', (select jsonb_agg(to_jsonb(l) order by l.account_id, l.order_id, l.line) from order_lines l where l.account_id = any ($1)),
    'transfers', (select jsonb_agg(to_jsonb(t) order by t.account_id, t.seq) from transfers t where t.account_id = any ($1)),
    'balances', (select jsonb_agg(to_jsonb(b) order by b.account_id) from balances b where b.account_id = any ($1)),
    'events', (select jsonb_agg(to_jsonb(e) order by e.account_id, e.id) from events e where e.account_id = any ($1)),
    'deliveries', (select jsonb_agg(to_jsonb(d) order by d.account_id, d.event_id) from deliveries d where d.account_id = any ($1)),
    'jobs', (select jsonb_agg(to_jsonb(j) - 'run_at' order by j.account_id, j.queue, j.subject)
               from jobs j where j.account_id = any ($1))) as state`

const line = fc.record({
  id: fc.constantFrom(...[items.cheap, items.cheap, items.cheap, items.dear, ...Object.values(items)], '599'),
  qty: fc.integer({ min: 1, max: 10 }),
  expected_price_cents: fc.option(fc.constantFrom(100, 100, 90_000, 7), { nil: undefined, freq: 3 }),
})
const situation = fc.record({
  balance_cents: fc.constantFrom(0, 100, 1_000, 100_000, 10_000_000),
  hasEndpoint: fc.boolean(),
  isCurrent: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  earlier: fc.constantFrom('nothing' as const, 'nothing' as const, 'same' as const, 'other' as const),
  cart: fc.uniqueArray(line, { minLength: 1, maxLength: 5, selector: ({ id }) => id }),
})

type Situation = typeof situation extends fc.Arbitrary<infer Value> ? Value : never

/** What the interface says about one cart, without SQL or locks. */
function verdictOf(
  { balance_cents, isCurrent, earlier, cart }: Situation,
  isOpen: boolean,
): Placed['verdict'] {
  const prices = new Map([
    [items.cheap, 100],
    [items.dear, 90_000],
  ])
  if (!isCurrent) return 'changed'
  // The other cart that the key bought is one of the cheap item.
  const [first] = cart
  const isThatCart =
    cart.length === 1 &&
    first?.id === items.cheap &&
    first.qty === 1 &&
    first.expected_price_cents === undefined
  if (earlier !== 'nothing') return earlier === 'same' || isThatCart ? 'earlier' : 'conflict'
  if (!isOpen) return 'store_closed'
  if (cart.some(({ id }) => !prices.has(id))) return 'item_unavailable'
  const priceOf = (id: string) => prices.get(id) ?? 0
  if (cart.some(({ id, expected_price_cents: expected }) => (expected ?? priceOf(id)) !== priceOf(id)))
    return 'price_changed'
  const total = cart.reduce((sum, { id, qty }) => sum + qty * priceOf(id), 0)
  if (total > 500_000) return 'order_total_exceeded'
  return total > balance_cents ? 'insufficient_funds' : 'bought'
}

test('carts get the verdicts of the model, and the same is written for them alone and together', async () => {
  const client = new pg.Client({ connectionString: shop.database.superuserUrl })
  await client.connect()
  // Inside one transaction that is never committed.
  const inside: Pick<Db, 'commit'> = {
    commit: async <Row extends object>({ text, values }: { text: string; values: readonly unknown[] }) =>
      (await client.query({ text, values: [...values], types: { getTypeParser: numbers } })).rows[0] as Row,
  }
  const seen = new Set<string>()
  const property = fc.asyncProperty(
    fc.array(situation, { minLength: 1, maxLength: 16 }),
    fc.integer({ min: 0, max: 7 }).map((n) => n > 0),
    async (situations, isOpen) => {
      await client.query('begin')
      try {
        const ids = situations.map((_, n) => `acc_model${n}`)
        await client.query(
          `insert into accounts (id, name, created_at) select id, 'Model', now() from unnest($1::text[]) id`,
          [ids],
        )
        await client.query(
          'insert into balances (account_id, balance_cents) select a, b from unnest($1::text[], $2::bigint[]) as t (a, b)',
          [ids, situations.map(({ balance_cents }) => balance_cents + 100)],
        )
        const withEndpoint = ids.filter((_, n) => situations[n]?.hasEndpoint)
        await client.query(
          `insert into webhook_endpoints (account_id, id, url, set_by, created_at)
           select a, 'ep_' || a, 'https://example.com', 'test', now() from unnest($1::text[]) a`,
          [withEndpoint],
        )
        const { rows } = await client.query<{ id: string; access_version: string }>(
          'select id, access_version from accounts where id = any ($1)',
          [ids],
        )
        const versions = new Map(rows.map((row) => [row.id, Number(row.access_version)]))
        const orders = situations.map(({ cart, isCurrent }, n) => {
          const account_id = ids[n] as string
          const access_version = (versions.get(account_id) ?? 0) + (isCurrent ? 0 : 1)
          const wanted = cart.map(({ id, qty, expected_price_cents }) => ({
            id,
            qty,
            ...(expected_price_cents !== undefined && { expected_price_cents }),
          }))
          return orderWith({ account_id, access_version, idempotency_key: 'model', cart: wanted })
        })
        for (const [n, { earlier }] of situations.entries()) {
          const order = orders[n] as NewOrder
          const access_version = versions.get(order.account_id) ?? 0
          const before = orderWith({
            account_id: order.account_id,
            access_version,
            idempotency_key: earlier === 'nothing' ? 'another' : 'model',
            cart: [{ id: items.cheap, qty: 1 }],
          })
          await callPlaceOrder(
            inside,
            earlier === 'same' ? { ...before, request_hash: order.request_hash } : before,
          )
        }
        if (!isOpen) await client.query('update store_state set is_open = false')
        await client.query('savepoint one_by_one')
        const single: Placed[] = []
        for (const order of orders) single.push(await callPlaceOrder(inside, order))
        const expected = await client.query(STATE, [ids])
        expect(single.map(({ verdict }) => verdict)).toEqual(situations.map((one) => verdictOf(one, isOpen)))
        await client.query('rollback to savepoint one_by_one')
        const together = await callPlaceOrders(inside, orders)
        const actual = await client.query(STATE, [ids])
        expect(together.map(essential)).toEqual(single.map(essential))
        expect(actual.rows).toEqual(expected.rows)
        for (const { verdict } of single) seen.add(verdict)
      } finally {
        await client.query('rollback')
      }
    },
  )
  await fc.assert(property, { numRuns: RUNS })
  await client.end()
  expect([...seen].sort()).toEqual([
    'bought',
    'changed',
    'conflict',
    'earlier',
    'insufficient_funds',
    'item_unavailable',
    'order_total_exceeded',
    'price_changed',
    'store_closed',
  ])
})

/** What the service uses of an answer. */
function essential(placed: Placed | typeof MUST_WAIT) {
  if (placed === MUST_WAIT) return placed
  const { verdict, order_id, total_cents, names, unit_prices_cents, details } = placed
  if (verdict === 'bought') return { verdict, order_id, total_cents, names, unit_prices_cents }
  if (verdict === 'earlier' || verdict === 'conflict') return { verdict, order_id }
  if (verdict === 'item_unavailable' || verdict === 'price_changed') return { verdict, details }
  if (verdict === 'changed' || verdict === 'store_closed') return { verdict }
  return { verdict, total_cents }
}

/** As the service reads them. */
function numbers(oid: number): (text: string) => unknown {
  if (oid === 20) return Number
  if (oid === 1016) return (text) => (textsOf(text) as string[]).map(Number)
  return pg.types.getTypeParser(oid) as (text: string) => unknown
}
const textsOf = pg.types.getTypeParser(1016 as number, 'text') as (text: string) => unknown

test.each(['always', 'adaptive'] as const)(
  '64 callers at once, batches %s, and no worker: a pool of 300 is oversold by no more orders than are placed at once',
  async (mode) => {
    const [pool, callers] = [300, 64]
    const id = mode === 'adaptive' ? '500000000000000006' : '500000000000000007'
    await putItems(shop.database.operator, [itemOf(id, { price_cents: 1 })])
    const links = Array.from({ length: pool }, (_, n) => `https://gift.example/${mode}-${n}`)
    await shop.operator.loadPool(id, links)
    const accounts = await Promise.all(
      Array.from({ length: callers }, () => newAccount({ hasEndpoint: false })),
    )
    const place = placeInBatches(shop.database.api, { mode })
    const buyUntilRefused = async (account_id: string) => {
      const { access_version } = await getAccount(shop.database.operator, account_id)
      for (let bought = 0; ; bought += 1) {
        const idempotency_key = randomBytes(8).toString('hex')
        const order = orderWith({ account_id, access_version, idempotency_key, cart: [{ id, qty: 1 }] })
        const { verdict } = await place(order)
        if (verdict === 'item_unavailable') return bought
        expect(verdict).toBe('bought')
      }
    }
    const bought = await Promise.all(accounts.map(buyUntilRefused))
    const sold = bought.reduce((sum, n) => sum + n, 0)
    expect(sold).toBeGreaterThanOrEqual(pool)
    expect(sold - pool).toBeLessThan(callers)
  },
)
