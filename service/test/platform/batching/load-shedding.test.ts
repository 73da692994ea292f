import { expect, test } from 'vitest'
import {
  createLoadShedding,
  LAG_MS_MAX,
  type ShedReason,
  watchLoopLag,
} from '../../../src/platform/batching/load-shedding.ts'
import { Refusal } from '../../../src/platform/trouble.ts'

const MAX = 30

function open(lagMs = () => 0) {
  const shed: ShedReason[] = []
  const load = createLoadShedding({ inFlightMax: MAX, lagMs, onShed: (reason) => shed.push(reason) })
  /** As many requests of the account as are taken, up to `most`. */
  const flood = (account_id: string, most = 1_000) => {
    const ends: (() => void)[] = []
    try {
      while (ends.length < most) ends.push(load.enter(account_id))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
    return ends
  }
  return { load, shed, flood }
}

test('threat 69: one account that floods gets half of the places and is refused with 503 and Retry-After, others are taken', () => {
  const { load, shed, flood } = open()
  expect(flood('a')).toHaveLength(MAX / 2)
  expect(shed).toEqual(['account'])
  const refused = (() => {
    try {
      load.enter('a')
    } catch (error) {
      return error as Refusal
    }
    return undefined
  })()
  expect([refused?.type, refused?.headers['retry-after']]).toEqual(['service_unavailable', '2'])
  expect(flood('b', 5)).toHaveLength(5)
})

test.each([2, 3, 5, 9])(
  '%i accounts that flood at the same time get equal shares, and one share stays free',
  (accounts) => {
    const { load } = open()
    const counts = new Array<number>(accounts).fill(0)
    for (let round = 0; round < MAX; round += 1) {
      for (let account = 0; account < accounts; account += 1) {
        try {
          load.enter(String(account))
          counts[account] = (counts[account] ?? 0) + 1
        } catch {}
      }
    }
    const [least, most] = [Math.min(...counts), Math.max(...counts)]
    expect(most - least).toBeLessThanOrEqual(1)
    expect(MAX - load.inFlight()).toBeGreaterThanOrEqual(Math.floor(MAX / (accounts + 1)))
  },
)

test('when every place is taken, all accounts are refused, until a request ends', () => {
  const { load, shed, flood } = open()
  const ends = Array.from({ length: MAX }, (_, n) => load.enter(`account ${n}`))
  expect(flood('late')).toHaveLength(0)
  expect(shed).toEqual(['all'])
  ends[0]?.()
  expect(flood('late')).toHaveLength(1)
})

test('20,000 random beginnings and ends: a refusal is justified by the counts, and what has ended leaves nothing behind', () => {
  const { load, shed } = open()
  const ends: { account: string; end(): void }[] = []
  let seed = 17
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((seed / 2 ** 31) * below)
  }
  for (let step = 0; step < 20_000; step += 1) {
    if (random(100) < 40 && ends.length > 0) ends.splice(random(ends.length), 1)[0]?.end()
    else {
      // Account 0 sends most of it.
      const account = String(Math.max(0, random(200) - 50))
      const own = ends.filter((one) => one.account === account).length
      const free = MAX - ends.length
      const shedBefore = shed.length
      try {
        ends.push({ account, end: load.enter(account) })
        expect(own).toBeLessThan(free)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        expect(shed.slice(shedBefore)).toEqual([free === 0 ? 'all' : 'account'])
        expect(own).toBeGreaterThanOrEqual(free)
      }
    }
    expect(load.inFlight()).toBe(ends.length)
  }
  expect(new Set(shed)).toEqual(new Set(['account', 'all']))
  for (const { end } of ends) end()
  expect(load.inFlight()).toBe(0)
})

test('threat 69: while the event loop is late, fewer are begun, in proportion, and an account that has none may begin one', () => {
  let lagMs = 2 * LAG_MS_MAX
  const { flood, shed } = open(() => lagMs)
  const ends = flood('a')
  expect(ends).toHaveLength(Math.ceil(MAX / 4))
  expect(shed).toEqual(['late'])
  lagMs = 10 * LAG_MS_MAX
  expect([flood('a'), flood('b')]).toMatchObject([[], { length: 1 }])
  lagMs = LAG_MS_MAX
  expect(flood('a')).toHaveLength(MAX / 2 - ends.length)
})

test('a blocked event loop is seen as late by what runs next, and not any more once it has caught up', async () => {
  const loop = watchLoopLag()
  const startedMs = performance.now()
  while (performance.now() < startedMs + 400);
  expect(loop.lagMs()).toBeGreaterThan(300)
  await expect.poll(loop.lagMs).toBeLessThan(LAG_MS_MAX)
  loop.stop()
})
