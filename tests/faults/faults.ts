import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { checkInvariants } from '@shopwire/test-kit/invariants'
import { changeUrls, makeSlowDisk, mountSmallDisk } from '@shopwire/test-kit/servers'
import {
  capture,
  limitless,
  newItem,
  newLinks,
  type ServerProcess,
  SHIFTED_CLOCK,
  type System,
  spawnScript,
  startSystem,
} from '@shopwire/test-kit/systems'
import pg from 'pg'
import { type Account, type Bought, type Goods, startBuying } from './buying.ts'
import { KINDS, type Rig } from './kinds.ts'
import { seeded } from './seeded.ts'
import { startWire, type Wire } from './wires.ts'

/** As SHOPWIRE_BATCHING. */
export const batchings = ['adaptive', 'always', 'off'] as const

export interface FaultOptions {
  /** How long orders are placed, unless there are enough of them before. */
  readonly seconds: number
  /** Chooses what is bought by whom, what is broken, and when. How far an order has come at that moment is up to the machine. */
  readonly seed: number
  readonly orders: number
  readonly accounts: number
  /** Seconds between two faults, on average. */
  readonly every: number
  /** Names of KINDS, in an order that the seed chooses, over and over. */
  readonly kinds: readonly string[]
  readonly admission: 'redis' | 'postgres'
  readonly batching: (typeof batchings)[number]
  /** A worker that delivers, and is broken as well. It takes most of the processor: without it there are several times as many orders. */
  readonly worker: boolean
}

export interface FaultReport {
  readonly seed: number
  readonly seconds: number
  readonly orders: number
  readonly orders_per_s: number
  readonly broken: Readonly<Record<string, number>>
  /** Answers that said "try again", and requests whose connection was lost. */
  readonly refused: number
  readonly lost: number
  /** Keys whose order had been bought by a request that got no answer. */
  readonly replayed: number
  readonly longest_wait_ms: number
  readonly wrong: readonly string[]
}

const MAKE_ACCOUNTS = fileURLToPath(new URL('../../service/testing/make-accounts.ts', import.meta.url))
const BALANCE_CENTS = 100_000_000
/** Enough of the item that has a pool for the orders to be delivered by a worker that is killed as well. */
const LINKS = 20_000
const DISK = '2g'
const REPORT_EVERY_MS = 10_000
const PAGE = 50_000
const WRONG_SHOWN = 20

/**
 * Many accounts buy through two API processes, and a worker delivers, while processes and PostgreSQL are killed and stand still, networks
 * are cut, answers are lost, clocks are wrong, and the disk is slow or full. Every order is sent until its caller knows what became of it.
 * At the end each key must have bought exactly once, what callers were told must be what the database says, and no invariant may be
 * violated.
 */
export async function runFaults(options: FaultOptions, say: (line: string) => void): Promise<FaultReport> {
  const redis = options.admission === 'redis' ? 'Redis, ' : ''
  say(`starting PostgreSQL, ${redis}two API processes${options.worker ? ' and a worker' : ''}`)
  const rig = await startRig(options)
  const { system } = rig
  try {
    const goods = await stockStore(system)
    say(`making ${options.accounts} accounts`)
    const accounts = await makeAccounts(system, options.accounts)
    const startedMs = performance.now()
    const origins = rig.toApis.map(({ port }) => `http://127.0.0.1:${port}`)
    const buying = startBuying({ ...options, origins, accounts, goods })
    const breaking = startBreaking(rig, options, say)
    const deadlineMs = startedMs + options.seconds * 1000
    while (performance.now() < deadlineMs && !buying.isDone()) {
      await Promise.race([buying.done, sleep(Math.min(REPORT_EVERY_MS, deadlineMs - performance.now()))])
      say(`${buying.count()} orders`)
    }
    const broken = await breaking.stop()
    const bought = await buying.stop()
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    say(`comparing ${bought.orders.size} orders with the database`)
    const wrong = [
      ...bought.wrong,
      ...(await compareWithDatabase(system.superuserUrl, bought.orders)),
      ...(await violationsIn(system)),
    ]
    return {
      seed: options.seed,
      seconds,
      orders: bought.orders.size,
      orders_per_s: Math.round(bought.orders.size / seconds),
      broken,
      refused: bought.refused,
      lost: bought.lost + bought.unreachable,
      replayed: bought.replayed,
      longest_wait_ms: Math.round(bought.longestMs),
      wrong: wrong.slice(0, WRONG_SHOWN),
    }
  } finally {
    await rig.stop()
  }
}

