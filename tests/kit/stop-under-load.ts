import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { LIMITLESS, newItem, newLinks, type Operator } from '@shopwire/test-kit/systems'
import { startBuying } from '../faults/buying.ts'
import { say } from './command.ts'
import { type Store, setIn } from './store.ts'

export interface StopReport {
  readonly stops: number
  readonly orders: number
  readonly orders_per_s: number
  /** Answered with the documented 503 before anything was bought. */
  readonly refused: number
  /** Not sent, because nobody took the connection while the container was down. */
  readonly unreachable: number
  /** Sent and cut off without an answer. */
  readonly lost: number
  readonly longest_wait_ms: number
}

const STOPS = 3
const ACCOUNTS = 8
const QUIET_MS = 5_000
const BALANCE_CENTS = 100_000_000
const LINKS = 5_000
const SEED = 16

/**
 * Callers buy without a pause while the container gets SIGTERM and is started again, three times. Every caller sends its order until it
 * knows what became of it. Then each acknowledged order must be in the database, once, and nothing else may be there.
 */
export async function stopUnderLoad(store: Store, operator: Operator): Promise<StopReport> {
  await setIn(store, 'settings.env', {
    SHOPWIRE_REQUESTS_PER_MINUTE: String(LIMITLESS),
    SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: String(LIMITLESS),
  })
  await store.shopwire('up')
  const [byHand, fromPool] = [newItem(100), newItem(250)]
  await operator.importItems([byHand, fromPool])
  await operator.loadPool(fromPool.id, newLinks(LINKS))
  const accounts = []
  for (let n = 0; n < ACCOUNTS; n += 1) {
    const { account_id, key } = await operator.createAccount({
      name: `Load ${n}`,
      balanceCents: BALANCE_CENTS,
    })
    accounts.push({ ...key, account_id })
  }
  const container = await store.containerOf('api')
  const address = await store.addressOf('api')
  const startedMs = performance.now()
  const buying = startBuying({
    seed: SEED,
    orders: Number.POSITIVE_INFINITY,
    origins: [`http://${address}:8080`],
    accounts,
    goods: { byHand: byHand.id, fromPool: fromPool.id },
  })
  for (let stop = 1; stop <= STOPS; stop += 1) {
    await sleep(QUIET_MS)
    say(`SIGTERM ${stop} of ${STOPS} after ${buying.count()} orders`)
    // As compose does it: SIGTERM, and SIGKILL only after the grace period of compose.yaml.
    await store.compose('stop', 'api')
    const code = await store.engine.docker('inspect', '--format', '{{.State.ExitCode}}', container)
    assert.equal(code.trim(), '0', 'the container ended by itself within its grace period')
    await store.shopwire('up')
    assert.equal(await store.addressOf('api'), address, 'the container has its address back')
  }
  await sleep(QUIET_MS)
  const { orders, wrong, refused, lost, unreachable, longestMs } = await buying.stop()
  const seconds = (performance.now() - startedMs) / 1000
  assert.deepEqual(wrong, [])
  const rows = await store.query(
    `select idempotency_key || ' ' || id from orders where idempotency_key like 'faults-${SEED}-%'`,
  )
  const bought = new Set(rows.split('\n'))
  const told = new Set([...orders].map(([key, id]) => `${key} ${id}`))
  assert.deepEqual(
    [...told].filter((one) => !bought.has(one)),
    [],
    'acknowledged orders that do not exist',
  )
  assert.deepEqual(
    [...bought].filter((one) => !told.has(one)),
    [],
    'orders that nobody was told of',
  )
  return {
    stops: STOPS,
    orders: orders.size,
    orders_per_s: Math.round(orders.size / seconds),
    refused,
    unreachable,
    lost,
    longest_wait_ms: Math.round(longestMs),
  }
}
