import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BASE_PATH, ORDER_ATTEMPTS_PER_WINDOW_MAX } from '@shopwire/contract'
import { type RedisCluster, startRedisCluster } from '@shopwire/test-kit/redis'
import { signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { freePort } from '@shopwire/test-kit/servers'
import { ageMemory, LIMITLESS, startScript } from '@shopwire/test-kit/systems'
import { besideDashboards } from './dashboard/open-dashboards.ts'
import type { FloorSettings } from './reads/floor-server.ts'
import { type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { overRounds, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import {
  assertWrk,
  columns,
  HEADINGS,
  medianResult,
  type Result,
  runLoad,
  type Target,
  writeRequests,
} from './shared/load.ts'
import type { BenchOptions } from './shared/options.ts'
import { printProfile, profileWhile } from './shared/profile.ts'

/** Something that answers GET /ping, and what is known of its speed. */
interface Contender {
  readonly name: string
  readonly admission: 'none' | 'postgres' | 'redis' | 'redis-cluster'
  readonly server: Target
  readonly isService: boolean
  /** Empties nonces and windows that `clearAdmission` does not know. */
  clear?(): Promise<void>
  /** Measured while dashboards are open. */
  readonly isBeside?: boolean
  readonly results: Result[]
}

const TARGET = `${BASE_PATH}/ping`
const FLOOR_SERVER = fileURLToPath(new URL('./reads/floor-server.ts', import.meta.url))
const ADMISSION_LUA = fileURLToPath(new URL('../service/src/access/admission.lua', import.meta.url))
/** As the service's default is, SHOPWIRE_DATABASE_CONNECTIONS. */
const DATABASE_CONNECTIONS = 10
/**
 * Enough that an account's window holds about what the contract allows by the end of a run. With a handful the windows
 * would grow to thousands of stamps, and reading them would hide everything else.
 */
const ACCOUNTS = 200
const WARM_UP_SECONDS = 3
const SETTLE_MS = 500
/** More than one process can admit. Signing too many requests costs a second or two; too few cost the run. */
const SIGNED_PER_SECOND = 25_000
const BARE_PER_SECOND_MIN = 30_000
const NAME_WIDTH = 25

/**
 * Compares the signed GET /ping, on each admission store, with a server that does only the necessary work, and both with one
 * that does nothing. The runs alternate, several times, so that other work on the machine affects all of them.
 */
export async function reads({ seconds, rounds, profile, dashboards, cluster }: BenchOptions): Promise<void> {
  assertWrk()
  say('starting PostgreSQL and Redis')
  const system = await startBenchSystem({ accounts: ACCOUNTS, keys: ACCOUNTS, scopes: 'read', profile })
  const redisCluster = cluster ? await startRedisCluster() : undefined
  try {
    say('starting the servers')
    const contenders = await startContenders(system)
    if (redisCluster) contenders.push(await startOnCluster(system, redisCluster))
    const beside = dashboards > 0 ? await besideDashboards(system, dashboards) : undefined
    if (beside) contenders.push(...contenders.filter(({ isService }) => isService).map(withDashboards))
    const run = (contender: Contender, length: number) => {
      const measured = () => measure(system, contender, length)
      return contender.isBeside && beside ? beside(measured) : measured()
    }
    say('warming them up')
    for (const contender of contenders) await run(contender, WARM_UP_SECONDS)
    // As `beginMemory` does for the others.
    if (redisCluster) await ageMemory({ ...system, cluster: redisCluster })
    for (let round = 1; round <= rounds; round += 1) {
      for (const contender of contenders) {
        const result = await run(contender, seconds)
        contender.results.push(result)
        say(`round ${round}  ${contender.name.padEnd(NAME_WIDTH)} ${columns(result)}`)
      }
    }
    if (profile) await printProfiles(system, contenders, seconds)
    await assertInvariants(system)
    print(contenders)
  } finally {
    await system.stop()
    await redisCluster?.stop()
  }
}

async function startContenders(system: BenchSystem): Promise<Contender[]> {
  const onPostgres = await system.startApi('postgres')
  const onRedis = await system.startApi('redis')
  await system.beginMemory()
  // The others answer what the service answers, byte by byte.
  const body = await fetchPing(system, onPostgres.url)
  const floor = (admission: FloorSettings['admission']) => startFloorServer(system, admission, body)
  const contender = (
    name: string,
    admission: Contender['admission'],
    server: Target,
    isService = false,
  ): Contender => ({ name, admission, server, isService, results: [] })
  return [
    contender('a  bare', 'none', await floor('none')),
    contender('b  floor, PostgreSQL', 'postgres', await floor('postgres')),
    contender('c  service, PostgreSQL', 'postgres', onPostgres, true),
    contender('b  floor, Redis', 'redis', await floor('redis')),
    contender('c  service, Redis', 'redis', onRedis, true),
  ]
}

async function startOnCluster(system: BenchSystem, cluster: RedisCluster): Promise<Contender> {
  const server = await system.startApi('redis-cluster', { SHOPWIRE_REDIS_URLS: cluster.urls.join(',') })
  return {
    name: 'c  service, Redis Cluster',
    admission: 'redis-cluster',
    server,
    isService: true,
    async clear() {
      for (const { command } of cluster.nodes) await command('EVAL', CLEAR_LUA, '0')
    },
    results: [],
  }
}
const CLEAR_LUA = `
for _, key in ipairs(redis.call('KEYS', 'shopwire:{*')) do
  redis.call('UNLINK', key)
end
return 1`

const withDashboards = (contender: Contender): Contender => ({
  ...contender,
  name: `${contender.name} +`,
  isBeside: true,
  results: [],
})

async function startFloorServer(
  system: BenchSystem,
  admission: FloorSettings['admission'],
  body: string,
): Promise<Target> {
  const port = await freePort()
  const settings: FloorSettings = {
    port,
    body,
    admission,
    databaseUrl: system.database.processUrls.api,
    connectionsMax: DATABASE_CONNECTIONS,
    redisUrl: system.redisUrl,
    admissionLua: readFileSync(ADMISSION_LUA, 'utf8'),
    requestsMax: LIMITLESS,
    ordersMax: ORDER_ATTEMPTS_PER_WINDOW_MAX,
    keys: system.keys,
  }
  const path = `${system.folder}/floor-${admission}.json`
  writeFileSync(path, JSON.stringify(settings), { mode: 0o600 })
  const floor = await startScript(FLOOR_SERVER, [path], {
    readyUrl: `http://127.0.0.1:${port}/`,
    isReady: (status) => status > 0,
    stdout: openSync('/dev/null', 'a'),
  })
  return { ...system.owns(floor), port }
}

async function fetchPing({ keys: [key] }: BenchSystem, url: string): Promise<string> {
  if (!key) throw new Error('there are no keys')
  const response = await fetch(url + TARGET, { headers: signedHeaders(key, 'GET', TARGET) })
  const body = await response.text()
  if (response.status !== 200) throw new Error(`GET ${TARGET} answered ${response.status}: ${body}`)
  return body
}

/** One run with empty windows and nonces, with requests signed just before it. */
async function measure(system: BenchSystem, contender: Contender, seconds: number): Promise<Result> {
  const { admission, server } = contender
  await system.clearAdmission()
  await contender.clear?.()
  const path = `${system.folder}/requests`
  // The bare server accepts the same request again.
  const count = SIGNED_PER_SECOND * (admission === 'none' ? 1 : seconds)
  const requests = writeRequests(path, system.keys, count, () => ({ method: 'GET', target: TARGET }))
  const result = await runLoad(server, { ...requests, isOnce: admission !== 'none' }, seconds).catch(
    (error: Error) => {
      throw new Error(`${contender.name}: ${error.message}\n${server.logs()}`)
    },
  )
  // Requests that wrk left unanswered are finished first, or they would fall into the next run.
  await sleep(SETTLE_MS)
  // Those on the way when wrk stopped have cost a nonce too and were not counted, so there may be more nonces than answers.
  if (admission === 'postgres' || admission === 'redis') {
    const spent = await system.noncesSpent(admission)
    if (spent < result.requests) {
      throw new Error(`${contender.name}: ${result.requests} answers for ${spent} nonces`)
    }
  }
  return result
}

/** In runs of their own, so that looking does not slow down what is reported. */
async function printProfiles(
  system: BenchSystem,
  contenders: readonly Contender[],
  seconds: number,
): Promise<void> {
  for (const contender of contenders.filter(({ isService, isBeside }) => isService && !isBeside)) {
    const entries = await profileWhile(contender.server.logs(), () => measure(system, contender, seconds))
    printProfile(contender.name, entries)
  }
}

function print(contenders: readonly Contender[]): void {
  const medians = contenders.map(({ results }) => medianResult(results))
  say(`\n${''.padEnd(NAME_WIDTH)} ${HEADINGS}`)
  for (const [n, { name }] of contenders.entries()) {
    say(`${name.padEnd(NAME_WIDTH)} ${columns(medians[n] as Result)}`)
  }
  const [a = Number.NaN] = medians.map(({ perSecond }) => perSecond)
  // Neighbours in time are compared: what slowed down a whole round says nothing about the service.
  const [bare, floorPostgres, onPostgres, floorRedis, onRedis] = contenders.map(({ results }) => results) as [
    Result[],
    Result[],
    Result[],
    Result[],
    Result[],
  ]
  const paired = (name: string, results: readonly Result[], base: readonly Result[]) =>
    overRounds(
      name,
      results.map(({ perSecond }, n) => perSecond / (base[n] as Result).perSecond),
    )
  const onCluster = contenders.find(({ admission }) => admission === 'redis-cluster')?.results
  const kept = contenders
    .filter(({ isBeside }) => isBeside)
    .map(({ admission, results }) => {
      const without = contenders.find((one) => one.isService && one.admission === admission)?.results ?? []
      return paired(`kept_${admission}`, results, without)
    })
  say(
    a < BARE_PER_SECOND_MIN
      ? `wrk drove the bare server at less than ${BARE_PER_SECOND_MIN}/s: this machine is slow, or busy with other work.`
      : `wrk drove the bare server at ${Math.round(a)}/s, so wrk does not limit the others.`,
  )
  say('')
  say(
    JSON.stringify({
      bench: 'reads',
      ...paired('ratio_redis', onRedis, floorRedis),
      ...paired('ratio_postgres', onPostgres, floorPostgres),
      ...paired('of_bare_redis', onRedis, bare),
      ...paired('of_bare_postgres', onPostgres, bare),
      ...Object.assign({}, ...kept),
      ...(onCluster && {
        ...paired('ratio_cluster', onCluster, floorRedis),
        cluster_per_s: rounded(medianResult(onCluster).perSecond, 0),
      }),
      redis_per_s: rounded(medianResult(onRedis).perSecond, 0),
      postgres_per_s: rounded(medianResult(onPostgres).perSecond, 0),
      redis_api_us: rounded(medianResult(onRedis).cpuUs, 0),
      postgres_api_us: rounded(medianResult(onPostgres).cpuUs, 0),
    }),
  )
}
