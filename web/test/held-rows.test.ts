import { expect, test } from 'vitest'
import { hold, type Shown } from '#lib/use-held-rows.ts'

const rowId = (row: string) => row[0] as string
const answer = (key: string, rows: readonly string[], isStale = false) => ({ key, rows, isStale })
const held = (key: string, rows: readonly string[]): Shown<string> => ({ key, rows })

test('rows on the screen change in place, and newer ones wait', () => {
  const next = hold(held('all', ['b paid', 'a']), answer('all', ['c', 'b delivered', 'a']), rowId)
  expect(next).toMatchObject({ shown: ['b delivered', 'a'], fresh: 1 })
})

test('another filter or page shows its own rows, also when those of the one before were on the screen until then', () => {
  const before = held('all', ['b', 'a'])
  const meanwhile = hold(before, answer('cancelled', ['b', 'a'], true), rowId)
  expect(meanwhile).toMatchObject({ shown: ['b', 'a'], fresh: 0 })
  const next = hold(meanwhile.held, answer('cancelled', ['x']), rowId)
  expect(next).toEqual({ held: held('cancelled', ['x']), shown: ['x'], fresh: 0, gone: new Set() })
  expect(hold(meanwhile.held, answer('cancelled', []), rowId).shown).toEqual([])
})

test('what comes into an empty list is shown at once', () => {
  expect(hold(held('all', []), answer('all', ['a']), rowId)).toMatchObject({ shown: ['a'], fresh: 0 })
})

test('a row that left the list is named; one that newer rows pushed off the page is not', () => {
  const before = held('paid', ['c paid', 'b paid', 'a paid'])
  const next = (rows: readonly string[], isLast = false) =>
    hold(before, { ...answer('paid', rows), isLast }, rowId)
  expect(next(['c paid', 'a paid'])).toMatchObject({
    shown: ['c paid', 'b paid', 'a paid'],
    gone: new Set(['b']),
  })
  expect(next(['e', 'd', 'c paid'])).toMatchObject({ fresh: 2, gone: new Set() })
  expect(next(['c paid'], true).gone).toEqual(new Set(['b', 'a']))
  expect(next([], true).gone).toEqual(new Set(['c', 'b', 'a']))
})
