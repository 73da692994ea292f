import { expect, test } from 'vitest'
import { batched } from '../../src/platform/batched.ts'
import { Unavailable } from '../../src/platform/trouble.ts'

test('calls of one event loop turn run in one batch, and each gets its own result', async () => {
  const sizes: number[] = []
  const double = batched(10, async (inputs: readonly number[]) => {
    sizes.push(inputs.length)
    return inputs.map((n) => 2 * n)
  })
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6])
  expect(sizes).toEqual([3])
})

test('calls made while a batch runs go into the next batches, each of at most the maximum size', async () => {
  const sizes: number[] = []
  const gates: (() => void)[] = []
  const wait = batched(4, async (inputs: readonly number[]) => {
    sizes.push(inputs.length)
    await new Promise<void>((resolve) => gates.push(resolve))
    return inputs
  })
  const first = wait(0)
  await new Promise(setImmediate)
  const later = Promise.all([1, 2, 3, 4, 5, 6].map(wait))
  for (let n = 0; n < 3; n += 1) {
    await new Promise(setImmediate)
    gates[n]?.()
  }
  expect([await first, await later]).toEqual([0, [1, 2, 3, 4, 5, 6]])
  expect(sizes).toEqual([1, 4, 2])
})

test('when one member of a batch fails, only that member is rejected', async () => {
  const check = batched(10, async (inputs: readonly number[]) => {
    if (inputs.includes(13)) throw new Error('not this one')
    return inputs
  })
  const ends = await Promise.allSettled([1, 13, 2].map(check))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('when the database is unavailable all members of the batch fail at once, and the next batch is tried', async () => {
  let calls = 0
  const ask = batched(10, async (inputs: readonly number[]) => {
    calls += 1
    if (calls === 1) throw new Unavailable('away', undefined)
    return inputs
  })
  const ends = await Promise.allSettled([1, 2, 3].map(ask))
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(calls).toBe(1)
  expect(await ask(4)).toBe(4)
})
