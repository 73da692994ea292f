import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { ApiProcess } from '@shopwire/test-kit/systems'
import type pg from 'pg'
import { Pool } from 'undici'
import { median, rounded, say } from '../shared/figures.ts'
import type { FloodData } from './flood-sign-ins.ts'
import { type BenchPerson, headersOf } from './open-dashboards.ts'

const SIGN_INS = 200
/** Quiet and flooded in turn, so that what else the machine does is in both. */
const ROUNDS = 6
const ROUND_MS = 2_000
const READ_EVERY_MS = 50
const PATH = '/api/orders?limit=10'
const FLOOD = new URL('./flood-sign-ins.ts', import.meta.url)

/**
 * One person reads their orders, alone and then beside a visitor at the same address who sends many sign-ins at once, once a round. Wrong
 * ones are forgotten in between: after a hundred of them nothing would be hashed any more.
 */
export async function besideSignIns({ url, port }: ApiProcess, owner: pg.Client, person: BenchPerson) {
  const user = new Pool(url, { connections: 1 })
  const workerData: FloodData = { url, origin: `http://localhost:${port}`, signIns: SIGN_INS }
  const stranger = new Worker(FLOOD, { workerData })
  await once(stranger, 'message')
  await readFor(user, person, ROUND_MS)
  const [quiet, beside, statuses]: number[][] = [[], [], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    await owner.query('delete from sign_in_attempts')
    quiet?.push(...(await readFor(user, person, ROUND_MS)))
    const answered = once(stranger, 'message')
    stranger.postMessage('go')
    beside?.push(...(await readFor(user, person, ROUND_MS)))
    statuses?.push(...((await answered)[0] as number[]))
  }
  await Promise.all([user.close(), stranger.terminate()])
  return figuresOf(quiet ?? [], beside ?? [], statuses ?? [])
}

function figuresOf(quiet: readonly number[], beside: readonly number[], statuses: readonly number[]) {
  const byStatus = Object.entries(Object.groupBy(statuses, String)).map(([status, all]) => [
    status,
    all?.length,
  ])
  say(
    `beside sign-ins: p50 ${rounded(median(quiet), 1)} ms quiet, ${rounded(median(beside), 1)} ms meanwhile; slowest ` +
      `${rounded(Math.max(...quiet), 0)} and ${rounded(Math.max(...beside), 0)} ms; sign-ins by status ${JSON.stringify(Object.fromEntries(byStatus))}`,
  )
  return {
    beside_sign_ins_ratio: rounded(median(beside) / median(quiet), 2),
    beside_sign_ins_max_ms: rounded(Math.max(...beside), 0),
  }
}

async function readFor(client: Pool, person: BenchPerson, ms: number): Promise<number[]> {
  const taken: number[] = []
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs) {
    const began = performance.now()
    const headers = headersOf(person)
    const { statusCode, body } = await client.request({ method: 'GET', path: PATH, headers })
    await body.dump()
    if (statusCode !== 200) throw new Error(`GET ${PATH} answered ${statusCode} beside sign-ins`)
    taken.push(performance.now() - began)
    await sleep(READ_EVERY_MS)
  }
  return taken
}
