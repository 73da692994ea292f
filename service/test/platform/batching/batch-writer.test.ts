import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type BatchWriterOptions, createBatchWriter } from '../../../src/platform/batching/batch-writer.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'

/** A writer of numbers that records its batches and what was lost. */
function open(options: Partial<BatchWriterOptions<number>> = {}) {
  const batches: number[][] = []
  const lost: { rows: number; why: string }[] = []
  const writer = createBatchWriter<number>({
    everyMs: 5,
    batchMax: 3,
    waitingMax: 10,
    write: async (rows) => void batches.push([...rows]),
    onLost: (rows, why) => lost.push({ rows, why: (why as Error).message }),
    ...options,
  })
  const addAll = (...rows: number[]) => {
    for (const row of rows) writer.add(row)
  }
  return { ...writer, addAll, batches, lost }
}
const away = () => new Unavailable('database', new Error('gone'))

test('writes rows in the order they were added, no more at a time than a batch holds', async () => {
  const { addAll, flush, batches, lost } = open()
  addAll(1, 2, 3, 4, 5, 6, 7)
  await flush()
  expect(batches).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  await flush()
  expect([batches.length, lost]).toEqual([3, []])
})

test('once started it writes by itself, and writes nothing while there is nothing', async () => {
  const { add, start, stop, batches } = open()
  start()
  await sleep(20)
  expect(batches).toEqual([])
  add(1)
  await expect.poll(() => batches).toEqual([[1]])
  await stop()
})

test('rows that are added while a batch is being written go with the next one, each once', async () => {
  const gate = Promise.withResolvers<void>()
  const batches: number[][] = []
  const { addAll, add, flush } = open({
    async write(rows) {
      batches.push([...rows])
      await gate.promise
    },
  })
  addAll(1, 2)
  const both = [flush(), flush()]
  await sleep(1)
  add(3)
  gate.resolve()
  await Promise.all(both)
  expect(batches).toEqual([[1, 2], [3]])
})

test('stop writes what is left', async () => {
  const { addAll, start, stop, batches } = open({ everyMs: 60_000 })
  start()
  addAll(1, 2, 3, 4)
  await stop()
  expect(batches).toEqual([[1, 2, 3], [4]])
})

test('keeps rows while the database is away and writes them in order when it is back', async () => {
  let isAway = true
  const batches: number[][] = []
  const { addAll, flush, lost } = open({
    async write(rows) {
      if (isAway) throw away()
      batches.push([...rows])
    },
  })
  addAll(1, 2)
  await flush()
  addAll(3, 4)
  isAway = false
  await flush()
  expect([batches, lost]).toEqual([[[1, 2, 3], [4]], []])
})

test('counts what does not fit while the database is away, once per flush, and keeps the oldest rows', async () => {
  let isAway = true
  const batches: number[][] = []
  const { addAll, flush, lost } = open({
    waitingMax: 4,
    async write(rows) {
      if (isAway) throw away()
      batches.push([...rows])
    },
  })
  addAll(1, 2, 3, 4, 5, 6)
  expect(lost).toEqual([])
  await flush()
  expect(lost).toEqual([{ rows: 2, why: 'more than 4 rows were waiting' }])
  isAway = false
  await flush()
  expect([batches.flat(), lost.length]).toEqual([[1, 2, 3, 4], 1])
})

test('loses a batch that the database refuses, and writes the next one', async () => {
  const batches: number[][] = []
  const { addAll, flush, lost } = open({
    async write(rows) {
      if (rows.includes(2)) throw new Error('refused')
      batches.push([...rows])
    },
  })
  addAll(1, 2, 3, 4, 5)
  await flush()
  expect([batches, lost]).toEqual([[[4, 5]], [{ rows: 3, why: 'refused' }]])
})

test('stop with the database away counts what was never written', async () => {
  const { addAll, stop, lost } = open({ write: () => Promise.reject(away()) })
  addAll(1, 2, 3, 4)
  await stop()
  expect(lost).toEqual([{ rows: 4, why: away().message }])
})
