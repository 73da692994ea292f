import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { checkInvariants } from '@shopwire/test-kit/invariants'
import { type Buyer, newOrder } from '@shopwire/test-kit/people/buyer'
import { type Answer, connect, exchange } from '@shopwire/test-kit/requests/connection'
import { outcomeOf, tally } from '@shopwire/test-kit/requests/load'
import { sign } from '@shopwire/test-kit/requests/signed-request'
import { openShop, type Shop } from '@shopwire/test-kit/shops/shop'
import {
  type ApiProcess,
  limitless,
  readMetric,
  START_MS_MAX,
  type System,
  startSystem,
} from '@shopwire/test-kit/systems'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Flooded, FloodOptions } from './flood.ts'

/**
 * Orders at several times what a process takes at a time, first of one account, then of many, with little memory. What was begun is answered
 * in time, the rest is refused at once, and whoever looks after the store can still look. With SHOPWIRE_LONG=1 for longer.
 */
const FLOOD_MS = process.env.SHOPWIRE_LONG === '1' ? 30_000 : 4_000
const IN_FLIGHT_MAX = 64
const CONNECTIONS = 4 * IN_FLIGHT_MAX
const FLOODING_ACCOUNTS = 6
/** A connection that is refused tries again ten times a second: several times as many orders as this machine can place. */
const PAUSE_MS = 100
const OTHERS = 3
const CALL_EVERY_MS = 100
/** Half of what the SDK waits. On a quiet machine they take a tenth of it. */
const DEADLINE_MS = 10_000
const PRICE_CENTS = 100
const REFUSED = '503 retry-after 2'
const FLOOD = new URL('./flood.ts', import.meta.url)

let system: System
let shop: Shop
let api: ApiProcess
let item: string
let others: Buyer[]
beforeAll(async () => {
  system = await startSystem({
    admission: 'postgres',
    settings: {
      ...limitless,
      SHOPWIRE_REQUESTS_IN_FLIGHT: String(IN_FLIGHT_MAX),
      SHOPWIRE_LOG_LEVEL: 'warn',
      NODE_OPTIONS: '--max-old-space-size=96',
    },
  })
  api = system.apis[0] as ApiProcess
  shop = openShop(system)
  ;[item = ''] = await shop.sell(PRICE_CENTS)
  others = await openBuyers(OTHERS)
}, START_MS_MAX)
afterAll(async () => {
  await system?.stop()
})

test('threat 69: one account floods: it alone is refused, and other accounts buy as usual', async ({
  annotate,
}) => {
  const [flooder] = (await openBuyers(1)) as [Buyer]
  const { flooded, calls, figures } = await flood([flooder])
  await annotate(figures)
  expect(tally(calls.map(outcome))).toEqual({ 200: calls.length / 2, 201: calls.length / 2 })
  await expectInTimeOrRefused(flooded, calls)
  expect(await shed('account')).toBeGreaterThan(0)
  expect(await shed('all')).toBe(0)
  await expectPlaced([flooder], flooded)
})

test(`threat 69: ${FLOODING_ACCOUNTS} accounts flood: what is begun is answered in time, and the rest gets 503 with Retry-After`, async ({
  annotate,
}) => {
  const flooders = await openBuyers(FLOODING_ACCOUNTS)
  const { flooded, calls, figures } = await flood(flooders)
  await annotate(figures)
  await expectInTimeOrRefused(flooded, calls)
  await expectPlaced(flooders, flooded)
})

