import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { BASE_PATH, ORDER_ATTEMPTS_PER_WINDOW_MAX } from '@shopwire/contract'
import { freePort } from '@shopwire/engines'
import { endAll, type Server, startServer, temporaryFolder } from './children.ts'
import { assertWrk, type Result, runLoad, signedHeaders, writeRequests } from './load.ts'
import type { BenchOptions } from './options.ts'
import { profileWhile } from './profile.ts'
import type { FloorSettings } from './reads/floor-server.ts'
import { BIN, openShop, type Shop } from './reads/shop.ts'

/** Something that answers GET /ping, and what is known of its speed. */
interface Contender {
  readonly name: string
  readonly admission: 'none' | 'postgres' | 'redis'
  readonly server: Server
  readonly isService: boolean
  readonly results: Result[]
}

const TARGET = `${BASE_PATH}/ping`
const FLOOR_SERVER = fileURLToPath(new URL('./reads/floor-server.ts', import.meta.url))
const ADMISSION_LUA = fileURLToPath(new URL('../../service/src/access/admission.lua', import.meta.url))
/** As the service's default is, SHOPWIRE_DATABASE_CONNECTIONS. */
const DATABASE_CONNECTIONS = 10
const WARM_UP_SECONDS = 3
const SETTLE_MS = 500
/** More than one process can admit. Signing too many requests costs a second or two; too few cost the run. */
const SIGNED_PER_SECOND = 25_000
const BARE_PER_SECOND_MIN = 30_000
const PROFILE_ENTRIES = 15

/**
 * How much of what is possible the signed GET /ping keeps. On each store the service is held against a server that does only
 * the irreducible work, and both against one that does nothing. All runs in turn, several times, so that whatever else the
 * machine does falls on all of them.
 */
export async function reads({ seconds, rounds, profile }: BenchOptions): Promise<void> {
  assertWrk()
  const folder = temporaryFolder()
  say('starting PostgreSQL and Redis')
  const shop = await openShop(folder, say)
  try {
    say('starting the five servers')
    const contenders = await startContenders(shop, folder, profile)
    say('warming them up')
    for (const contender of contenders) await measure(shop, folder, contender, WARM_UP_SECONDS)
    for (let round = 1; round <= rounds; round += 1) {
      for (const contender of contenders) {
        const result = await measure(shop, folder, contender, seconds)
        contender.results.push(result)
        say(`round ${round}  ${contender.name.padEnd(NAME_WIDTH)} ${columns(result)}`)
      }
    }
    if (profile) await printProfiles(shop, folder, contenders, seconds)
    print(contenders)
  } finally {
    endAll()
    await shop.close()
  }
}

