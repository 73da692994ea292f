import { expect, test } from 'vitest'
import { isFiltered, orderFilters, shownRange } from '#apps/dashboard/screens/orders/order-query.ts'
import { amountFilter } from '#kit/components/lists/range-filters.tsx'
import { dayInWords, dayStart, parseDay } from '#lib/time.ts'

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
  const { shown } = amountFilter('Total', ['min', 'max'])
  expect(shown({ min: '500' })).toBe('from $5.00')
  expect(shown({ min: '500', max: '1999' })).toBe('$5.00 to $19.99')
  expect(shown({ min: 'x' })).toBeUndefined()
})

test('days are read as people write them, and shown with the month as a word', () => {
  const now = new Date(NOW)
  expect(
    ['2026-11-15', '15 Nov', '15 nov 2026', ' 15 November 2026', '5 sept'].map((text) => parseDay(text, now)),
  ).toEqual(['2026-11-15', '2026-11-15', '2026-11-15', '2026-11-15', '2026-09-05'])
  expect(['11/15/2026', '31 Feb', '15 Mo', '2026-13-01', 'today'].map((text) => parseDay(text, now))).toEqual(
    Array(5).fill(undefined),
  )
  expect(dayInWords('2026-11-05')).toBe('5 Nov 2026')
  expect(shownRange({ from: '2026-11-01', to: '2026-11-05' })).toBe('1 Nov 2026 to 5 Nov 2026')
  expect(shownRange({ created: '7d' })).toBe('last 7 days')
})

test("the day of the reader begins at their midnight, also where the clock is not whole hours from UTC's", () => {
  const on = (timeZone: string, plusDays = 0, day = '2026-11-15') => dayStart(day, plusDays, timeZone)
  expect(on('UTC')).toBe('2026-11-15T00:00:00.000Z')
  expect(on('Europe/Berlin')).toBe('2026-11-14T23:00:00.000Z')
  expect(on('Asia/Kolkata')).toBe('2026-11-14T18:30:00.000Z')
  expect(on('America/Los_Angeles')).toBe('2026-11-15T08:00:00.000Z')
  // The clock is put back, and forward: days of 25 and of 23 hours.
  expect(on('Europe/Berlin', 0, '2026-10-25')).toBe('2026-10-24T22:00:00.000Z')
  expect(on('Europe/Berlin', 1, '2026-10-25')).toBe('2026-10-25T23:00:00.000Z')
  expect(on('Europe/Berlin', 0, '2026-03-29')).toBe('2026-03-28T23:00:00.000Z')
  expect(on('Europe/Berlin', 1, '2026-03-29')).toBe('2026-03-29T22:00:00.000Z')
})
