import { setTimeout as sleep } from 'node:timers/promises'
import { createAuthority, isInPublicNetwork, startPostgres } from '@shopwire/test-kit/servers'
import { familyCpuMs } from '@shopwire/test-kit/systems'
import { startPlacing } from './churn/place.ts'
import { type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { median, quantile, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import type { BenchOptions } from './shared/options.ts'
import { loadPools } from './shared/pools.ts'
import { printProfile, profileWhile } from './shared/profile.ts'
import { accountIdSql, itemId, seed } from './shared/seed.ts'
import { COUNTED, countFromNow, printStatements } from './shared/statements.ts'
import { seedEndpoints } from './webhooks/endpoints.ts'
import { benchAgainInPublicNetwork, startReceiver } from './webhooks/start-receiver.ts'

const SHOP = { accounts: 1_000, orders: 3_000, items: 2_000 }
const BUYERS = 50
const POOLS = 200
const POOL_ITEMS = Array.from({ length: POOLS }, (_, n) => itemId(n + 1))
const ORDERS = 4_000
/** Orders that come one after the other to a store that has nothing else to do. */
const AT_REST = 150
const AT_REST_EVERY_MS = 40
const LOOK_EVERY_MS = 20

/**
 * How fast one worker delivers a backlog of paid orders of one line from pools, in rounds: without endpoints, then with one for every buyer,
 * whose two events are sent too; from one popular item with two workers; and how long one order takes that comes by itself.
 */
export async function fulfilment({
  rounds,
  orders = ORDERS,
  statements,
  profile,
}: BenchOptions): Promise<void> {
  if (!isInPublicNetwork()) return benchAgainInPublicNetwork()
  const authority = await createAuthority()
  const postgres = await startPostgres({
    durable: true,
    settings: { max_wal_size: '4GB', shared_buffers: '512MB', ...(statements && COUNTED) },
  })
  try {
    const system = await startBenchSystem({
      postgres,
      accounts: SHOP.accounts,
      keys: 2,
      scopes: 'ordering',
      settings: { NODE_EXTRA_CA_CERTS: authority.file },
    })
    try {
      await seed(system.owner, SHOP, say, { paidShare: 0 })
      const each = Math.ceil((3 * rounds * orders + 2 * AT_REST) / POOLS)
      await loadPools(system, 'pools', POOL_ITEMS, each + 2_000)
      await loadPools(system, 'popular', [itemId(POOLS + 1)], rounds * orders + 1_000)
      const receiver = await startReceiver(system, authority)
      const plain = await inRounds(rounds, () => deliverBacklog(system, orders, POOL_ITEMS, 1))
      const popular = await inRounds(rounds, () => deliverBacklog(system, orders, [itemId(POOLS + 1)], 2))
      await seedEndpoints(system, [{ firstAccount: 1, count: BUYERS, url: `${receiver.url}/ok` }])
      if (statements) await countFromNow(system)
      const notified = await inRounds(rounds, () => deliverBacklog(system, orders, POOL_ITEMS, 1))
      if (statements) await printStatements(system)
      if (profile) await deliverBacklog(system, orders, POOL_ITEMS, 1, { isProfiled: true })
      const rest = await deliverAtRest(system)
      await assertInvariants(system)
      say('')
      say(
        JSON.stringify({
          bench: 'fulfilment',
          per_s: plain.per_s,
          worker_us: plain.worker_us,
          postgres_us: plain.postgres_us,
          popular_per_s: popular.per_s,
          notified_per_s: notified.per_s,
          notified_worker_us: notified.worker_us,
          notified_postgres_us: notified.postgres_us,
          ...rest,
        }),
      )
    } finally {
      await system.stop()
    }
  } finally {
    await postgres.stop()
    await authority.remove()
  }
}

interface Figures {
  readonly per_s: number
  readonly worker_us: number
  readonly postgres_us: number
}

async function inRounds(rounds: number, run: () => Promise<Figures>): Promise<Figures> {
  const all: Figures[] = []
  for (let n = 0; n < rounds; n += 1) {
    all.push(await run())
    say(JSON.stringify(all.at(-1)))
  }
  const of = (name: keyof Figures) => median(all.map((figures) => figures[name]))
  return { per_s: of('per_s'), worker_us: of('worker_us'), postgres_us: of('postgres_us') }
}

const buyersOf = async ({ owner }: BenchSystem) =>
  (
    await owner.query<{ id: string; access_version: number }>(
      `select id, access_version::integer as access_version from accounts where id <= ${accountIdSql(String(BUYERS))} order by id`,
    )
  ).rows

async function place(system: BenchSystem, orders: number, items: readonly string[]): Promise<void> {
  const accounts = await buyersOf(system)
  const apiUrl = system.database.processUrls.api
  await startPlacing({ apiUrl, accounts, items, orders, isTooFast: () => false }).running
}

async function jobsLeft({ owner }: BenchSystem): Promise<number> {
  const { rows } = await owner.query<{ n: number }>('select count(*)::integer as n from jobs')
  return rows[0]?.n ?? 0
}

/** From the start of the workers, when they have claimed the first jobs, until no job is left. */
async function deliverBacklog(
  system: BenchSystem,
  orders: number,
  items: readonly string[],
  workerCount: number,
  { isProfiled = false } = {},
): Promise<Figures> {
  await place(system, orders, items)
  const all = await jobsLeft(system)
  const workers = await Promise.all(Array.from({ length: workerCount }, () => system.startWorker(isProfiled)))
  const used = () => [
    workers.reduce((sum, worker) => sum + worker.cpuMs(), 0),
    familyCpuMs(system.postgres.pid()),
  ]
  let left = await jobsLeft(system)
  while (left === all) left = await jobsLeft(system)
  const first = left
  const [before, beganMs] = [used(), performance.now()]
  const untilEmpty = async () => {
    while ((await jobsLeft(system)) > 0) await sleep(LOOK_EVERY_MS)
  }
  if (isProfiled) printProfile('worker', await profileWhile(workers[0]?.logs() ?? '', untilEmpty))
  else await untilEmpty()
  const [after, ms] = [used(), performance.now() - beganMs]
  for (const worker of workers) await worker.kill('SIGTERM')
  // Jobs that deliver events are far fewer than orders, so those that are left count the orders well enough.
  const done = Math.min(first, orders)
  const us = (n: number) => rounded((1_000 * ((after[n] ?? 0) - (before[n] ?? 0))) / done, 0)
  return { per_s: rounded((1_000 * done) / ms, 0), worker_us: us(0), postgres_us: us(1) }
}

/** From the placing of an order to its delivery, and to the end of the attempt that reported it, by the clock of the database. */
async function deliverAtRest(system: BenchSystem): Promise<Record<string, number>> {
  const worker = await system.startWorker()
  const began = new Date()
  for (let n = 0; n < AT_REST; n += 1) {
    await place(system, 1, [POOL_ITEMS[n % POOLS] as string])
    await sleep(AT_REST_EVERY_MS)
  }
  while ((await jobsLeft(system)) > 0) await sleep(LOOK_EVERY_MS)
  await worker.kill('SIGTERM')
  const { rows } = await system.owner.query<{ delivered_ms: number; told_ms: number }>(
    `select extract(epoch from o.delivered_at - o.created_at)::float8 * 1000 as delivered_ms,
            extract(epoch from d.done_at - o.created_at)::float8 * 1000 as told_ms
       from orders o
       join events e on e.account_id = o.account_id and e.order_id = o.id and e.type = 'order.delivered'
       join deliveries d on d.account_id = e.account_id and d.event_id = e.id
      where o.created_at >= $1`,
    [began],
  )
  const delivered = rows.map(({ delivered_ms }) => delivered_ms)
  const told = rows.map(({ told_ms }) => told_ms)
  return {
    delivered_p50_ms: rounded(quantile(delivered, 0.5), 1),
    delivered_p99_ms: rounded(quantile(delivered, 0.99), 1),
    told_p50_ms: rounded(quantile(told, 0.5), 1),
    told_p99_ms: rounded(quantile(told, 0.99), 1),
  }
}
