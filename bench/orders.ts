import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findPostgres } from '@shopwire/test-kit/servers'
import { type ApiProcess, familyCpuMs } from '@shopwire/test-kit/systems'
import pg from 'pg'
import { besideDashboards } from './dashboard/open-dashboards.ts'
import { createClient } from './growth/client.ts'
import { bareScript, batchedScript, type Script } from './orders/scripts.ts'
import { type BenchKey, type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { median, overRounds, quantile, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import { assertWrk, runLoad, unsignedOrder, writeRequests } from './shared/load.ts'
import { watchMachine } from './shared/machine.ts'
import type { BenchOptions } from './shared/options.ts'
import { printProfile, profileWhile } from './shared/profile.ts'
import { cart, type ShopSize, seed } from './shared/seed.ts'

/** A way to place orders, and what is known of its speed. */
interface Contender {
  readonly name: string
  readonly server?: ApiProcess
  run(seconds: number): Promise<Speed>
  /** Measured while dashboards are open. */
  readonly isBeside?: boolean
  readonly speeds: Speed[]
}

interface Speed {
  readonly orders: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time for one order, of each part. */
  readonly apiUs: number
  readonly postgresUs: number
  readonly redisUs: number
  readonly loadUs: number
  /** The part of the processors' time in which nothing ran, from 0 to 1. */
  readonly idle: number
}

const SIZE: ShopSize = { accounts: 1_000, orders: 10_000, items: 2_000 }
/** How many of the accounts buy. Making a key takes a process, so not all have one. */
const BUYERS = 200
/** As many connections as one API process has, SHOPWIRE_DATABASE_CONNECTIONS. */
const ONE_BY_ONE: Script = { name: 'bare', connections: 10, ordersPerCall: 1 }
/** As many as the service sends together, and over as many connections, orders/placing/order-batches.ts. */
const TOGETHER: Script = { name: 'batched', connections: 3, ordersPerCall: 16 }
const WARM_UP_SECONDS = 3
const SETTLE_MS = 500
const LOOK_EVERY_MS = 10
/** More than one process can sell. */
const SIGNED_PER_SECOND = 8_000

/**
 * Compares POST /orders with what PostgreSQL itself can do. pgbench sends the service's own statement over as many
 * connections as the service has; wrk sends signed requests to one API process. All in turn, on the same data, which grows.
 */
export async function orders({ seconds, rounds, profile, worker, dashboards }: BenchOptions): Promise<void> {
  assertWrk()
  say('starting PostgreSQL and Redis')
  const system = await startBenchSystem({
    accounts: SIZE.accounts,
    keys: BUYERS,
    scopes: 'ordering',
    profile,
  })
  try {
    await seed(system.owner, SIZE, say)
    const onRedis = await system.startApi('redis')
    const onPostgres = await system.startApi('postgres')
    await system.beginMemory()
    const shop = { size: SIZE, buyers: BUYERS, keys: system.keys }
    const script = bareScript(shop, await captureStatement(system, onRedis))
    writeFileSync(`${system.folder}/${ONE_BY_ONE.name}.sql`, script)
    writeFileSync(`${system.folder}/${TOGETHER.name}.sql`, batchedScript(shop, TOGETHER))
    const http = (server: ApiProcess) => (length: number) => overHttp(system, server, length)
    const contenders: Contender[] = [
      { name: 'a  pgbench', run: (length) => bare(system, ONE_BY_ONE, length), speeds: [] },
      {
        name: `a  pgbench, ${TOGETHER.ordersPerCall} a call`,
        run: (length) => bare(system, TOGETHER, length),
        speeds: [],
      },
      { name: 'b  HTTP, Redis', server: onRedis, run: http(onRedis), speeds: [] },
      { name: 'b  HTTP, PostgreSQL', server: onPostgres, run: http(onPostgres), speeds: [] },
    ]
    if (worker) {
      contenders.push({
        name: 'c  b on Redis, worker',
        run: (length) => besideWorker(system, () => http(onRedis)(length)),
        speeds: [],
      })
    }
    if (dashboards > 0) {
      const beside = await besideDashboards(system, dashboards)
      // Right after what it is compared with.
      contenders.splice(3, 0, {
        name: 'd  b on Redis, dashboards',
        isBeside: true,
        run: (length) => beside(() => http(onRedis)(length)),
        speeds: [],
      })
    }
    say(`warming them up; ${worker ? 'in a and b' : 'throughout'} nothing fulfils the orders, jobs pile up`)
    await runRounds(contenders, rounds, seconds)
    if (profile) await printProfiles(contenders, seconds)
    say(
      'giving every buyer a webhook endpoint: each order now has a delivery, and wakes the job that sends it',
    )
    await giveEndpoints(system)
    const withEndpoints: Contender[] = [
      { name: 'e  pgbench', run: (length) => bare(system, ONE_BY_ONE, length), speeds: [] },
      { name: 'e  HTTP, Redis', run: http(onRedis), speeds: [] },
    ]
    await runRounds(withEndpoints, rounds, seconds)
    await assertInvariants(system)
    print(contenders, withEndpoints)
  } finally {
    await system.stop()
  }
}

async function runRounds(contenders: readonly Contender[], rounds: number, seconds: number): Promise<void> {
  for (const contender of contenders) await contender.run(WARM_UP_SECONDS)
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, run, speeds } of contenders) {
      const speed = await run(seconds)
      speeds.push(speed)
      say(`round ${round}  ${name.padEnd(NAME_WIDTH)}${columns(speed)}`)
    }
  }
}

