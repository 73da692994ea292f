import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BatchedOptions, batched, MUST_WAIT } from '../../../src/platform/batching/batched.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'

const turn = () => new Promise(setImmediate)

/** Collects what runs; each run ends when told to. */
function controlled(options: Partial<BatchedOptions<string, string>> = {}) {
  const runs: { inputs: readonly string[]; isBatch: boolean; end(): void }[] = []
  const run = (inputs: readonly string[], isBatch: boolean) =>
    new Promise<void>((resolve) => runs.push({ inputs, isBatch, end: resolve }))
  const call = batched<string, string>({
    part: 'test',
    sizeMax: 4,
    async runMany(inputs) {
      await run(inputs, true)
      return inputs
    },
    async runOne(input) {
      await run([input], false)
      return input
    },
    ...options,
  })
  return {
    call,
    runs,
    inputs: () => runs.map(({ inputs }) => inputs.join(' ')),
    /** Ends the run with this number, once it has begun. */
    async end(n: number) {
      while (!runs[n]) await turn()
      runs[n].end()
    },
  }
}
const letterOf = (input: string) => input.slice(0, 1)

describe('without keys', () => {
  test('calls of one event loop turn run in one batch, and each gets its own result', async () => {
    const sizes: number[] = []
    const double = batched({
      part: 'test',
      sizeMax: 10,
      async runMany(inputs: readonly number[]) {
        sizes.push(inputs.length)
        return inputs.map((n) => 2 * n)
      },
    })
    expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6])
    expect(sizes).toEqual([3])
  })

  test('calls made while a batch runs go into the next batches, each of at most the maximum size', async () => {
    const { call, inputs, end } = controlled()
    const first = call('a')
    await turn()
    const later = Promise.all(['b', 'c', 'd', 'e', 'f', 'g'].map(call))
    for (let n = 0; n < 3; n += 1) await end(n)
    expect([await first, await later]).toEqual(['a', ['b', 'c', 'd', 'e', 'f', 'g']])
    expect(inputs()).toEqual(['a', 'b c d e', 'f g'])
  })

  test('when one member of a batch fails, only that member is rejected', async () => {
    const check = batched({
      part: 'test',
      sizeMax: 10,
      async runMany(inputs: readonly number[]) {
        if (inputs.includes(13)) throw new Error('not this one')
        return inputs
      },
    })
    const ends = await Promise.allSettled([1, 13, 2].map(check))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  test('when the database is unavailable all members of the batch fail at once, and the next batch is tried', async () => {
    let calls = 0
    const ask = batched({
      part: 'test',
      sizeMax: 10,
      async runMany(inputs: readonly number[]) {
        calls += 1
        if (calls === 1) throw new Unavailable('away', undefined)
        return inputs
      },
    })
    const ends = await Promise.allSettled([1, 2, 3].map(ask))
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(calls).toBe(1)
    expect(await ask(4)).toBe(4)
  })
})

test('at rest a call starts in the same turn of the event loop, by itself', async () => {
  const { call, runs } = controlled({ lanes: 3, keyOf: letterOf })
  const done = call('a')
  await turn()
  expect(runs).toMatchObject([{ inputs: ['a'], isBatch: false }])
  runs[0]?.end()
  expect(await done).toBe('a')
})

