import { randomInt, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BASE_PATH, FILTER_LENGTH_MAX } from '@shopwire/contract'
import { startPostgres } from '@shopwire/test-kit/servers'
import type { ApiProcess } from '@shopwire/test-kit/systems'
import { createClient } from './growth/client.ts'
import { type Measured, plot } from './growth/plot.ts'
import { type BenchKey, type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { median, quantile, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import type { Unsigned } from './shared/load.ts'
import type { BenchOptions } from './shared/options.ts'
import { cart, itemId, itemName, type ShopSize, seed } from './shared/seed.ts'

/** A system of one size, its API process, and what is needed to send it requests. */
interface Side {
  readonly size: ShopSize
  readonly system: BenchSystem
  readonly server: ApiProcess
  readonly client: ReturnType<typeof createClient>
  readonly orderIds: ReadonlyMap<string, readonly string[]>
}

interface Operation {
  readonly name: string
  /** In the last line. */
  readonly field: string
  ask(side: Side, key: BenchKey): Unsigned
}

const SMALL: ShopSize = { accounts: 1_000, orders: 10_000, items: 2_000 }
const LARGE: Readonly<Record<BenchOptions['scale'], ShopSize>> = {
  tiny: { accounts: 2_000, orders: 20_000, items: 4_000 },
  small: { accounts: 10_000, orders: 100_000, items: 50_000 },
  full: { accounts: 100_000, orders: 5_000_000, items: 1_000_000 },
  large: { accounts: 200_000, orders: 10_000_000, items: 1_000_000 },
}
const KEYS = 40
const SLICES = 40
const WARM_UP_SLICES = 5
const REQUESTS_PER_SLICE = 15
const PRICE_CHANGES = 10
const SPREAD_MS = 1_000
const LOOK_EVERY_MS = 5
const REPEATED_SEARCH = 'falcon'
const PLOT = fileURLToPath(new URL('../docs/growth.svg', import.meta.url))

/** Pages of a length that the small shop can fill too: an answer twice as long would look like growth. */
const OPERATIONS: readonly Operation[] = [
  {
    name: 'order',
    field: 'order',
    ask: ({ size }) => ({
      method: 'POST',
      target: `${BASE_PATH}/orders`,
      body: JSON.stringify({
        idempotency_key: randomUUID(),
        items: cart(randomInt(size.items), size.items).map((id) => ({ id })),
      }),
    }),
  },
  { name: 'order list', field: 'order_list', ask: () => get('/orders?limit=10') },
  {
    name: 'order get',
    field: 'order_get',
    ask: ({ orderIds }, { account_id }) => get(`/orders/${any(orderIds.get(account_id) ?? [])}`),
  },
  { name: 'catalogue page', field: 'catalogue_page', ask: () => get('/catalogue') },
  {
    name: 'search, repeated',
    field: 'search_repeated',
    ask: () => get(`/catalogue?limit=20&search=${REPEATED_SEARCH}`),
  },
  // The name of one item among all: it was not asked for before, and hardly anything else matches.
  {
    name: 'search, fresh',
    field: 'search_fresh',
    ask: ({ size }) =>
      get(`/catalogue?limit=20&search=${encodeURIComponent(itemName(1 + randomInt(size.items)))}`),
  },
  // The slowest of a dozen shapes we tried: like the numbers in many names, and in none of them.
  {
    name: `search, ${FILTER_LENGTH_MAX} characters`,
    field: 'search_worst',
    ask: () =>
      get(`/catalogue?limit=20&search=${String(randomInt(1e5, 1e6)).padStart(FILTER_LENGTH_MAX, '1')}`),
  },
  { name: 'item', field: 'item', ask: ({ size }) => get(`/catalogue/${itemId(1 + randomInt(size.items))}`) },
]

/**
 * How the size of a system changes the time of one answer. A small and a large one are on the same PostgreSQL, each with an API
 * process of its own, and get a few requests in turn, so that other work on the machine affects both.
 */
export async function growth({ scale, plot: isPlotted }: BenchOptions): Promise<void> {
  say('starting PostgreSQL')
  // Seeding is one large transaction on tables it emptied itself; at this level it need not be logged.
  const postgres = await startPostgres({
    durable: true,
    settings: { wal_level: 'minimal', max_wal_senders: '0' },
  })
  const systems: BenchSystem[] = []
  try {
    const open = async (databaseName: string, size: ShopSize) => {
      const { accounts } = size
      const system = await startBenchSystem({
        postgres,
        databaseName,
        accounts,
        keys: KEYS,
        scopes: 'ordering',
      })
      systems.push(system)
      return openSide(system, size)
    }
    const small = await open('small', SMALL)
    const large = await open('large', LARGE[scale])
    say(
      `ready after ${(small.server.readyMs() / 1000).toFixed(1)} s with ${small.size.items} items, ` +
        `${(large.server.readyMs() / 1000).toFixed(1)} s with ${large.size.items}`,
    )
    const residentMb = [small.server.residentMb(), large.server.residentMb()]
    const measured = await measureAll(small, large)
    const visibleMs = await changePrices(large)
    const quotients = print(measured)
    const memory = (mb: number) => `${mb.toFixed(0)} MB`
    say('')
    say(`API memory, ${small.size.items} items: ${memory(residentMb[0] as number)} when ready`)
    say(
      `API memory, ${large.size.items} items: ${memory(residentMb[1] as number)} when ready, ${memory(large.server.residentMb())} after the run`,
    )
    say(
      `a changed price is seen after ${median(visibleMs).toFixed(0)} ms, ${Math.max(...visibleMs).toFixed(0)} ms at most`,
    )
    for (const system of systems) await assertInvariants(system)
    if (scale === 'full' || scale === 'large' || isPlotted) {
      writeFileSync(PLOT, plot(measured, small.size, large.size))
      say('docs/growth.svg is written')
    }
    say('')
    say(
      JSON.stringify({
        bench: 'growth',
        worst: Math.max(...Object.values(quotients)),
        scale,
        ...quotients,
        ready_s: rounded(large.server.readyMs() / 1000, 2),
        resident_mb: rounded(residentMb[1] as number, 0),
        price_visible_ms: rounded(Math.max(...visibleMs), 0),
      }),
    )
  } finally {
    for (const system of systems) await system.stop()
    await postgres.stop()
  }
}

async function openSide(system: BenchSystem, size: ShopSize): Promise<Side> {
  await seed(system.owner, size, say)
  const { rows } = await system.owner.query<{ account_id: string; ids: string[] }>(
    'select account_id, array_agg(id) as ids from orders where account_id = any($1) group by account_id',
    [system.keys.map(({ account_id }) => account_id)],
  )
  // The first process on a new Redis waits until its memory counts as whole, so the start of the second one is measured.
  const first = await system.startApi('redis')
  await first.kill('SIGKILL')
  await system.beginMemory()
  const server = await system.startApi('redis')
  return {
    size,
    system,
    server,
    client: createClient(server.port),
    orderIds: new Map(rows.map(({ account_id, ids }) => [account_id, ids])),
  }
}

async function measureAll(small: Side, large: Side): Promise<Measured[]> {
  const measured = OPERATIONS.map(({ name, field }) => ({
    name,
    field,
    smallMs: [] as number[],
    largeMs: [] as number[],
  }))
  say(`measuring ${SLICES} slices of ${REQUESTS_PER_SLICE} requests each`)
  for (let slice = -WARM_UP_SLICES; slice < SLICES; slice += 1) {
    for (const [n, operation] of OPERATIONS.entries()) {
      const { smallMs, largeMs } = measured[n] as (typeof measured)[number]
      const sides = [
        { side: small, into: smallMs },
        { side: large, into: largeMs },
      ]
      if (slice % 2 === 0) sides.reverse()
      for (const { side, into } of sides) {
        const times = await measureSlice(side, operation)
        if (slice >= 0) into.push(...times)
      }
    }
  }
  return measured
}

async function measureSlice(side: Side, operation: Operation): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < REQUESTS_PER_SLICE; n += 1) {
    const key = any(side.system.keys)
    const { ms } = await side.client.ask(key, operation.ask(side, key))
    times.push(ms)
  }
  return times
}