/** As the service would: one for each buyer, and nobody delivers. */
async function giveEndpoints({ owner, keys }: BenchSystem): Promise<void> {
  await owner.query(
    `insert into webhook_endpoints (account_id, id, url, set_by, created_at)
     select a, 'ep_bench' || n, 'https://receiver.example/hook', 'bench', now()
       from unnest($1::text[]) with ordinality as t (a, n)`,
    [keys.map(({ account_id }) => account_id)],
  )
}

/**
 * The text of the order statement as the service sends it. We hold the balance that an order needs; the order waits, and
 * pg_stat_activity shows the statement. Nothing of the service is read or configured for it.
 */
async function captureStatement(system: BenchSystem, server: ApiProcess): Promise<string> {
  const { owner, keys } = system
  const [key] = keys as [BenchKey]
  const client = createClient(server.port)
  const observer = new pg.Client({ connectionString: system.superuserUrl })
  await observer.connect()
  await owner.query('begin')
  await owner.query('select from balances where account_id = $1 for update', [key.account_id])
  const bought = client.ask(key, order())
  // It fails only when the wait below does, which then says why.
  bought.catch(() => {})
  const deadline = performance.now() + 1_500
  let text: string | undefined
  while (text === undefined && performance.now() < deadline) {
    await sleep(LOOK_EVERY_MS)
    const { rows } = await observer.query<{ query: string }>(
      `select query from pg_stat_activity where application_name = 'shopwire-api' and wait_event_type = 'Lock'`,
    )
    text = rows[0]?.query
  }
  await owner.query('rollback')
  await bought
  client.close()
  await observer.end()
  if (text === undefined) throw new Error('the order statement was not seen')
  return text
}

