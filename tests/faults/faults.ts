import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { checkInvariants } from '@shopwire/test-kit/invariants'
import {
  capture,
  limitless,
  newItem,
  newLinks,
  type ServerProcess,
  type System,
  spawnScript,
  startSystem,
} from '@shopwire/test-kit/systems'
import pg from 'pg'
import { type Account, type Bought, type Goods, startBuying } from './buying.ts'
import { seeded } from './seeded.ts'

export interface FaultOptions {
  /** How long orders are placed, unless there are enough of them before. */
  readonly seconds: number
  /** Chooses what is bought by whom, what is killed, and when. How far an order has come at that moment is up to the machine. */
  readonly seed: number
  readonly orders: number
  readonly accounts: number
  /** Seconds between two kills of PostgreSQL, on average. */
  readonly every: number
  readonly admission: 'redis' | 'postgres'
  /** A worker that delivers, and is killed as well. It takes most of the processor: without it there are several times as many orders. */
  readonly worker: boolean
}

export interface FaultReport {
  readonly seed: number
  readonly seconds: number
  readonly orders: number
  readonly orders_per_s: number
  readonly killed: Readonly<Record<Victim, number>>
  /** Answers that said "try again", and requests whose connection was lost. */
  readonly refused: number
  readonly lost: number
  /** Keys whose order had been bought by a request that got no answer. */
  readonly replayed: number
  readonly longest_wait_ms: number
  readonly wrong: readonly string[]
}

type Victim = 'postgres' | 'api' | 'worker'

const MAKE_ACCOUNTS = fileURLToPath(new URL('../../service/testing/make-accounts.ts', import.meta.url))
const BALANCE_CENTS = 100_000_000
/** Enough of the item that has a pool for the orders to be delivered by a worker that is killed as well. */
const LINKS = 20_000
const REPORT_EVERY_MS = 10_000
const PAGE = 50_000
const WRONG_SHOWN = 20

/**
 * Many accounts buy through two API processes while PostgreSQL, the API processes and the worker are killed with SIGKILL. Every order is
 * sent until its caller knows what became of it. At the end each key must have bought exactly once, what callers were told must be what
 * the database says, and no invariant may be violated.
 */
export async function runFaults(options: FaultOptions, say: (line: string) => void): Promise<FaultReport> {
  // Without fsync: what a killed server has written is with the kernel, and only a crash of the machine could lose it.
  say(
    `starting PostgreSQL, ${options.admission === 'redis' ? 'Redis, ' : ''}two API processes${options.worker ? ' and a worker' : ''}`,
  )
  const system = await startSystem({
    admission: options.admission,
    apis: 2,
    settings: { ...limitless, SHOPWIRE_LOG_LEVEL: 'silent' },
  })
  try {
    const goods = await stockStore(system)
    say(`making ${options.accounts} accounts`)
    const accounts = await makeAccounts(system, options.accounts)
    const worker = options.worker ? await system.startWorker() : undefined
    const startedMs = performance.now()
    const buying = startBuying({
      ...options,
      origins: system.ports.map((port) => `http://127.0.0.1:${port}`),
      accounts,
      goods,
    })
    const killing = startKilling(system, worker, options, say)
    const deadlineMs = startedMs + options.seconds * 1000
    while (performance.now() < deadlineMs && !buying.isDone()) {
      await Promise.race([buying.done, sleep(Math.min(REPORT_EVERY_MS, deadlineMs - performance.now()))])
      say(`${buying.count()} orders`)
    }
    const killed = await killing.stop()
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
      killed,
      refused: bought.refused,
      lost: bought.lost + bought.unreachable,
      replayed: bought.replayed,
      longest_wait_ms: Math.round(bought.longestMs),
      wrong: wrong.slice(0, WRONG_SHOWN),
    }
  } finally {
    await system.stop()
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

/** PostgreSQL at intervals, half to one and a half as long as was asked; beside it, as often, an API process or the worker. */
function startKilling(
  system: System,
  worker: ServerProcess | undefined,
  { seed, every }: FaultOptions,
  say: (line: string) => void,
) {
  const killed: Record<Victim, number> = { postgres: 0, api: 0, worker: 0 }
  const stopped = new AbortController()

  async function killPostgres(): Promise<void> {
    const beganMs = performance.now()
    await system.postgres.restart('kill9')
    killed.postgres += 1
    say(`PostgreSQL killed and back after ${Math.round(performance.now() - beganMs)} ms`)
  }

  async function killOther(random: () => number): Promise<void> {
    const choices: [Victim, ServerProcess][] = system.apis.map((api) => ['api', api])
    if (worker) choices.push(['worker', worker])
    const [victim, process] = pick(random(), choices)
    await process.kill('SIGKILL')
    killed[victim] += 1
    await process.start()
  }

  async function atIntervals(kill: (random: () => number) => Promise<void>): Promise<void> {
    const random = seeded(`${seed} ${kill.name}`)
    for (;;) {
      const waitMs = every * 1000 * (0.5 + random())
      await sleep(waitMs, undefined, { signal: stopped.signal }).catch(() => {})
      if (stopped.signal.aborted) return
      await kill(random)
    }
  }

  const done = Promise.all([atIntervals(killPostgres), atIntervals(killOther)])
  return {
    async stop() {
      stopped.abort()
      await done
      return killed
    },
  }
}

function pick<Choice>(random: number, choices: readonly Choice[]): Choice {
  return choices[Math.floor(random * choices.length)] as Choice
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