async function startContenders(shop: Shop, folder: string, profile: boolean): Promise<Contender[]> {
  const log = openSync(`${folder}/api.log`, 'a')
  const onPostgres = await startApi(shop, { SHOPWIRE_ADMISSION: 'postgres' }, log, profile)
  const onRedis = await startApi(
    shop,
    { SHOPWIRE_ADMISSION: 'redis', SHOPWIRE_REDIS_URLS: shop.redisUrl },
    log,
    profile,
  )
  await shop.beginMemory()
  // The others answer what the service answers, byte by byte.
  const body = await fetchPing(shop, onPostgres.port)
  const floor = (admission: FloorSettings['admission']) => startFloorServer(shop, folder, admission, body)
  const contender = (
    name: string,
    admission: Contender['admission'],
    server: Server,
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

/** Default settings but for the addresses and the limit, which a load of this size would run into; the log goes to a file. */
async function startApi(
  shop: Shop,
  admission: Record<string, string>,
  log: number,
  profile: boolean,
): Promise<Server> {
  const port = await freePort()
  const healthPort = await freePort()
  const env = {
    ...shop.env,
    ...admission,
    SHOPWIRE_HOST: '127.0.0.1',
    SHOPWIRE_PORT: String(port),
    SHOPWIRE_HEALTH_HOST: '127.0.0.1',
    SHOPWIRE_HEALTH_PORT: String(healthPort),
  }
  const args = [...(profile ? ['--inspect=127.0.0.1:0'] : []), `${BIN}api.ts`]
  return startServer(args, env, {
    port,
    readyUrl: `http://127.0.0.1:${healthPort}/readyz`,
    isReady: (status) => status === 200,
    stdout: log,
  })
}

async function startFloorServer(
  shop: Shop,
  folder: string,
  admission: FloorSettings['admission'],
  body: string,
): Promise<Server> {
  const port = await freePort()
  const settings: FloorSettings = {
    port,
    body,
    admission,
    databaseUrl: shop.appUrl,
    connectionsMax: DATABASE_CONNECTIONS,
    redisUrl: shop.redisUrl,
    admissionLua: readFileSync(ADMISSION_LUA, 'utf8'),
    requestsMax: shop.requestsMax,
    ordersMax: ORDER_ATTEMPTS_PER_WINDOW_MAX,
    keys: shop.keys.map(({ key_id, secret, account_id, standing }) => ({
      key_id,
      secret,
      account_id,
      standing,
    })),
  }
  const path = `${folder}/floor-${admission}.json`
  writeFileSync(path, JSON.stringify(settings), { mode: 0o600 })
  return startServer(
    [FLOOR_SERVER, path],
    {},
    {
      port,
      readyUrl: `http://127.0.0.1:${port}/`,
      isReady: (status) => status > 0,
      stdout: openSync('/dev/null', 'a'),
    },
  )
}

async function fetchPing(shop: Shop, port: number): Promise<string> {
  const [key] = shop.keys
  if (!key) throw new Error('there are no keys')
  const timestamp = String(Math.floor(Date.now() / 1000))
  const response = await fetch(`http://127.0.0.1:${port}${TARGET}`, {
    headers: signedHeaders(key, TARGET, timestamp),
  })
  const body = await response.text()
  if (response.status !== 200) throw new Error(`GET ${TARGET} answered ${response.status}: ${body}`)
  return body
}

/** One run on a clean slate, with requests signed just before it. */
async function measure(shop: Shop, folder: string, contender: Contender, seconds: number): Promise<Result> {
  const { admission, server } = contender
  await shop.forget()
  const path = `${folder}/requests`
  // The bare server does not mind being asked the same again.
  const count = SIGNED_PER_SECOND * (admission === 'none' ? 1 : seconds)
  const requests = writeRequests(path, TARGET, shop.keys, count)
  const result = await runLoad(server, { ...requests, isOnce: admission !== 'none' }, seconds).catch(
    (error: Error) => {
      throw new Error(`${contender.name}: ${error.message}\n${server.complaints()}`)
    },
  )
  // What wrk left behind is finished first, or it would fall into the next run.
  await sleep(SETTLE_MS)
  // Those on the way when wrk stopped have cost a nonce too and were not counted, so there may be more nonces than answers.
  if (admission !== 'none') {
    const spent = await shop.noncesSpent(admission)
    if (spent < result.requests) {
      throw new Error(`${contender.name}: ${result.requests} answers for ${spent} nonces`)
    }
  }
  return result
}

/** In runs of their own, so that looking does not slow down what is reported. */
async function printProfiles(
  shop: Shop,
  folder: string,
  contenders: readonly Contender[],
  seconds: number,
): Promise<void> {
  for (const contender of contenders.filter(({ isService }) => isService)) {
    const entries = await profileWhile(contender.server.complaints(), () =>
      measure(shop, folder, contender, seconds),
    )
    say(`\n${contender.name}: share of its time, by function`)
    for (const { place, percent } of entries.slice(0, PROFILE_ENTRIES)) {
      say(`${percent.toFixed(1).padStart(6)} %  ${place}`)
    }
  }
}

function print(contenders: readonly Contender[]): void {
  const medians = contenders.map(({ results }) => medianOf(results))
  say(`\n${''.padEnd(NAME_WIDTH)} ${HEADINGS}`)
  for (const [n, { name }] of contenders.entries()) {
    say(`${name.padEnd(NAME_WIDTH)} ${columns(medians[n] as Result)}`)
  }
  const [a, bPostgres, cPostgres, bRedis, cRedis] = medians.map(({ perSecond }) => perSecond) as [
    number,
    number,
    number,
    number,
    number,
  ]
  say(
    a < BARE_PER_SECOND_MIN
      ? `wrk drove the bare server at less than ${BARE_PER_SECOND_MIN}/s: this machine is slow, or busy with other work.`
      : `wrk drove the bare server at ${Math.round(a)}/s, so it is not what holds back the others.`,
  )
  const ratio = (one: number, other: number) => Math.round((1000 * one) / other) / 1000
  say('')
  say(
    JSON.stringify({
      bench: 'reads',
      ratio_redis: ratio(cRedis, bRedis),
      ratio_postgres: ratio(cPostgres, bPostgres),
      of_bare_redis: ratio(cRedis, a),
      of_bare_postgres: ratio(cPostgres, a),
    }),
  )
}

function medianOf(results: readonly Result[]): Result {
  const median = (field: keyof Result): number => {
    const sorted = results.map((result) => result[field]).sort((a, b) => a - b)
    const middle = (sorted.length - 1) / 2
    return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2
  }
  return {
    perSecond: median('perSecond'),
    requests: median('requests'),
    p50Ms: median('p50Ms'),
    p99Ms: median('p99Ms'),
    cpuUs: median('cpuUs'),
    failures: median('failures'),
  }
}

const NAME_WIDTH = 22
const HEADINGS = ['requests/s', '   p50 ms', '   p99 ms', '   CPU us', '  not 2xx'].join('')

function columns({ perSecond, p50Ms, p99Ms, cpuUs, failures }: Result): string {
  return [
    perSecond.toFixed(0).padStart(10),
    p50Ms.toFixed(2).padStart(9),
    p99Ms.toFixed(2).padStart(9),
    (Number.isNaN(cpuUs) ? '-' : cpuUs.toFixed(0)).padStart(9),
    String(failures).padStart(9),
  ].join('')
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