/** The accounts order as fast as they are answered; the others make a call now and then. */
async function flood(flooders: readonly Buyer[]) {
  let isOver = false
  const calling = Promise.all(others.map((buyer) => callUntil(buyer, () => isOver)))
  const looking = lookUntil(() => isOver)
  const workerData: FloodOptions = {
    port: api.port,
    keys: flooders.map(({ key }) => key),
    item,
    connections: CONNECTIONS,
    pauseMs: PAUSE_MS,
    forMs: FLOOD_MS,
  }
  const [flooded] = (await once(new Worker(FLOOD, { workerData }), 'message')) as [Flooded]
  isOver = true
  const calls = (await calling).flat()
  const lookedMs = await looking
  const figures =
    `${JSON.stringify(flooded.answers)} of the flood, begun ${timesOf(flooded.begunMs)}; ` +
    `${JSON.stringify(tally(calls.map(outcome)))} of others, ${timesOf(calls.map(msOf))}; ` +
    `status and readyz ${timesOf(lookedMs)}; ${Math.round(api.residentMb())} MB`
  return { flooded, calls, figures }
}

/** An order, a ping, and a pause, over and over. */
async function callUntil(buyer: Buyer, isOver: () => boolean): Promise<Answer[]> {
  const via = await connect(api.port)
  const answers: Answer[] = []
  while (!isOver()) {
    answers.push(await buyer.place(via, newOrder({ id: item })))
    answers.push(await via.send(sign(buyer.key, 'GET', '/v1/ping').bytes))
    await sleep(CALL_EVERY_MS)
  }
  via.close()
  return answers
}

/** What an operator and a load balancer look at, and a command of the operator. Each has to answer as on a quiet day. */
async function lookUntil(isOver: () => boolean): Promise<number[]> {
  const command = system.createAccount({ balanceCents: PRICE_CENTS })
  const tookMs: number[] = []
  while (!isOver()) {
    const startedMs = performance.now()
    const status = await exchange(api.port, Buffer.from('GET /v1/status HTTP/1.1\r\nHost: shop.test\r\n\r\n'))
    expect([status.status, status.body.api, status.body.store]).toEqual([200, 'up', 'open'])
    expect(await api.readiness()).toBe(200)
    tookMs.push(performance.now() - startedMs)
    await sleep(CALL_EVERY_MS)
  }
  const { account_id } = await command
  expect(account_id).toMatch(/^acct_/)
  return tookMs
}

async function expectInTimeOrRefused(flooded: Flooded, calls: readonly Answer[]) {
  expect(Object.keys(flooded.answers).sort()).toEqual(['201', REFUSED])
  expect(flooded.answers[REFUSED]).toBeGreaterThan(0)
  for (const { status, headers, body } of calls.filter(({ status }) => status >= 400)) {
    expect([status, headers['retry-after'], body.error.type]).toEqual([503, '2', 'service_unavailable'])
  }
  expect(Math.max(...flooded.begunMs, ...calls.map(msOf))).toBeLessThan(DEADLINE_MS)
  // None of them was refused by a part that did not answer.
  expect(await readMetric(api.healthUrl, 'shopwire_unavailable_total{part="database"}')).toBe(0)
}

/** The orders that were confirmed to the flood are those that the accounts have, and every rule of the database holds. */
async function expectPlaced(flooders: readonly Buyer[], { placed }: Flooded) {
  const orders = await Promise.all(flooders.map((buyer) => buyer.listOrders(api.port)))
  expect(Math.min(...orders.map(({ length }) => length))).toBeGreaterThan(0)
  expect(
    orders
      .flat()
      .map(({ id }) => id)
      .sort(),
  ).toEqual([...placed].sort())
  expect(await checkInvariants(system.superuserUrl)).toEqual([])
}

async function openBuyers(count: number): Promise<Buyer[]> {
  return Promise.all(Array.from({ length: count }, () => shop.openBuyer(100_000_000)))
}

function shed(reason: 'account' | 'all') {
  return readMetric(api.healthUrl, `shopwire_requests_shed_total{reason="${reason}"}`)
}

function outcome(answer: Answer) {
  return outcomeOf(api.port, answer)
}

function msOf({ sentMs, receivedMs }: Answer): number {
  return receivedMs - sentMs
}

function timesOf(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN)
  return `${sorted.length} times, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms`
}
