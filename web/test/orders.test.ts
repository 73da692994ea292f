import { expect, test } from 'vitest'
import { dayStart } from '../src/screens/home/day-start.ts'
import { isFiltered, orderFilters, shownAmounts } from '../src/screens/orders/order-query.ts'

const NOW = Date.parse('2026-11-15T13:32:07.500Z')

test('what is in the address becomes filters; what does not fit is left out', () => {
  expect(
    orderFilters({ status: 'paid', q: ' ord_1 ', created: '7d', min: '500', key: 'key_1', item: '123' }, NOW),
  ).toEqual({
    status: 'paid',
    q: 'ord_1',
    from: '2026-11-08T13:32:00.000Z',
    min_cents: 500,
    key_id: 'key_1',
    item_id: '123',
  })
  expect(
    orderFilters({ status: 'lost', created: '9d', min: '-1', max: '1e3', item: 'x', from: 'then' }, NOW),
  ).toEqual({})
  expect(isFiltered({ open: 'x', before: 'y' })).toBe(false)
  expect(isFiltered({ max: '1' })).toBe(true)
})

test('a last day belongs to the range', () => {
  const { from, to } = orderFilters({ from: '2026-11-01', to: '2026-11-01' }, NOW)
  expect(Date.parse(to ?? '') - Date.parse(from ?? '')).toBe(86_400_000)
})

test('amounts are shown with their cents', () => {
  expect(shownAmounts({ min: '500' })).toBe('$5.00 or more')
  expect(shownAmounts({ min: '500', max: '1999' })).toBe('$5.00 to $19.99')
  expect(shownAmounts({ min: 'x' })).toBeUndefined()
})

test("the day of the reader begins at their midnight, also where the clock is not whole hours from UTC's", () => {
  expect(dayStart('UTC', NOW)).toBe('2026-11-15T00:00:00.000Z')
  expect(dayStart('Europe/Berlin', NOW)).toBe('2026-11-14T23:00:00.000Z')
  expect(dayStart('Asia/Kolkata', NOW)).toBe('2026-11-14T18:30:00.000Z')
  expect(dayStart('America/Los_Angeles', NOW)).toBe('2026-11-15T08:00:00.000Z')
})
