import type { OrderRequest } from '@shopwire/contract'
import { type Buyer, newOrder, unlessLost } from '@shopwire/test-kit/people/buyer'
import { type PostgresProxy, startPostgresProxy, type Trap } from '@shopwire/test-kit/proxies/postgres-proxy'
import { type Answer, connect } from '@shopwire/test-kit/requests/connection'
import { outcomeOf, tally } from '@shopwire/test-kit/requests/load'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  type ApiProcess,
  limitless,
  type Settings,
  type System,
  type SystemOptions,
  startApi,
  startSystem,
} from '@shopwire/test-kit/systems'
import { expect, type TestContext, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'
import { keepReserve } from './reserve.ts'

const IS_LONG = process.env.SHOPWIRE_LONG === '1'
const KILLS = IS_LONG ? 200 : IS_SHORT ? 3 : 50
const TEST_MS_MAX = IS_LONG ? 1_800_000 : 400_000
const IN_FLIGHT = 3
const WARM = 3
const PRICE_CENTS = 100

test(`threat 4: an API process killed before its orders reach the database, ${KILLS} times: nothing was bought, and a retry with the same key buys once`, {
  timeout: TEST_MS_MAX,
}, async (context) => {
  const { shop, seen, settled } = await killApis(context, 'held')
  // Nothing reached the database, so it is the second try that buys.
  expect(tallyOf(seen)).toEqual({})
  expect(tallyOf(settled)).toEqual({ '201': KILLS * IN_FLIGHT })
  await shop.expectCleanBooks()
})

test(`threat 5: an API process killed between the commit and its answer, ${KILLS} times: a retry with the same key returns the order that was bought`, {
  timeout: TEST_MS_MAX,
}, async (context) => {
  const { shop, seen, settled } = await killApis(context, 'unanswered')
  expect(tallyOf(seen)).toEqual({})
  expect(tallyOf(settled)).toEqual({ '200': KILLS * IN_FLIGHT })
  await shop.expectCleanBooks()
})

test.for(['held', 'unanswered'] as const)(
  `threats 4 and 5: an API process killed with orders of several accounts in one statement that is %s, ${KILLS} times: every key buys once`,
  { timeout: TEST_MS_MAX },
  async (how, context) => {
    const { shop, settled } = await killApis(context, how, 'always')
    // What was not in that statement may have been bought and answered before the kill.
    expect(Object.keys(tallyOf(settled)).filter((kind) => !['200', '201'].includes(kind))).toEqual([])
    expect(settled).toHaveLength(KILLS * IN_FLIGHT)
    await shop.expectCleanBooks()
  },
)

/**
 * A process of its own for every kill; the one that lives on is asked by the callers afterwards. Without batches the orders of one
 * account are trapped one by one; with batches those of several accounts, in the first statement that comes.
 */
async function killApis(context: TestContext, how: Trap['how'], batching: 'off' | 'always' = 'off') {
  const buyerCount = batching === 'off' ? 1 : IN_FLIGHT
  const { system, shop, buyers, item } = await openStore(
    context,
    { admission: 'postgres' },
    buyerCount,
    (KILLS * IN_FLIGHT) / buyerCount,
  )
  const buyerOf = (n: number) => buyers[n % buyerCount] as Buyer
  const survivor = await startApi(system.settingsOf('api'))
  const victims = keepReserve(WARM, KILLS, () => startVictim(system, { SHOPWIRE_BATCHING: batching }), end)
  context.onTestFinished(async () => {
    await victims.close()
    await survivor.kill('SIGKILL')
  })
  const seen: Answer[] = []
  const settled: Answer[] = []
  for (let n = 0; n < KILLS; n += 1) {
    const { api, proxy } = await victims.take()
    const orders = Array.from({ length: IN_FLIGHT }, () => newOrder({ id: item }))
    const trapped = proxy.trap({ how, count: batching === 'off' ? IN_FLIGHT : 1, isMeant: isOrder })
    const answering = orders.map((order, at) => sendTo(api.port, buyerOf(at), order))
    await trapped
    await api.kill('SIGKILL')
    seen.push(...(await Promise.all(answering)).filter((answer) => answer !== undefined))
    settled.push(...(await Promise.all(orders.map((order, at) => buyerOf(at).settle(survivor.port, order)))))
    await proxy.close()
  }
  for (const [at, buyer] of buyers.entries()) {
    await expectAllListed(
      survivor.port,
      buyer,
      settled.filter((_, n) => n % buyerCount === at),
    )
  }
  return { shop, seen, settled }
}

interface Victim {
  readonly api: ApiProcess
  readonly proxy: PostgresProxy
}

async function startVictim(system: System, own: Settings = {}): Promise<Victim> {
  const proxy = await startPostgresProxy(system.postgres)
  const api = await startApi({
    ...system.settingsOf('api'),
    ...own,
    SHOPWIRE_DATABASE_URL: proxy.url(system.database.processUrls.api),
  })
  return { api, proxy }
}

async function end({ api, proxy }: Victim): Promise<void> {
  const crash = api.crash()
  if (crash !== undefined) throw new Error(`an API process ended by itself:\n${crash}`)
  await api.kill('SIGKILL')
  await proxy.close()
}

test(`threat 6: PostgreSQL killed while orders commit, ${KILLS} times: acknowledged orders are kept, and every key buys once`, {
  timeout: TEST_MS_MAX,
}, async (context) => {
  // With nonces elsewhere: a PostgreSQL that lost them admits no request for two seconds, after each of the fifty kills.
  const { system, shop, buyers, item } = await openStore(context, { admission: 'redis' }, 4)
  const { api, proxy } = await startVictim(system)
  context.onTestFinished(() => end({ api, proxy }))
  const seen: Answer[] = []
  const settled: Answer[] = []
  let lost = 0
  for (let n = 0; n < KILLS; n += 1) {
    const orders = buyers.flatMap((buyer) =>
      Array.from({ length: IN_FLIGHT }, () => ({ buyer, order: newOrder({ id: item }) })),
    )
    // The kill goes through all moments from the arrival of the first order to the answer of the last. A statement has at most one
    // order of each buyer.
    const passed = proxy.trap({ how: 'passed', count: 1 + (n % IN_FLIGHT), isMeant: isOrder })
    const answering = orders.map(({ buyer, order }) => sendTo(api.port, buyer, order))
    const caught = await passed
    waitBusily((n % DELAYS) * DELAY_MS)
    process.kill(caught.at(-1)?.backendPid as number, 'SIGKILL')
    await system.postgres.kill9()
    const answers = await Promise.all(answering)
    lost += answers.filter((answer) => answer === undefined).length
    seen.push(...answers.filter((answer) => answer !== undefined))
    await system.postgres.start()
    const ends = await Promise.all(orders.map(({ buyer, order }) => buyer.settle(api.port, order)))
    for (const [at, answer] of answers.entries()) {
      // A caller that got 201 for an order gets the same order on the retry.
      if (answer?.status === 201)
        expect(ends[at]).toMatchObject({ status: 200, body: { id: answer.body.id } })
    }
    settled.push(...ends)
  }
  await context.annotate(JSON.stringify({ seen: tallyOf(seen), lost, settled: tallyOf(settled) }))
  expect(
    Object.keys(tallyOf(seen)).filter((kind) => !['201', '503 service_unavailable'].includes(kind)),
  ).toEqual([])
  const listed = await Promise.all(buyers.map((buyer) => buyer.listOrders(api.port)))
  expect(
    listed
      .flat()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(settled.map(({ body }) => body.id).sort())
  await shop.expectCleanBooks()
})

/** An order takes a few milliseconds in the database: its last ones are hit too. */
const DELAYS = 7
const DELAY_MS = 0.7

/** A timer would come a millisecond late, which is most of what there is to hit. */
function waitBusily(ms: number): void {
  const deadline = performance.now() + ms
  while (performance.now() < deadline);
}

/** A store with one thing to sell and no API process yet. */
async function openStore(
  { onTestFinished }: TestContext,
  options: Pick<SystemOptions, 'admission'>,
  buyerCount: number,
  ordersEach = KILLS * IN_FLIGHT,
): Promise<{ system: System; shop: Shop; buyers: Buyer[]; item: string }> {
  const system = await startSystem({
    ...options,
    apis: 0,
    settings: {
      ...limitless,
      SHOPWIRE_REDIS_TIMEOUT_MS: '10000',
      SHOPWIRE_LOG_LEVEL: 'warn',
    },
  })
  onTestFinished(() => system.stop())
  const shop = openShop(system)
  const [item = ''] = await shop.sell(PRICE_CENTS)
  const buyers = await Promise.all(
    Array.from({ length: buyerCount }, () => shop.openBuyer(PRICE_CENTS * ordersEach)),
  )
  return { system, shop, buyers, item }
}

function isOrder(statement: string): boolean {
  return /from place_orders?\(/.test(statement)
}

/** Undefined when the connection ended without an answer. */
async function sendTo(port: number, buyer: Buyer, order: OrderRequest): Promise<Answer | undefined> {
  const via = await connect(port)
  try {
    return await buyer.place(via, order).catch(unlessLost)
  } finally {
    via.close()
  }
}

async function expectAllListed(port: number, buyer: Buyer, settled: readonly Answer[]): Promise<void> {
  const listed = await buyer.listOrders(port)
  expect(listed.map(({ id }) => id).sort()).toEqual(settled.map(({ body }) => body.id).sort())
  expect(await buyer.readBalance(port)).toBe(0)
}

function tallyOf(answers: readonly Answer[]): Record<string, number> {
  return tally(answers.map((answer) => outcomeOf(0, answer)))
}
