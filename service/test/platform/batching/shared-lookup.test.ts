import { expect, test } from 'vitest'
import { sharedLookup } from '../../../src/platform/batching/shared-lookup.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'

const LIMITS = { idsMax: 3, everyMs: 0, waitingMax: 100 }
const found = (ids: readonly string[]) =>
  new Map(ids.filter((id) => id !== 'none').map((id) => [id, `row ${id}`]))

/** A `find` that waits until its gate is opened, and records the ids it was called with. */
function gated() {
  const calls: string[][] = []
  const gates: (() => void)[] = []
  const find = async (ids: readonly string[]) => {
    calls.push([...ids])
    await new Promise<void>((resolve) => gates.push(resolve))
    return found(ids)
  }
  return { calls, find, open: (n: number) => gates[n]?.() }
}

test('gives each caller its own row or undefined, in one call', async () => {
  const calls: string[][] = []
  const look = sharedLookup(LIMITS, async (ids) => {
    calls.push([...ids])
    return found(ids)
  })
  expect(await Promise.all(['a', 'none', 'a'].map(look))).toEqual(['row a', undefined, 'row a'])
  expect(calls).toEqual([['a', 'none']])
})

test('looks up an id again that is already being looked up: the row may have been written meanwhile', async () => {
  const { calls, find, open } = gated()
  const look = sharedLookup(LIMITS, find)
  const first = look('a')
  await new Promise(setImmediate)
  const second = look('a')
  open(0)
  expect(await first).toBe('row a')
  await expect.poll(() => calls).toEqual([['a'], ['a']])
  open(1)
  expect(await second).toBe('row a')
})

test('runs one call at a time and puts at most idsMax ids into the next, oldest first', async () => {
  const { calls, find, open } = gated()
  const look = sharedLookup(LIMITS, find)
  const answers = [look('a')]
  await new Promise(setImmediate)
  answers.push(...['b', 'c', 'd', 'e'].map(look))
  for (const n of [0, 1, 2]) {
    await expect.poll(() => calls.length).toBe(n + 1)
    open(n)
  }
  await Promise.all(answers)
  expect(calls).toEqual([['a'], ['b', 'c', 'd'], ['e']])
})

test('starts no call sooner than everyMs after the last one', async () => {
  const starts: number[] = []
  const look = sharedLookup({ ...LIMITS, everyMs: 20 }, async (ids) => {
    starts.push(performance.now())
    return found(ids)
  })
  for (const id of ['a', 'b', 'c', 'd']) await look(id)
  const gaps = starts.slice(1).map((start, n) => start - (starts[n] ?? 0))
  expect(gaps).toHaveLength(3)
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(20)
})

test('rejects the caller beyond waitingMax and accepts callers again when fewer wait', async () => {
  const { find, open } = gated()
  const look = sharedLookup({ ...LIMITS, waitingMax: 2 }, find)
  const first = look('a')
  await new Promise(setImmediate)
  const waiting = [look('b'), look('b')]
  await expect(look('c')).rejects.toThrow(Unavailable)
  open(0)
  await first
  await new Promise(setImmediate)
  open(1)
  expect(await Promise.all(waiting)).toEqual(['row b', 'row b'])
})

test('when the database is unavailable fails every waiting caller, and calls again for the next one', async () => {
  let calls = 0
  const look = sharedLookup(LIMITS, async (ids) => {
    calls += 1
    if (calls === 1) throw new Unavailable('database', undefined)
    return found(ids)
  })
  const ends = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map(look))
  expect(ends.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  expect(calls).toBe(1)
  expect(await look('a')).toBe('row a')
})
