import { setTimeout as sleep } from 'node:timers/promises'
import type { Postgres } from '@shopwire/test-kit/servers'
import pg from 'pg'
import type { Contender } from './contender.ts'
import type { Fleet } from './fleet.ts'
import type { Producer } from './producer.ts'

/** What a cell can do something to. */
export interface Stage {
  readonly postgres: Postgres
  readonly contender: Contender
  readonly fleet: Fleet
  readonly producer: Producer
  /** Jobs per second that are offered before. */
  readonly rate: number
}

/**
 * One scenario of hardbyte/postgresql-job-queue-benchmarking (scripts/run_full_sweep.sh and bench_harness/ there, of May 2026), in
 * code of our own and shorter.
 */
export interface Cell {
  readonly name: string
  readonly kind: 'chaos' | 'pressure'
  /** Worker processes. */
  readonly workers: number
  readonly slots: number
  readonly rate: number
  /** How long the trouble lasts, as a multiple of `--seconds`. */
  readonly length: number
  /** While it lasts no queue can start jobs in time, so start delays count from its end. */
  readonly isOutage: boolean
  /** Makes the trouble and ends it. */
  trouble(stage: Stage, ms: number): Promise<void>
}

/** Jobs per second that every contender can do on two cores; there 600, 800 under pressure and 1,200 before the burst. */
const CHAOS_RATE = 300
const PRESSURE_RATE = 300
const BURST_RATE = 400
const HIGH_LOAD = 1.5
const SLOTS = 16
/** Of the 200 that the server allows; there 300 of 400. */
const IDLE_CONNECTIONS = 150
const BACKEND_KILLS_PER_SECOND = 2
const READERS = 4
const READ_EVERY_MS = 100
const KILL_EVERY_MS = 2_500
const DEAD_MS = 1_000

const chaos = { kind: 'chaos', workers: 1, slots: SLOTS, rate: CHAOS_RATE, isOutage: false } as const
const pressure = { kind: 'pressure', workers: 1, slots: SLOTS, rate: PRESSURE_RATE, isOutage: false } as const

export const CELLS: readonly Cell[] = [
  {
    ...chaos,
    name: 'worker crash',
    workers: 2,
    length: 1.25,
    async trouble({ fleet }, ms) {
      await fleet.kill(0)
      await sleep(ms / 2)
      await fleet.start(0)
      await sleep(ms / 2)
    },
  },
  {
    ...chaos,
    name: 'repeated kills',
    workers: 2,
    length: 1.5,
    async trouble({ fleet }, ms) {
      const endMs = performance.now() + ms
      do {
        await sleep(Math.min(KILL_EVERY_MS, ms / 2))
        await fleet.kill(0)
        await sleep(DEAD_MS)
        await fleet.start(0)
      } while (performance.now() < endMs)
    },
  },
  {
    ...chaos,
    name: 'PostgreSQL restart',
    length: 0.75,
    isOutage: true,
    async trouble({ postgres }, ms) {
      await postgres.stop({ keepData: true })
      await sleep(ms / 2)
      await postgres.start()
      await sleep(ms / 2)
    },
  },
  {
    ...chaos,
    name: 'backend kills',
    length: 0.75,
    isOutage: true,
    trouble: ({ postgres, contender }, ms) =>
      withClients(postgres.superuserUrl, 1, async ([client]) => {
        for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
          await client?.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
              where datname = $1 and state in ('active', 'idle in transaction')`,
            [new URL(contender.url).pathname.slice(1)],
          )
          await sleep(1_000 / BACKEND_KILLS_PER_SECOND)
        }
      }),
  },
  {
    ...chaos,
    name: 'pool exhaustion',
    length: 0.75,
    trouble: ({ contender }, ms) => withClients(contender.url, IDLE_CONNECTIONS, () => sleep(ms)),
  },
  {
    ...pressure,
    name: 'idle in transaction',
    length: 2,
    trouble: ({ contender }, ms) =>
      withClients(contender.url, 1, async ([client]) => {
        await client?.query('begin')
        await client?.query('select txid_current()')
        await sleep(ms)
      }),
  },
  {
    ...pressure,
    name: 'active readers',
    length: 2,
    trouble: ({ contender }, ms) =>
      withClients(contender.url, READERS, async (clients) => {
        const endMs = performance.now() + ms
        await Promise.all(
          clients.map(async (client) => {
            await client.query('begin isolation level repeatable read')
            for (; performance.now() < endMs; await sleep(READ_EVERY_MS))
              await client.query(`select count(*) from ${contender.hotTable}`)
          }),
        )
      }),
  },
  {
    ...pressure,
    name: 'sustained high load',
    length: 2,
    trouble: highLoad,
  },
  {
    ...pressure,
    name: 'burst',
    rate: BURST_RATE,
    slots: 2 * SLOTS,
    length: 2.5,
    trouble: highLoad,
  },
]

async function highLoad({ producer, rate }: Stage, ms: number): Promise<void> {
  producer.setRate(rate * HIGH_LOAD)
  await sleep(ms)
  producer.setRate(rate)
}

async function withClients(
  connectionString: string,
  count: number,
  use: (clients: readonly pg.Client[]) => Promise<unknown>,
): Promise<void> {
  const clients = Array.from({ length: count }, () => new pg.Client({ connectionString }))
  try {
    for (const client of clients) {
      client.on('error', () => {})
      await client.connect()
    }
    await use(clients)
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
  }
}
