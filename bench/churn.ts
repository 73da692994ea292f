import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_PATH, STATUS_CACHE_MS_MAX } from '@shopwire/contract'
import { createAuthority, isInPublicNetwork, startPostgres } from '@shopwire/test-kit/servers'
import { familyCpuMs, type WorkerProcess } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { startPlacing } from './churn/place.ts'
import { startProbe } from './churn/probe.ts'
import { report } from './churn/report.ts'
import { type Watch, watchWorkers } from './churn/watch.ts'
import { createClient } from './growth/client.ts'
import { type BenchKey, type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import type { BenchOptions } from './shared/options.ts'
import { loadPools } from './shared/pools.ts'
import { accountIdSql, itemId, type ShopSize, seed } from './shared/seed.ts'
import { COUNTED, countFromNow, printStatements } from './shared/statements.ts'
import { untilDone } from './shared/until-done.ts'
import { seedEndpoints } from './webhooks/endpoints.ts'
import { benchAgainInPublicNetwork, startReceiver } from './webhooks/start-receiver.ts'

interface Size {
  readonly finished: number
  readonly orders: number
}

const SIZES: Readonly<Record<BenchOptions['scale'], Size>> = {
  tiny: { finished: 10_000, orders: 3_000 },
  small: { finished: 1_000_000, orders: 200_000 },
  full: { finished: 5_000_000, orders: 1_000_000 },
  large: { finished: 5_000_000, orders: 10_000_000 },
}
const ACCOUNTS = 1_000
/** Those of them that buy and have an endpoint. A worker keeps a connection for a second, so many quiet endpoints would mostly cost handshakes. */
const BUYERS = 50
const ITEMS = 2_000
/** Items sold from pools, in turn: those of the stream, and those that the measured orders buy. */
const POOLS = 200
const PROBE_POOLS = 20
const STREAM_ITEMS = Array.from({ length: POOLS }, (_, n) => itemId(n + 1))
const PROBE_ITEMS = Array.from({ length: PROBE_POOLS }, (_, n) => itemId(POOLS + n + 1))
const KEYS = 10
const WORKERS = 2
/** Both `order.accepted` and `order.delivered`. */
const EVENTS_PER_ORDER = 2
const THIRDS = ['first third', 'middle third, snapshot held', 'last third']
/** Less than what the workers do between two looks at them would be the limit itself. */
const BEHIND_MAX = 500
const ORDER_EVERY_MS = 100
const REPORT_EVERY_MS = 15_000
const QUIET_MS = 3_000
const LOOK_EVERY_MS = 200

/**
 * What a stream of orders that are delivered and notified does to a store that already has millions: the time of a claim, of /status and
 * of an order, with a snapshot held open during the middle third. Nothing is vacuumed but by PostgreSQL itself.
 */
export async function churn({ scale, orders, rate, statements }: BenchOptions): Promise<void> {
  if (!isInPublicNetwork()) return benchAgainInPublicNetwork()
  const size = { ...SIZES[scale], ...(orders !== undefined && { orders }) }
  const authority = await createAuthority()
  say('starting PostgreSQL, Redis and a receiver')
  const postgres = await startPostgres({
    durable: true,
    settings: {
      wal_level: 'minimal',
      max_wal_senders: '0',
      max_wal_size: '4GB',
      shared_buffers: '512MB',
      ...(statements && COUNTED),
    },
  })
  try {
    const system = await startBenchSystem({
      postgres,
      accounts: ACCOUNTS,
      keys: KEYS,
      scopes: 'ordering',
      settings: { NODE_EXTRA_CA_CERTS: authority.file },
    })
    try {
      await prepare(system, size)
      const receiver = await startReceiver(system, authority)
      // The keys belong to every hundredth account.
      const keyAccounts = Array.from({ length: KEYS }, (_, n) => ((n + 1) * ACCOUNTS) / KEYS)
      const url = `${receiver.url}/ok`
      await seedEndpoints(system, [
        { firstAccount: 1, count: BUYERS, url },
        ...keyAccounts.map((account) => ({ firstAccount: account, count: 1, url })),
      ])
      const workers = await Promise.all(Array.from({ length: WORKERS }, () => system.startWorker()))
      const watch = await watchWorkers(workers, receiver)
      await untilQuiet(watch)
      if (statements) await countFromNow(system)
      const figures = await run(system, { ...size, rate }, workers, watch)
      if (statements) await printStatements(system)
      await assertInvariants(system)
      say('')
      say(JSON.stringify({ bench: 'churn', ...figures, scale }))
    } finally {
      await system.stop()
    }
  } finally {
    await postgres.stop()
    await authority.remove()
  }
}

async function prepare(system: BenchSystem, { finished, orders }: Size): Promise<void> {
  const shop: ShopSize = { accounts: ACCOUNTS, orders: finished, items: ITEMS }
  await seed(system.owner, shop, say, { paidShare: 0 })
  const began = performance.now()
  await loadPools(system, 'pools', STREAM_ITEMS, Math.ceil(orders / POOLS) + 1)
  await loadPools(system, 'probe-pools', PROBE_ITEMS, Math.max(500, Math.ceil(orders / 10 / PROBE_POOLS)))
  say(`loaded ${POOLS + PROBE_POOLS} pools in ${((performance.now() - began) / 1_000).toFixed(0)} s`)
}

async function run(
  system: BenchSystem,
  { orders, rate }: Size & Pick<BenchOptions, 'rate'>,
  workers: readonly WorkerProcess[],
  watch: Watch,
): Promise<Record<string, number | undefined>> {
  const { owner, database } = system
  const first = await system.startApi('redis')
  await first.kill('SIGKILL')
  await system.beginMemory()
  const api = await system.startApi('redis')
  const client = createClient(api.port)
  const { rows: accounts } = await owner.query<{ id: string; access_version: number }>(
    `select id, access_version::integer as access_version from accounts where id <= ${accountIdSql(String(BUYERS))} order by id`,
  )
  const began = performance.now()
  const usedMs = () => [
    workers.reduce((sum, worker) => sum + worker.cpuMs(), 0),
    familyCpuMs(system.postgres.pid()),
  ]
  const usedBeforeMs = usedMs()
  let bought = 0
  const total = () => placing.placed() + bought
  const notifiedBefore = watch.notified()
  const notified = () => watch.notified() - notifiedBefore
  const placing = startPlacing({
    apiUrl: database.processUrls.api,
    accounts,
    items: STREAM_ITEMS,
    orders,
    perSecond: rate > 0 ? rate : undefined,
    isTooFast: () =>
      total() - watch.delivered() > BEHIND_MAX || EVENTS_PER_ORDER * (total() - BEHIND_MAX) > notified(),
  })
  const askedStatus = startProbe(STATUS_CACHE_MS_MAX + 10, placing.placed, async () => {
    const sentMs = performance.now()
    const answer = await fetch(`${api.url}${BASE_PATH}/status`)
    const { api: state } = (await answer.json()) as { api: string }
    if (state !== 'up') throw new Error(`/status says that the API is ${state}`)
    return performance.now() - sentMs
  })
  const placedOrders = startProbe(ORDER_EVERY_MS, placing.placed, async () => {
    const key = system.keys[randomInt(system.keys.length)] as BenchKey
    const items = [{ id: PROBE_ITEMS[bought % PROBE_POOLS] }]
    const body = JSON.stringify({ idempotency_key: randomUUID(), items })
    const { ms } = await client.ask(key, { method: 'POST', target: `${BASE_PATH}/orders`, body })
    bought += 1
    return ms
  })

  const parts = [placing, askedStatus, placedOrders, watch]

  const claims = [watch.claims()]
  const secondsByThird: number[] = []
  const deadJobsByThird: number[] = []
  for (const [n] of THIRDS.entries()) {
    const startedMs = performance.now()
    const release = n === 1 ? await holdSnapshot(system) : undefined
    const enough = Math.floor(((n + 1) * orders) / THIRDS.length)
    for (let reportMs = performance.now() + REPORT_EVERY_MS; placing.placed() < enough; ) {
      await Promise.race([...parts.map(({ running }) => running), sleep(LOOK_EVERY_MS)])
      if (performance.now() < reportMs) continue
      reportMs += REPORT_EVERY_MS
      const seconds = ((performance.now() - began) / 1_000).toFixed(0)
      say(
        `${seconds} s: ${total()} orders placed, ${watch.delivered()} delivered, ${notified()} events received`,
      )
    }
    deadJobsByThird.push(await countDeadJobs(system))
    await release?.()
    claims.push(watch.claims())
    secondsByThird.push((performance.now() - startedMs) / 1_000)
  }
  await placing.running
  await Promise.all([askedStatus.stop(), placedOrders.stop()])
  await untilDone(
    () => [watch.delivered(), total()],
    () => [notified(), EVENTS_PER_ORDER * total()],
  )
  await watch.stop()
  const seconds = (performance.now() - began) / 1_000

  const { take_p99_ms, status_p99_ms, order_p50_ratio } = report({
    orders,
    thirds: THIRDS,
    secondsByThird,
    deadJobsByThird,
    claims,
    status: askedStatus.samples,
    order: placedOrders.samples,
  })
  const memory = workers.map((worker) => worker.residentMb().toFixed(0))
  const [workersMs, postgresMs] = usedMs().map((ms, n) => (ms - (usedBeforeMs[n] as number)) / total())
  say(
    `CPU time per order: workers ${workersMs?.toFixed(1)} ms, PostgreSQL ${postgresMs?.toFixed(1)} ms; ` +
      `the workers hold ${memory.join(' and ')} MB`,
  )
  return {
    take_p99_ms,
    status_p99_ms,
    slots_over: watch.slotsOver(),
    order_p50_ratio,
    failed_answers: askedStatus.failures() + placedOrders.failures(),
    orders: total(),
    orders_per_s: rounded(total() / seconds, 0),
  }
}

/** Every endpoint is first told about the new catalogue. */
async function untilQuiet(watch: Watch): Promise<void> {
  for (let seen = -1; seen !== watch.notified(); await sleep(QUIET_MS)) seen = watch.notified()
}

/** A session like that of a long dump or report. */
async function holdSnapshot({ superuserUrl }: BenchSystem): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: superuserUrl, application_name: 'bench snapshot' })
  // Without a listener, a bench that fails elsewhere would end with the end of this session.
  client.on('error', () => {})
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select count(*) from catalogue_state')
  return () => client.end()
}

async function countDeadJobs({ owner }: BenchSystem): Promise<number> {
  const { rows } = await owner.query<{ dead: number }>(
    `select sum(n_dead_tup)::integer as dead from pg_stat_user_tables where relname ~ '^jobs'`,
  )
  return rows[0]?.dead ?? 0
}
