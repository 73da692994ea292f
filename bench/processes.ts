import { randomInt } from 'node:crypto'
import { BASE_PATH } from '@shopwire/contract'
import { type ApiProcess, familyCpuMs } from '@shopwire/test-kit/systems'
import { type Admission, type BenchSystem, startBenchSystem } from './shared/bench-system.ts'
import { median, rounded, say } from './shared/figures.ts'
import { assertInvariants } from './shared/invariants.ts'
import { assertWrk, runLoad, type Unsigned, unsignedOrder, writeRequests } from './shared/load.ts'
import type { BenchOptions } from './shared/options.ts'
import { cart, type ShopSize, seed } from './shared/seed.ts'

const SIZE: ShopSize = { accounts: 1_000, orders: 10_000, items: 2_000 }
const KEYS = 200
const COUNTS = [1, 2, 4] as const
const WARM_UP_SECONDS = 2
/** To each process: one adds processes because there are more callers, and a batch is made of the calls of one process. */
const CONNECTIONS_EACH = 32
const SIGNED_PER_SECOND = { read: 25_000, order: 8_000 } as const
const KINDS = ['read', 'order'] as const
type Kind = (typeof KINDS)[number]

interface Cell {
  readonly admission: Admission
  readonly kind: Kind
  readonly count: (typeof COUNTS)[number]
  /** Requests a second of all processes, and the CPU time of API, PostgreSQL and Redis for one of them, per round. */
  readonly rates: number[]
  readonly cpuUs: number[]
}

/**
 * What does it cost that several API processes share one database? One, two and four processes with the same number of connections each; what
 * counts is the processor time of everything but the load generator for one request, against one process. Two cores cannot show
 * that more processes are faster.
 */
export async function processes({ seconds, rounds }: BenchOptions): Promise<void> {
  assertWrk()
  say('starting PostgreSQL and Redis')
  const system = await startBenchSystem({ accounts: SIZE.accounts, keys: KEYS, scopes: 'ordering' })
  try {
    await seed(system.owner, SIZE, say)
    const cells: Cell[] = []
    for (const admission of ['postgres', 'redis'] as const) {
      const apis: ApiProcess[] = []
      for (let n = 0; n < Math.max(...COUNTS); n += 1) apis.push(await system.startApi(admission))
      await system.beginMemory()
      const own = COUNTS.flatMap((count) =>
        KINDS.map((kind): Cell => ({ admission, kind, count, rates: [], cpuUs: [] })),
      )
      cells.push(...own)
      for (const cell of own) await measure(system, apis.slice(0, cell.count), cell, WARM_UP_SECONDS)
      for (let round = 1; round <= rounds; round += 1) {
        for (const cell of own) {
          const { perSecond, cpuUs } = await measure(system, apis.slice(0, cell.count), cell, seconds)
          cell.rates.push(perSecond)
          cell.cpuUs.push(cpuUs)
          say(
            `round ${round}  ${nameOf(cell)}${perSecond.toFixed(0).padStart(8)}/s${cpuUs.toFixed(0).padStart(7)} us`,
          )
        }
      }
      for (const api of apis) await api.kill('SIGTERM')
    }
    await assertInvariants(system)
    print(cells)
  } finally {
    await system.stop()
  }
}

async function measure(
  system: BenchSystem,
  apis: readonly ApiProcess[],
  { kind }: Cell,
  seconds: number,
): Promise<{ perSecond: number; cpuUs: number }> {
  await system.clearAdmission()
  const share = Math.ceil((SIGNED_PER_SECOND[kind] * seconds) / apis.length)
  // Every account uses every process, as behind a load balancer.
  const files = apis.map((_, n) =>
    writeRequests(`${system.folder}/requests-${n}`, system.keys, share, MAKE[kind]),
  )
  const cpuMs = () =>
    familyCpuMs(system.postgres.pid()) +
    familyCpuMs(system.redis?.pid()) +
    apis.reduce((sum, api) => sum + api.cpuMs(), 0)
  const before = cpuMs()
  const results = await Promise.all(
    apis.map((api, n) => {
      const file = files[n] as (typeof files)[number]
      return runLoad(api, { ...file, isOnce: true }, seconds, CONNECTIONS_EACH)
    }),
  )
  const total = (of: (result: (typeof results)[number]) => number) =>
    results.reduce((sum, one) => sum + of(one), 0)
  return {
    perSecond: total(({ perSecond }) => perSecond),
    cpuUs: (1000 * (cpuMs() - before)) / total(({ requests }) => requests),
  }
}

const MAKE: Readonly<Record<Kind, () => Unsigned>> = {
  read: () => ({ method: 'GET', target: `${BASE_PATH}/ping` }),
  order: () => unsignedOrder(cart(randomInt(SIZE.items), SIZE.items)),
}

const nameOf = ({ admission, kind, count }: Cell) =>
  `${`${kind}s, ${admission}, ${count} processes`.padEnd(32)}`

function print(cells: readonly Cell[]): void {
  say(`\n${''.padEnd(32)}       /s  CPU us  of one process`)
  const costs: Record<string, number> = {}
  for (const cell of cells) {
    const one = cells.find(
      ({ admission, kind, count }) => admission === cell.admission && kind === cell.kind && count === 1,
    ) as Cell
    // Neighbours in time are compared.
    const cost = rounded(median(cell.cpuUs.map((us, n) => us / (one.cpuUs[n] as number))))
    if (cell.count > 1) costs[`${cell.kind}_${cell.admission}_${cell.count}`] = cost
    say(
      `${nameOf(cell)}${median(cell.rates).toFixed(0).padStart(9)}${median(cell.cpuUs).toFixed(0).padStart(8)}${cost.toFixed(2).padStart(16)}`,
    )
  }
  say('')
  say(JSON.stringify({ bench: 'processes', ...costs }))
}
