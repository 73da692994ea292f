import {
  WEBHOOK_ATTEMPTS_MAX,
  WEBHOOK_DELAY_S_MAX,
  WEBHOOK_FIRST_DELAY_S,
  WEBHOOK_HORIZON_S,
  WEBHOOK_JITTER_PERCENT_MAX,
} from '@shopwire/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextAttemptMs } from '../../src/webhooks/schedule.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const ALMOST_ONE = 1 - Number.EPSILON / 2
const failures = fc.integer({ min: 1, max: WEBHOOK_ATTEMPTS_MAX - 1 })
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const waitS = (n: number, drawn: number) =>
  ((nextAttemptMs(n, NOW_MS, NOW_MS, drawn) ?? Number.NaN) - NOW_MS) / 1000
const promisedS = (n: number) => Math.min(WEBHOOK_FIRST_DELAY_S * 2 ** (n - 1), WEBHOOK_DELAY_S_MAX)

test('without jitter the waits are 1, 2, 4, 8, 16 and 32 minutes, then an hour each', () => {
  const minutes = Array.from({ length: WEBHOOK_ATTEMPTS_MAX - 1 }, (_, n) => waitS(n + 1, 0) / 60)
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60])
})

test('with maximum jitter the waits are a tenth longer, and never longer than an hour', () => {
  const minutes = Array.from({ length: WEBHOOK_ATTEMPTS_MAX - 1 }, (_, n) => waitS(n + 1, ALMOST_ONE) / 60)
  const expected = [1.1, 2.2, 4.4, 8.8, 17.6, 35.2, 60, 60, 60, 60, 60]
  for (const [n, minute] of minutes.entries()) expect(minute).toBeCloseTo(expected[n] as number, 6)
})

test('for every failure and every jitter, the wait is never shorter than documented and never longer than an hour', () => {
  fc.assert(
    fc.property(failures, random, (n, drawn) => {
      const s = waitS(n, drawn)
      expect(s).toBeGreaterThanOrEqual(promisedS(n))
      expect(s).toBeLessThanOrEqual(WEBHOOK_DELAY_S_MAX)
      expect(s).toBeLessThanOrEqual(promisedS(n) * (1 + WEBHOOK_JITTER_PERCENT_MAX / 100))
    }),
    { examples: [[WEBHOOK_ATTEMPTS_MAX - 1, ALMOST_ONE]] },
  )
})

test('no attempt follows the last one, and none is past the horizon', () => {
  expect(nextAttemptMs(WEBHOOK_ATTEMPTS_MAX, NOW_MS, NOW_MS, 0)).toBeUndefined()
  const createdMs = NOW_MS - WEBHOOK_HORIZON_S * 1000
  expect(nextAttemptMs(1, NOW_MS, createdMs, 0)).toBeUndefined()
  expect(nextAttemptMs(1, NOW_MS, createdMs + WEBHOOK_FIRST_DELAY_S * 1000, 0)).toBeDefined()
})