/** A store whose parts can be broken one by one. Its database is in memory, so that a disk can be full and flushes cost nothing by themselves. */
async function startRig({
  admission,
  batching,
  worker,
}: FaultOptions): Promise<Rig & { stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-faults-'))
  const [disk, slowDisk] = [await mountSmallDisk(DISK), await makeSlowDisk()]
  const system = await startSystem({
    admission,
    apis: 0,
    durable: disk !== undefined,
    ...(disk && { postgresDir: join(disk.folder, 'postgres') }),
    ...(slowDisk && { postgresEnv: slowDisk.env }),
    postgresSettings: { max_wal_size: '256MB', min_wal_size: '80MB' },
    settings: { ...limitless, SHOPWIRE_LOG_LEVEL: 'silent', SHOPWIRE_BATCHING: batching },
  })
  const toDatabase = await startWire(() => system.postgres.port)
  const direct = system.database
  const throughWire = (url: string) => Object.assign(new URL(url), { port: String(toDatabase.port) }).href
  system.database = { ...changeUrls(direct, throughWire), ownerUrl: direct.ownerUrl }
  const processes: { name: string; server: ServerProcess; clock: string }[] = []
  const withClock = async (name: string) => {
    const clock = join(folder, name)
    await writeFile(clock, '0')
    const settings = { TEST_CLOCK_FILE: clock }
    return { clock, settings, how: { nodeArgs: ['--import', SHIFTED_CLOCK] } }
  }
  const toApis: Wire[] = []
  for (const name of ['the first API', 'the second API']) {
    const { clock, settings, how } = await withClock(name)
    const server = await system.startApi(settings, how)
    processes.push({ name, server, clock })
    toApis.push(await startWire(() => server.port))
  }
  if (worker) {
    const { clock, settings, how } = await withClock('the worker')
    processes.push({ name: 'the worker', server: await system.startWorker(settings, how), clock })
  }
  // What an operator does goes its own way.
  await system.closeOperator()
  const operatorUrl = direct.processUrls.operator
  system.database = {
    ...system.database,
    processUrls: { ...system.database.processUrls, operator: operatorUrl },
  }
  return {
    ...{ system, processes, toDatabase, toApis, slowDisk },
    filler: disk && join(disk.folder, 'filler'),
    async stop() {
      await system.stop()
      await Promise.all([toDatabase, ...toApis].map((wire) => wire.close()))
      await Promise.all([slowDisk?.remove(), disk?.remove(), rm(folder, { recursive: true, force: true })])
    },
  }
}

export async function stockStore(system: System): Promise<Goods> {
  const [byHand, fromPool] = [newItem(100), newItem(250)]
  await system.importItems([byHand, fromPool])
  await system.loadPool(fromPool.id, newLinks(LINKS))
  return { byHand: byHand.id, fromPool: fromPool.id }
}

export async function makeAccounts(system: System, count: number): Promise<Account[]> {
  const child = spawnScript(
    MAKE_ACCOUNTS,
    [String(count), String(BALANCE_CENTS)],
    system.settingsOf('operator'),
  )
  const [printed, errors] = [capture(child, 'stdout'), capture(child, 'stderr')]
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`accounts could not be made:\n${errors()}`)
  return JSON.parse(printed())
}

/** One fault after the other, half to one and a half as long apart as was asked, each kind as often as any other. */
function startBreaking(rig: Rig, { seed, every, kinds }: FaultOptions, say: (line: string) => void) {
  const random = seeded(`${seed} faults`)
  const broken: Record<string, number> = {}
  const stopped = new AbortController()

  async function breaking(): Promise<void> {
    for (let left: string[] = []; ; ) {
      const waitMs = every * 1000 * (0.5 + random())
      await sleep(waitMs, undefined, { signal: stopped.signal }).catch(() => {})
      if (stopped.signal.aborted) return
      if (left.length === 0) left = [...kinds]
      const [name = ''] = left.splice(Math.floor(random() * left.length), 1)
      const beganMs = performance.now()
      const what = await KINDS[name]?.(rig, random)
      if (what === undefined) {
        say(`${name} is not possible here`)
        continue
      }
      broken[name] = (broken[name] ?? 0) + 1
      say(`${what}, ${Math.round(performance.now() - beganMs)} ms`)
    }
  }
  const done = breaking()
  return {
    async stop() {
      stopped.abort()
      await done
      return broken
    },
  }
}

/** What callers were told against what the database says, both ways. */
export async function compareWithDatabase(superuserUrl: string, orders: Bought['orders']): Promise<string[]> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  const wrong: string[] = []
  let found = 0
  try {
    for (let last = { account_id: '', id: '' }; ; ) {
      const { rows } = await client.query<{ account_id: string; id: string; idempotency_key: string }>(
        `select account_id, id, idempotency_key
           from orders
          where (account_id, id) > ($1, $2)
          order by account_id, id
          limit ${PAGE}`,
        [last.account_id, last.id],
      )
      for (const { id, idempotency_key } of rows) {
        const told = orders.get(idempotency_key)
        if (told === id) found += 1
        else wrong.push(`${idempotency_key} bought ${id}; its caller was told ${told ?? 'nothing'}`)
      }
      const end = rows.at(-1)
      if (!end || rows.length < PAGE) break
      last = end
    }
  } finally {
    await client.end()
  }
  if (found !== orders.size) wrong.push(`${orders.size - found} acknowledged orders are missing`)
  return wrong
}

export async function violationsIn(system: System): Promise<string[]> {
  const violated = await checkInvariants(system.superuserUrl)
  return violated.map(({ rule, what, ids }) => `rule ${rule}: ${what}: ${ids.slice(0, 3).join(', ')}`)
}
