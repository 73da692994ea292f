import { beforeEach, expect, test, vi } from 'vitest'
import { actionWords } from '#apps/dashboard/screens/audit/action-words.ts'
import { changesOf } from '#apps/dashboard/screens/audit/changes.ts'
import { formatChange, formatCount, formatDollars, formatMoney, splitMoney } from '#lib/money.ts'
import { preferences } from '#lib/preferences.ts'
import { dayKey, formatDuration, formatRelative, formatShort, formatTime, formatUtc } from '#lib/time.ts'

const NOW = new Date('2026-11-15T13:32:07.000Z')

beforeEach(() => {
  vi.stubEnv('TZ', 'Europe/Berlin')
  preferences.set({ zone: 'utc' })
})

test('cents are shown to the cent, with a minus and not a hyphen', () => {
  expect(formatMoney(7_184_260)).toBe('$71,842.60')
  expect(formatMoney(-5_796)).toBe('−$57.96')
  expect(formatMoney(0)).toBe('$0.00')
  expect(formatMoney(9_007_199_254_740_991)).toBe('$90,071,992,547,409.91')
  expect(formatChange(999)).toBe('+$9.99')
  expect(formatChange(-999)).toBe('−$9.99')
  expect(formatChange(0)).toBe('$0.00')
  expect(splitMoney(7_184_260)).toEqual(['$71,842', '.60'])
  expect(formatDollars(648_549)).toBe('$6,485')
  expect(formatCount(1_742)).toBe('1,742')
})

test('a time has its day when it is not today, and its year when it is another one', () => {
  expect(formatShort('2026-11-15T13:31:22.000Z', NOW)).toBe('13:31:22')
  expect(formatShort('2026-11-14T13:31:22.000Z', NOW)).toBe('14 Nov, 13:31:22')
  expect(formatTime('2025-03-02T00:00:00.000Z', NOW)).toBe('2 Mar 2025, 00:00:00')
  expect(formatUtc('2026-11-15T13:32:07.000Z')).toBe('2026-11-15 13:32:07.000 UTC')
  expect(dayKey('2026-11-15T23:59:59.999Z')).toBe('2026-11-15')
})

test('how long ago is said in one unit, and days ago as the day', () => {
  const ago = (ms: number) => formatRelative(new Date(NOW.getTime() - ms).toISOString(), NOW.getTime())
  expect(ago(12_000)).toBe('12 s ago')
  expect(ago(180_000)).toBe('3 m ago')
  expect(ago(26 * 3_600_000)).toBe('26 h ago')
  expect(ago(10 * 86_400_000)).toBe('5 Nov')
  expect(ago(-28_000)).toBe('in 28 s')
})

test('a duration never shows more digits than matter', () => {
  expect(formatDuration(212)).toBe('212 ms')
  expect(formatDuration(10_000)).toBe('10.0 s')
  expect(formatDuration(41_000)).toBe('41 s')
  expect(formatDuration(112_000)).toBe('1 m 52 s')
  expect(formatDuration(7_500_000)).toBe('2 h 05 m')
})

test('an audit row lists changed fields first, and unknown actions in readable words', () => {
  const changes = changesOf({ role: 'viewer', name: 'Jin' }, { role: 'developer', name: 'Jin', is_new: true })
  expect(changes.map(({ field, isChanged }) => [field, isChanged])).toEqual([
    ['role', true],
    ['is new', true],
    ['name', false],
  ])
  expect(changes[1]).toMatchObject({ before: '–', after: 'yes' })
  const names = new Map([['per_1', 'Jin']])
  expect(changesOf({ people: ['per_1', 'per_2'] }, { threshold_cents: 50_000 }, names)).toMatchObject([
    { field: 'people', before: 'Jin, per_2' },
    { field: 'threshold', after: '$500.00' },
  ])
  expect(actionWords('key.create')).toBe('Create key')
  expect(actionWords('shop_window.paint_red')).toBe('Paint red shop window')
})
