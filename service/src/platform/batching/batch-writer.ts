import { every } from '../process/every.ts'
import { Unavailable } from '../trouble.ts'

export interface BatchWriterOptions<Row> {
  readonly everyMs: number
  /** Rows per call of `write`. */
  readonly batchMax: number
  /** Rows that may wait in memory; those beyond are lost. */
  readonly waitingMax: number
  /** Must be safe to repeat with the same rows: after a lost connection it is unknown whether they were written. */
  write(rows: readonly Row[]): Promise<unknown>
  /** Rows that will never be written, and why. Called once per flush, not once per row. */
  onLost(rows: number, why: unknown): void
}

export interface BatchWriter<Row> {
  /** Never waits and never throws: the code that calls it has a request to answer. */
  add(row: Row): void
  /** Writes what has been added so far, unless the database is unavailable. */
  flush(): Promise<void>
  start(): void
  /** Writes the remaining rows. */
  stop(): Promise<void>
}

/**
 * Collects rows in memory and writes them in batches, in the order they were added. While the database is unavailable they wait;
 * rows beyond the limit are dropped and counted. A batch that the database refuses for any other reason is dropped as well, because
 * it would be refused again and hold up all later rows.
 */
export function createBatchWriter<Row>(options: BatchWriterOptions<Row>): BatchWriter<Row> {
  const { batchMax, waitingMax, write, onLost } = options
  const waiting: Row[] = []
  let overflowed = 0
  let isStopped = false
  let underWay: Promise<unknown> = Promise.resolve()

  /** Returns why the database is unavailable; undefined when every row was written or dropped. */
  async function writeAll(): Promise<Unavailable | undefined> {
    if (overflowed > 0) {
      onLost(overflowed, new Error(`more than ${waitingMax} rows were waiting`))
      overflowed = 0
    }
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax)
      try {
        await write(batch)
      } catch (error) {
        if (error instanceof Unavailable) return error
        onLost(batch.length, error)
      }
      waiting.splice(0, batch.length)
    }
    return undefined
  }
  /** One write at a time: two at once would write the same rows. */
  function flush(): Promise<Unavailable | undefined> {
    const result = underWay.then(writeAll)
    underWay = result
    return result
  }
  const repeating = every(
    options.everyMs,
    async () => void (await flush()),
    () => {},
  )

  return {
    add(row) {
      if (isStopped) return onLost(1, new Error('it was added after the last write of this process'))
      if (waiting.length < waitingMax) waiting.push(row)
      else overflowed += 1
    },
    flush: async () => void (await flush()),
    start: repeating.start,
    async stop() {
      await repeating.stop()
      const away = await flush()
      isStopped = true
      if (away) onLost(waiting.splice(0).length, away)
    },
  }
}