test('two calls with one key never share a batch, keys take turns, and no call is passed over', async () => {
  const { call, inputs, end } = controlled({ keyOf: letterOf })
  const all = Promise.all(['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(call))
  for (let n = 0; n < 3; n += 1) await end(n)
  expect(await all).toHaveLength(6)
  expect(inputs()).toEqual(['a1 b1 c1', 'a2 b2', 'a3'])
})

test('a second call of a key starts beside the first while a lane is free, and a third one waits', async () => {
  const { call, inputs, end } = controlled({ lanes: 2, keyOf: letterOf })
  const first = call('a1')
  await turn()
  const others = ['a2', 'a3', 'a4'].map(call)
  await turn()
  expect(inputs()).toEqual(['a1', 'a2'])
  await end(0)
  expect(await first).toBe('a1')
  expect(inputs()).toEqual(['a1', 'a2', 'a3'])
  for (let n = 1; n < 4; n += 1) await end(n)
  expect(await Promise.all(others)).toEqual(['a2', 'a3', 'a4'])
})

test('who has to wait leaves the lane: the others are answered and the next batch starts', async () => {
  const { call, runs, inputs } = controlled({
    keyOf: letterOf,
    runMany: async (members) => members.map((member) => (member === 'a' ? MUST_WAIT : member)),
  })
  const slow = call('a')
  expect(await call('b')).toBe('b')
  expect(inputs()).toEqual(['a'])
  expect(await Promise.all([call('c'), call('d')])).toEqual(['c', 'd'])
  runs[0]?.end()
  expect(await slow).toBe('a')
})

test('a call that takes too long gives up its lane, and holds up only its own key', async () => {
  const { call, inputs, end } = controlled({ laneMsMax: 20, keyOf: letterOf })
  const slow = call('a1')
  await turn()
  const own = call('a2')
  const other = call('b')
  await turn()
  expect(inputs()).toEqual(['a1'])
  await end(1)
  expect(await other).toBe('b')
  expect(inputs()[1]).toBe('b')
  await end(0)
  expect(await slow).toBe('a1')
  await end(2)
  expect(await own).toBe('a2')
})

test('beyond the maximum of waiting calls the next one is refused, and those that wait are not', async () => {
  const { call, end } = controlled({ waitingMax: 2 })
  const first = call('a')
  await turn()
  const waiting = [call('b'), call('c')]
  await expect(call('d')).rejects.toMatchObject({ name: 'Unavailable', part: 'test' })
  await end(0)
  await first
  await end(1)
  expect(await Promise.all(waiting)).toEqual(['b', 'c'])
})

test('off: every call runs by itself, at once', async () => {
  const { call, runs, inputs } = controlled({ mode: 'off', keyOf: letterOf })
  const all = Promise.all(['a1', 'a2', 'b'].map(call))
  expect(inputs()).toEqual(['a1', 'a2', 'b'])
  for (const run of runs) run.end()
  await all
})

test('always: even a call that is alone goes through a batch', async () => {
  const sizes: number[] = []
  const call = batched<string, string>({
    part: 'test',
    sizeMax: 4,
    mode: 'always',
    keyOf: letterOf,
    async runMany(inputs) {
      sizes.push(inputs.length)
      return inputs
    },
    runOne: () => Promise.reject(new Error('not used')),
  })
  expect(await Promise.all([call('a'), call('b'), call('a')])).toEqual(['a', 'b', 'a'])
  expect(sizes).toEqual([2, 1])
})

/**
 * Any order of arrivals, ends, failures and waits. The model is what the options promise: everybody is answered with their own
 * result, no two calls of a key are in one batch, batches and lanes stay within their limits, nobody is overtaken within a key by
 * more than the one that may start beside it.
 */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('call' as const), key: fc.constantFrom(...'abcdefgh') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(5),
      how: fc.constantFrom(
        'done' as const,
        'done' as const,
        'undone' as const,
        'lost' as const,
        'wait' as const,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
)

test('keeps its promises whatever arrives and however it ends', async () => {
  class Undone extends Error {}
  class Lost extends Error {}
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 120 }),
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 5 }),
    fc.constantFrom('adaptive' as const, 'off' as const),
    async (steps, lanes, sizeMax, mode) => {
      type Run = { inputs: readonly string[]; isBatch: boolean; end(how: string): void }
      const running = new Set<Run>()
      const started: string[] = []
      const run = (inputs: readonly string[], isBatch: boolean) =>
        new Promise<string>((resolve) => {
          const one: Run = {
            inputs,
            isBatch,
            end(how) {
              running.delete(one)
              resolve(how)
            },
          }
          running.add(one)
          started.push(...inputs)
        })
      const check = () => {
        const batches = [...running].filter(({ isBatch }) => isBatch)
        assert.ok(batches.length <= lanes)
        for (const { inputs } of batches) {
          assert.ok(inputs.length <= sizeMax)
          assert.equal(new Set(inputs.map(letterOf)).size, inputs.length)
        }
        if (mode === 'off') return
        const perKey = Map.groupBy(
          [...running].flatMap(({ inputs }) => inputs),
          letterOf,
        )
        for (const inputs of perKey.values()) assert.ok(inputs.length <= 2)
      }
      const call = batched<string, string>({
        part: 'test',
        sizeMax,
        lanes,
        mode,
        keyOf: letterOf,
        isUndone: (error) => error instanceof Undone,
        async runMany(inputs) {
          const how = await run(inputs, true)
          if (how === 'undone') throw new Undone()
          if (how === 'lost') throw new Lost()
          return inputs.map((input, n) => (how === 'wait' && n % 2 === 0 ? MUST_WAIT : input))
        },
        async runOne(input) {
          const how = await run([input], false)
          if (how === 'lost') throw new Lost()
          return input
        },
      })
      let count = 0
      let answered = 0
      for (const one of steps) {
        if (one.kind === 'call') {
          const input = `${one.key}${count}`
          count += 1
          void call(input).then(
            (output) => {
              answered += output === input ? 1 : Number.NaN
            },
            (error) => {
              answered += error instanceof Lost ? 1 : Number.NaN
            },
          )
        } else if (one.kind === 'end') [...running][one.which]?.end(one.how)
        else await turn()
        check()
      }
      while (answered < count) {
        for (const each of [...running]) each.end('done')
        await turn()
        check()
      }
      assert.equal(answered, count)
      assert.equal(new Set(started).size, count)
    },
  )
  await fc.assert(property, { numRuns: process.env.SHOPWIRE_LONG ? 20_000 : 1_000 })
})
