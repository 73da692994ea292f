import { expect, test } from 'vitest'
import * as limits from '../src/limits.ts'

const all: Record<string, number> = { ...limits }

test('every limit is a non-negative whole number', () => {
  for (const [name, value] of Object.entries(all)) {
    expect(Number.isSafeInteger(value) && value >= 0, name).toBe(true)
  }
})

test('every minimum has a maximum above it, and every default lies between them', () => {
  const ranges = Object.keys(all).filter(
    (name) => name.endsWith('_MIN') && name.replace(/_MIN$/, '_MAX') in all,
  )
  expect(ranges.length).toBeGreaterThanOrEqual(9)
  for (const name of ranges) {
    const range = name.replace(/_MIN$/, '')
    const [min = Number.NaN, max = Number.NaN] = [all[`${range}_MIN`], all[`${range}_MAX`]]
    const usual = all[`${range}_DEFAULT`] ?? min
    expect(min, range).toBeLessThan(max)
    expect(usual >= min && usual <= max, `${range}_DEFAULT`).toBe(true)
  }
})

test('every default belongs to a range', () => {
  for (const name of Object.keys(all).filter((one) => one.endsWith('_DEFAULT'))) {
    expect(all, name).toHaveProperty(name.replace(/_DEFAULT$/, '_MAX'))
  }
})

test('the limits are the ones the interface publishes', () => {
  expect(limits).toMatchObject({
    ...{ BODY_BYTES_MAX: 16 * 1024, BODY_ARRIVAL_MS_MAX: 5_000, TIMESTAMP_TOLERANCE_S: 60 },
    ...{ NONCE_LENGTH_MIN: 32, NONCE_LENGTH_MAX: 64 },
    ...{ REQUESTS_PER_WINDOW_MAX: 120, ORDER_ATTEMPTS_PER_WINDOW_MAX: 20, RATE_WINDOW_S: 60 },
    ...{ CART_LINES_MIN: 1, CART_LINES_MAX: 25, QTY_MIN: 1, QTY_MAX: 10, QTY_DEFAULT: 1 },
    ...{ EXPECTED_PRICE_CENTS_MIN: 1, EXPECTED_PRICE_CENTS_MAX: 500_000, ORDER_TOTAL_CENTS_MAX: 500_000 },
    ...{ IDEMPOTENCY_KEY_LENGTH_MIN: 8, IDEMPOTENCY_KEY_LENGTH_MAX: 100, FILTER_LENGTH_MAX: 100 },
    ...{ CATALOGUE_LIMIT_MIN: 1, CATALOGUE_LIMIT_MAX: 2_000, CATALOGUE_LIMIT_DEFAULT: 100 },
    ...{ CATALOGUE_OFFSET_MIN: 0, CATALOGUE_OFFSET_MAX: 1_000_000, CATALOGUE_OFFSET_DEFAULT: 0 },
    ...{ ORDERS_LIMIT_MIN: 1, ORDERS_LIMIT_MAX: 100, ORDERS_LIMIT_DEFAULT: 25 },
    ...{ ORDERS_OFFSET_MIN: 0, ORDERS_OFFSET_MAX: 1_000_000, ORDERS_OFFSET_DEFAULT: 0 },
    ...{ WEBHOOK_FIRST_DELAY_S: 60, WEBHOOK_DELAY_S_MAX: 3_600, WEBHOOK_ATTEMPTS_MAX: 12 },
    ...{ WEBHOOK_HORIZON_S: 24 * 3_600, WEBHOOK_RECEIVER_TOLERANCE_S: 300 },
  })
})

test('the limit of order attempts is below the limit of requests', () => {
  expect(limits.ORDER_ATTEMPTS_PER_WINDOW_MAX).toBeLessThan(limits.REQUESTS_PER_WINDOW_MAX)
})

test('the largest expected price covers the largest order total', () => {
  expect(limits.EXPECTED_PRICE_CENTS_MAX).toBe(limits.ORDER_TOTAL_CENTS_MAX)
})

test('a nonce is kept for longer than its request could be replayed', () => {
  expect(limits.NONCE_KEPT_S_MIN).toBeGreaterThan(2 * limits.TIMESTAMP_TOLERANCE_S)
})

test('the time limit for a body is below the timestamp tolerance', () => {
  expect(limits.BODY_ARRIVAL_MS_MAX / 1000).toBeLessThan(limits.TIMESTAMP_TOLERANCE_S)
})

test('the largest valid order fits into the body limit', () => {
  const line = {
    id: '9'.repeat(limits.ITEM_ID_LENGTH_MAX),
    qty: limits.QTY_MAX,
    expected_price_cents: limits.EXPECTED_PRICE_CENTS_MAX,
  }
  const items = Array.from({ length: limits.CART_LINES_MAX }, () => line)
  const order = { items, idempotency_key: 'k'.repeat(limits.IDEMPOTENCY_KEY_LENGTH_MAX) }
  expect(JSON.stringify(order, null, 2).length).toBeLessThan(limits.BODY_BYTES_MAX)
})

test('the longest webhook URL fits into a body', () => {
  // Four bytes is the most one character can take.
  expect(limits.WEBHOOK_URL_LENGTH_MAX * 4).toBeLessThan(limits.BODY_BYTES_MAX)
})

test('twelve attempts end after 363 minutes, and within the horizon even with maximum jitter', () => {
  const waitedS = (stretch: number) => {
    let waited = 0
    for (let attempt = 1; attempt < limits.WEBHOOK_ATTEMPTS_MAX; attempt++) {
      const delayS = limits.WEBHOOK_FIRST_DELAY_S * 2 ** (attempt - 1) * stretch
      waited += Math.min(delayS, limits.WEBHOOK_DELAY_S_MAX)
    }
    return waited
  }
  expect(waitedS(1)).toBe(363 * 60)
  expect(waitedS(1 + limits.WEBHOOK_JITTER_PERCENT_MAX / 100)).toBeLessThan(limits.WEBHOOK_HORIZON_S)
})

test('the timeout of an attempt is shorter than the first retry delay', () => {
  expect(limits.WEBHOOK_TIMEOUT_MS_MAX / 1000).toBeLessThan(limits.WEBHOOK_FIRST_DELAY_S)
})

test('the previous secret signs for longer than the last retry takes', () => {
  expect(limits.WEBHOOK_PREVIOUS_SECRET_S).toBeGreaterThanOrEqual(limits.WEBHOOK_HORIZON_S)
})