/** What pgbench does with a script: so many orders with each call. */
async function bare(
  system: BenchSystem,
  { name, connections, ordersPerCall }: Script,
  seconds: number,
): Promise<Speed> {
  const { folder } = system
  const own = join(findPostgres(), 'pgbench')
  const args = [
    '--no-vacuum',
    '--protocol=prepared',
    `--client=${connections}`,
    `--time=${seconds}`,
    `--file=${folder}/${name}.sql`,
    '--log',
    `--log-prefix=${folder}/bare-log`,
    system.database.processUrls.api,
  ]
  const { result, ...used } = await counted(system, () =>
    promisify(execFile)(existsSync(own) ? own : 'pgbench', args),
  )
  const [, calls] = /actually processed: (\d+)/.exec(result.stdout) ?? []
  const [, callsPerSecond] = /tps = ([\d.]+)/.exec(result.stdout) ?? []
  const orders = ordersPerCall * Number(calls)
  assertBought(`pgbench, ${name}`, used.bought, orders)
  const times = takeTimes(folder)
  return {
    ...used,
    orders,
    perSecond: ordersPerCall * Number(callsPerSecond),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    apiUs: Number.NaN,
  }
}

/** pgbench writes one line per transaction; the third field is its time in microseconds. */
function takeTimes(folder: string): number[] {
  const times: number[] = []
  for (const name of readdirSync(folder).filter((each) => each.startsWith('bare-log.'))) {
    for (const line of readFileSync(`${folder}/${name}`, 'utf8').split('\n')) {
      if (line !== '') times.push(Number(line.split(' ')[2]) / 1000)
    }
    rmSync(`${folder}/${name}`)
  }
  return times
}

async function overHttp(system: BenchSystem, server: ApiProcess, seconds: number): Promise<Speed> {
  await system.clearAdmission()
  const path = `${system.folder}/requests`
  const requests = writeRequests(path, system.keys, SIGNED_PER_SECOND * seconds, order)
  const { result, ...used } = await counted(system, () =>
    runLoad(server, { ...requests, isOnce: true }, seconds),
  )
  assertBought('HTTP', used.bought, result.requests)
  return {
    ...used,
    orders: result.requests,
    perSecond: result.perSecond,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    apiUs: result.cpuUs,
  }
}

/** What the work bought, and what that cost. */
interface Used {
  readonly bought: number
  readonly postgresUs: number
  readonly redisUs: number
  readonly loadUs: number
  readonly idle: number
}

async function counted<Result>(
  system: BenchSystem,
  work: () => Promise<Result>,
): Promise<Used & { result: Result }> {
  const { postgres, redis } = system
  const cpuMs = () => [familyCpuMs(postgres.pid()), familyCpuMs(redis?.pid())] as const
  const ordersBefore = await countOrders(system)
  const [postgresBefore, redisBefore] = cpuMs()
  const { result, loadMs, idle } = await watchMachine(work)
  // Requests that wrk left unanswered are finished first, or they would fall into the next run.
  await sleep(SETTLE_MS)
  const bought = (await countOrders(system)) - ordersBefore
  const [postgresAfter, redisAfter] = cpuMs()
  const each = (ms: number) => (1000 * ms) / bought
  return {
    result,
    bought,
    postgresUs: each(postgresAfter - postgresBefore),
    redisUs: each(redisAfter - redisBefore),
    loadUs: each(loadMs),
    idle,
  }
}

async function countOrders({ owner }: BenchSystem): Promise<number> {
  const { rows } = await owner.query<{ count: string }>('select sum(order_count) as count from balances')
  return Number(rows[0]?.count)
}

/** Those on the way when the run stopped were bought too and not counted, so there may be more orders than answers. */
function assertBought(name: string, bought: number, answered: number): void {
  if (bought < answered) throw new Error(`${name}: ${answered} answers for ${bought} orders`)
}

/** No item has a supply, so the worker looks at every order and leaves it to be delivered by hand. */
async function besideWorker(system: BenchSystem, run: () => Promise<Speed>): Promise<Speed> {
  // As after a first look at each.
  await system.owner.query(`update jobs set run_at = 'infinity', attempts = 1 where queue = 'fulfil'`)
  const worker = await system.startWorker()
  try {
    return await run()
  } finally {
    await worker.kill('SIGKILL')
  }
}

const order = () => unsignedOrder(cart(randomInt(SIZE.items), SIZE.items))

