import {
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  ShopwireError,
  StoreUnavailableError,
} from '@shopwire/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Emulator, type FaultRequest, startEmulator } from '../src/index.ts'
import { type Account, clientOf, ledgerOf, ordersOf, RING_CENTS, requestsOf, ring } from './support.ts'

/**
 * However requests and answers fail, a caller that repeats the same order under the same key buys once. Each sequence
 * of faults is generated from a seed, so a failing one can be run again alone.
 */
const SEQUENCES = process.env.SHOPWIRE_LONG === '1' ? 1_000 : 60
const AT_ONCE = 8
const FAULTS_MAX = 6
const TRIES_MAX = 2 * FAULTS_MAX

const TROUBLES = [
  { name: 'lost_answer' },
  { name: 'dropped_connection' },
  { name: 'slow_body' },
  { name: 'rate_limited', bucket: 'req' },
  { name: 'rate_limited', bucket: 'orders' },
  { name: 'unavailable' },
  { name: 'unavailable', after_commit: true },
  { name: 'server_error' },
  { name: 'server_error', after_commit: true },
] as const satisfies Omit<FaultRequest, 'account_id'>[]

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator({ requestsPerMinute: 1_000_000, ordersPerMinute: 1_000_000 })
})

afterAll(() => emulator.stop())

test(`${SEQUENCES} sequences of faults each end in one order and one debit`, {
  timeout: 600_000,
}, async () => {
  const seeds = Array.from({ length: SEQUENCES }, (_, n) => n + 1)
  const hits = { faults: 0, replays: 0 }
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) {
        const { faults, isReplayed } = await buyThrough(seed)
        hits.faults += faults
        hits.replays += isReplayed ? 1 : 0
      }
    }),
  )
  // Otherwise no fault was tested.
  expect(hits.faults).toBeGreaterThan(SEQUENCES)
  expect(hits.replays).toBeGreaterThan(SEQUENCES / 4)
  expect(await emulator.control('POST', '/verify')).toEqual({ ok: true, violations: [] })
})

async function buyThrough(seed: number): Promise<{ faults: number; isReplayed: boolean }> {
  const account = await emulator.createAccount({ name: `seed ${seed}` })
  const random = randomOf(seed)
  const faults = Array.from(
    { length: 1 + (random() % FAULTS_MAX) },
    () => TROUBLES[random() % TROUBLES.length],
  )
  for (const fault of faults)
    await emulator.arm({ ...(fault as FaultRequest), account_id: account.accountId })
  const why = `seed ${seed}: ${JSON.stringify(faults)}`

  const order = await buyUntilTold(account, why)
  const orders = await ordersOf(emulator, account.accountId)
  expect(
    orders.map(({ id }) => id),
    why,
  ).toEqual([order.id])
  const { balance_cents, transfers } = await ledgerOf(emulator, account.accountId)
  const debits = transfers.filter(({ order_id }) => order_id === order.id)
  expect(
    debits.map(({ kind, amount_cents }) => [kind, amount_cents]),
    why,
  ).toEqual([['order', -RING_CENTS]])
  expect(balance_cents, why).toBe(25_000 - RING_CENTS)
  return { faults: faults.length, isReplayed: order.replayed }
}

/** Retries as the documentation requires, without the waits. */
async function buyUntilTold(account: Account, why: string) {
  const wanted = ring()
  const client = clientOf(emulator, account)
  for (let n = 1; n <= TRIES_MAX; n += 1) {
    try {
      return await client.orders.create(wanted)
    } catch (error) {
      const isWorthRepeating =
        error instanceof ShopwireError &&
        (error.isOutcomeUnknown ||
          error instanceof RateLimitError ||
          error instanceof RequestTimeoutError ||
          error instanceof StoreUnavailableError ||
          error instanceof ServerError)
      if (!isWorthRepeating) throw error
    }
  }
  const seen = (await requestsOf(emulator, account.accountId)).map(({ status, fault }) => [status, fault])
  throw new Error(`${why} never ended: ${JSON.stringify(seen)}`)
}

/** A small deterministic generator (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}
