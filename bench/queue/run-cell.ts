import { setTimeout as sleep } from 'node:timers/promises'
import type { Postgres } from '@shopwire/test-kit/servers'
import pg from 'pg'
import type { Cell } from './cells.ts'
import type { Contender } from './contender.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { newJobs, startProducer } from './producer.ts'
import { type DoneJob, judge, type Outcome } from './verdict.ts'

export interface CellOutcome extends Outcome {
  readonly claimsMs: readonly number[]
  /** How often a worker ended although nothing killed it. */
  readonly exits: number
}

/** Parts of a cell as multiples of `--seconds`. */
const BEFORE = 0.625
const AFTER = 1
const WARM_UP_MS = 1_500
/** The longest lease of any contender, and time to do what it held. */
const DRAIN_MS_MAX = 25_000
const LOOK_EVERY_MS = 100
const SPARE_CONNECTIONS = 4
const PEAK_DEPTH = 2_000
const PEAK_BATCH_MAX = 500

export async function runCell(
  postgres: Postgres,
  contender: Contender,
  cell: Cell,
  seconds: number,
  folder: string,
): Promise<CellOutcome> {
  await onDatabase(contender, (client) => client.query('truncate done'))
  const { slots, rate } = cell
  const fleet = await startFleet(contender, folder, cell.workers, {
    slots,
    connections: slots + SPARE_CONNECTIONS,
  })
  try {
    const producer = startProducer(contender, rate)
    await sleep(WARM_UP_MS)
    const beforeMs = Date.now()
    await sleep(1_000 * seconds * BEFORE)
    const troubleMs = Date.now()
    await cell.trouble({ postgres, contender, fleet, producer, rate }, 1_000 * seconds * cell.length)
    const afterMs = Date.now()
    if (cell.kind === 'chaos') await sleep(1_000 * seconds * AFTER)
    const endMs = Date.now()
    const inserted = await producer.stop()
    const rows = await untilDone(contender, inserted)
    const claimsMs = await fleet.claimsMs()
    const times = { beforeMs, troubleMs, afterMs, endMs }
    return { ...judge(cell, times, inserted, rows), claimsMs, exits: fleet.exits() }
  } finally {
    await fleet.stop()
  }
}

/** Jobs per second of one worker process that always finds jobs, but never so many that their number matters. */
export async function runPeak(
  contender: Contender,
  slots: number,
  seconds: number,
  folder: string,
): Promise<number> {
  const size = { slots, connections: slots + SPARE_CONNECTIONS }
  const fleet = await startFleet(contender, folder, 1, size)
  try {
    const refilling = { isOver: false }
    const refilled = refill(contender, fleet, refilling)
    await sleep(WARM_UP_MS)
    const [before, beganMs] = [await fleet.done(), performance.now()]
    await sleep(1_000 * seconds)
    const perSecond = ((await fleet.done()) - before) / ((performance.now() - beganMs) / 1_000)
    refilling.isOver = true
    const inserted = await refilled
    for (const endMs = performance.now() + DRAIN_MS_MAX; (await fleet.done()) < inserted; ) {
      if (performance.now() > endMs) throw new Error(`${contender.name} did not do all of its jobs`)
      await sleep(LOOK_EVERY_MS)
    }
    return perSecond
  } finally {
    await fleet.stop()
  }
}

async function refill(contender: Contender, fleet: Fleet, refilling: { isOver: boolean }): Promise<number> {
  let inserted = 0
  while (!refilling.isOver) {
    const missing = PEAK_DEPTH - (inserted - (await fleet.done()))
    const count = Math.min(PEAK_BATCH_MAX, missing)
    if (count > 0) await contender.insert(newJobs(count))
    else await sleep(LOOK_EVERY_MS / 10)
    inserted += Math.max(0, count)
  }
  return inserted
}

async function untilDone(contender: Contender, inserted: ReadonlySet<number>): Promise<DoneJob[]> {
  return onDatabase(contender, async (client) => {
    const endMs = performance.now() + DRAIN_MS_MAX
    for (;;) {
      const { rows } = await client.query<DoneJob>(
        `select n::integer as n, inserted_ms as "insertedMs", started_ms as "startedMs", done_ms as "doneMs" from done`,
      )
      const done = new Set(rows.map(({ n }) => n))
      if ([...inserted].every((n) => done.has(n)) || performance.now() > endMs) return rows
      await sleep(LOOK_EVERY_MS)
    }
  })
}

export async function onDatabase<Result>(
  { url }: Contender,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