async function printProfiles(contenders: readonly Contender[], seconds: number): Promise<void> {
  for (const { name, server, run } of contenders) {
    if (!server) continue
    printProfile(name, await profileWhile(server.logs(), () => run(seconds)))
  }
}

function print(contenders: readonly Contender[], withEndpoints: readonly Contender[]): void {
  say(`\n${''.padEnd(NAME_WIDTH)}${HEADINGS}`)
  for (const { name, speeds } of [...contenders, ...withEndpoints]) {
    say(`${name.padEnd(NAME_WIDTH)}${columns(medianSpeed(speeds))}`)
  }
  const of = (those: readonly Contender[]) => those.map(({ speeds }) => speeds)
  const [one, many, ...others] = of(contenders.filter(({ isBeside }) => !isBeside)) as [
    Speed[],
    Speed[],
    ...Speed[][],
  ]
  // Neighbours in time are compared: what slowed down a whole round says nothing about the service.
  const paired = (name: string, speeds: readonly Speed[] | undefined, base: readonly Speed[]) =>
    speeds &&
    overRounds(
      name,
      speeds.map(({ perSecond }, n) => perSecond / (base[n] as Speed).perSecond),
    )
  const [onRedis, onPostgres, besideWorker] = others as [Speed[], Speed[], Speed[]?]
  const [besideDashboards] = of(contenders.filter(({ isBeside }) => isBeside))
  const [bareWith, httpWith] = of(withEndpoints) as [Speed[], Speed[]]
  const onHttp = medianSpeed(onRedis)
  say('')
  say(
    JSON.stringify({
      bench: 'orders',
      ...paired('ratio', onRedis, one),
      ...paired('ratio_postgres', onPostgres, one),
      ...paired('ratio_endpoints', httpWith, bareWith),
      ...paired('of_batched_bare', onRedis, many),
      ...paired('ratio_worker', besideWorker, one),
      ...paired('kept', besideDashboards, onRedis),
      bare_per_s: rounded(medianSpeed(one).perSecond, 0),
      batched_bare_per_s: rounded(medianSpeed(many).perSecond, 0),
      http_per_s: rounded(onHttp.perSecond, 0),
      p50_ms: rounded(onHttp.p50Ms, 2),
      p99_ms: rounded(onHttp.p99Ms, 2),
      api_us: rounded(onHttp.apiUs, 0),
      postgres_us: rounded(onHttp.postgresUs, 0),
      redis_us: rounded(onHttp.redisUs, 0),
      load_us: rounded(onHttp.loadUs, 0),
      idle: rounded(onHttp.idle),
    }),
  )
}

function medianSpeed(speeds: readonly Speed[]): Speed {
  const of = (field: keyof Speed): number => median(speeds.map((speed) => speed[field]))
  return {
    orders: of('orders'),
    perSecond: of('perSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    apiUs: of('apiUs'),
    postgresUs: of('postgresUs'),
    redisUs: of('redisUs'),
    loadUs: of('loadUs'),
    idle: of('idle'),
  }
}

const NAME_WIDTH = 25
const HEADINGS = [
  '  orders/s',
  '   p50 ms',
  '   p99 ms',
  '  CPU us: API',
  '  PostgreSQL',
  '  Redis',
  '   load',
  '  idle',
].join('')

function columns({ perSecond, p50Ms, p99Ms, apiUs, postgresUs, redisUs, loadUs, idle }: Speed): string {
  const whole = (value: number) => (Number.isNaN(value) ? '-' : value.toFixed(0))
  return [
    whole(perSecond).padStart(10),
    p50Ms.toFixed(2).padStart(9),
    p99Ms.toFixed(2).padStart(9),
    whole(apiUs).padStart(13),
    whole(postgresUs).padStart(12),
    whole(redisUs).padStart(7),
    whole(loadUs).padStart(7),
    `${whole(100 * idle)} %`.padStart(6),
  ].join('')
}
