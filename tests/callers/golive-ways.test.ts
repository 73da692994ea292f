import { allScenarios, type GoliveReport, runGolive } from '@shopwire/cli/golive'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BrokenWay, brokenWays, type Way } from './broken-ways.ts'
import { failuresOf, PREVIOUS_SECRET, SECRET } from './golive.ts'
import { startHandmadeIntegration } from './handmade-integration.ts'

const START_MS_MAX = 120_000
/** Enough for a good shop; a broken one is waited for as long as this. */
const WAIT_MS_MAX = 8_000
/** Most of a run is waiting, so several run at once. */
const RUNS_AT_ONCE = 8
/** What changes prices or closes the store, for everybody. */
const SHARED = ['price-changed', 'sold-out', 'store-closed']
const isLong = process.env.SHOPWIRE_LONG === '1'

const ids = allScenarios().map(({ id }) => id)
const ways = Object.entries(brokenWays) as [Way, BrokenWay][]

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator({ ordersPerMinute: 100_000, requestsPerMinute: 1_000_000 })
}, START_MS_MAX)

afterAll(async () => {
  await emulator?.stop()
})

describe('a shop without the SDK passes; each planted defect is found, and no other is reported', () => {
  const unshared = ids.filter((id) => !SHARED.includes(id))
  const stateless = [
    'plain',
    'lost-answer',
    'rate-limited-orders',
    'no-funds',
    'twice-at-once',
    'same-cart',
    'books',
  ]

  describe('concurrently', { concurrent: true, timeout: 240_000 }, () => {
    const limited = limitConcurrency(RUNS_AT_ONCE)
    test('passes without a defect', () => limited(() => expectPassed(unshared)))
    test('passes without a defect, when it buys after answering', () =>
      limited(() => expectPassed(unshared, { isQueued: true })))
    test('passes without a defect, when it buys after answering and does not report its state', () =>
      limited(() => expectPassed(stateless, { isQueued: true, isStateless: true })))
    for (const [way, expected] of ways.filter(([, { isAlone }]) => !isAlone)) {
      test(`${way}: ${expected.fails}`, () => limited(() => expectCaught(way, expected, unshared)))
    }
  })

  describe('one after the other, for defects that change shared state', { timeout: 240_000 }, () => {
    test('passes without a defect', () => expectPassed(SHARED))
    test('passes without a defect, when it buys after answering', () =>
      expectPassed(SHARED, { isQueued: true }))
    for (const [way, expected] of ways.filter(([, { isAlone }]) => isAlone)) {
      test(`${way}: ${expected.fails}`, () => expectCaught(way, expected, ids))
    }
  })
})

test('every scenario finds at least one planted defect', () => {
  const found = new Set<string>(ways.flatMap(([, { fails, also }]) => [fails, ...listed(also)]))
  expect(ids.filter((id) => !found.has(id))).toEqual([])
})

interface Manner {
  readonly isQueued?: boolean
  readonly isStateless?: boolean
}

async function expectPassed(scenarios: readonly string[], manner?: Manner): Promise<void> {
  const report = await drive(undefined, scenarios, manner)
  expect(failuresOf(report)).toEqual([])
  expect(report).toMatchObject({ ok: true, not_run: 0, passed: scenarios.length + 1 })
}

async function expectCaught(way: Way, expected: BrokenWay, all: readonly string[]): Promise<void> {
  const { fails, also, beside = [] } = expected
  const few = [...new Set(['plain', fails, ...listed(also), ...beside, 'books'])]
  const report = await drive(way, isLong ? all : few)
  const failures = failuresOf(report)
  expect(failures.map(([id]) => id)).toContain(fails)
  if (also === 'any') return
  expect(failures.filter(([id]) => id !== fails && !also?.includes(id))).toEqual([])
}

/** An account of its own keeps the faults of one run from striking another. */
async function drive(
  way: Way | undefined,
  only: readonly string[],
  { isQueued = false, isStateless = false }: Manner = {},
): Promise<GoliveReport> {
  const { accountId, key } = await emulator.createAccount()
  const { baseUrl, url } = emulator
  const shop = await startHandmadeIntegration({
    baseUrl,
    key,
    secrets: [SECRET, PREVIOUS_SECRET],
    way,
    isQueued,
  })
  try {
    return await runGolive({
      emulator: url,
      urls: isStateless ? { buy: shop.urls.buy } : shop.urls,
      secret: SECRET,
      previousSecret: PREVIOUS_SECRET,
      account: accountId,
      only,
      patienceMs: WAIT_MS_MAX,
    })
  } finally {
    await shop.stop()
  }
}

function listed(also: BrokenWay['also']): readonly string[] {
  return also === undefined || also === 'any' ? [] : also
}

function limitConcurrency(atOnce: number) {
  let free = atOnce
  const waiting: (() => void)[] = []
  return async <Result>(act: () => Promise<Result>): Promise<Result> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    try {
      return await act()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
