import { expect, test } from 'vitest'
import { hold, type Shown } from '../src/lib/use-held-rows.ts'

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
  expect(next).toEqual({ held: held('cancelled', ['x']), shown: ['x'], fresh: 0 })
  expect(hold(meanwhile.held, answer('cancelled', []), rowId).shown).toEqual([])
})

test('what comes into an empty list is shown at once', () => {
  expect(hold(held('all', []), answer('all', ['a']), rowId)).toMatchObject({ shown: ['a'], fresh: 0 })
})
