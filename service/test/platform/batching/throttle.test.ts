import { expect, test } from 'vitest'
import { createThrottle } from '../../../src/platform/batching/throttle.ts'

const throttle = () => createThrottle({ hitsMax: 2, windowMs: 1_000, namesMax: 2 })

test('the third event within the window returns how long to wait', () => {
  const t = throttle()
  expect([t.hit('a', 0), t.hit('a', 10), t.hit('a', 400)]).toEqual([0, 0, 600])
  expect(t.hit('a', 1_000)).toBe(0)
})

test('names are counted separately, and memory is bounded', () => {
  const t = throttle()
  t.hit('a', 0)
  t.hit('a', 0)
  expect(t.hit('b', 0)).toBe(0)
  t.hit('c', 0)
  expect(t.hit('a', 0)).toBe(0)
})

test('after a clock step back, events are not blocked', () => {
  const t = throttle()
  for (let n = 0; n < 5; n += 1) t.hit('a', 1_000_000)
  expect(t.hit('a', 10)).toBe(0)
})