/** How long after a commit somewhere else the process serves the new price. */
async function changePrices({ system: { owner, keys }, client, size }: Side): Promise<number[]> {
  const times: number[] = []
  const key = any(keys)
  for (let price = 1_001; price <= 1_000 + PRICE_CHANGES; price += 1) {
    const id = itemId(1 + randomInt(size.items))
    // The process polls; a change made right after a poll would always wait the longest.
    await sleep(randomInt(SPREAD_MS))
    await owner.query('begin')
    await owner.query('update catalogue_state set revision = revision + 1, changed_at = now()')
    await owner.query(
      'update items set price_cents = $2, revision = (select revision from catalogue_state) where id = $1',
      [id, price],
    )
    await owner.query('commit')
    const committed = performance.now()
    for (;;) {
      const { body } = await client.ask(key, get(`/catalogue/${id}`))
      if ((JSON.parse(body) as { price_cents: number }).price_cents === price) break
      await sleep(LOOK_EVERY_MS)
    }
    times.push(performance.now() - committed)
  }
  return times
}

function print(measured: readonly Measured[]): Record<string, number> {
  const quotients: Record<string, number> = {}
  say(`\n${''.padEnd(24)}    small p50      p99    large p50      p99   large/small`)
  for (const { name, field, smallMs, largeMs } of measured) {
    const quotient = median(largeMs) / median(smallMs)
    quotients[field] = rounded(quotient, 2)
    const times = [smallMs, largeMs].map(
      (all) => `${median(all).toFixed(2).padStart(13)}${quantile(all, 0.99).toFixed(2).padStart(9)}`,
    )
    say(`${name.padEnd(24)}${times.join('')}${quotient.toFixed(2).padStart(14)}`)
  }
  say('milliseconds at one request at a time')
  return quotients
}

function get(path: string): Unsigned {
  return { method: 'GET', target: BASE_PATH + path }
}

function any<Thing>(things: readonly Thing[]): Thing {
  return things[randomInt(things.length)] as Thing
}
