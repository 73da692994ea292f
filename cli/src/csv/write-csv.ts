import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { type CsvCell, csvText } from '@shopwire/contract/csv'
import { washed } from '../terminal/paint.ts'

export interface CsvWriter {
  row(cells: readonly CsvCell[]): Promise<void>
  end(): Promise<void>
}

/** `-` is stdout. */
export function csvWriter(path: string): CsvWriter {
  if (path === '-') {
    return {
      async row(cells) {
        const line = csvText([cells])
        // A file gets the raw cells; for a terminal control characters are escaped, and CR is one.
        if (!process.stdout.write(process.stdout.isTTY ? `${washed(line.trimEnd())}\n` : line))
          await once(process.stdout, 'drain')
      },
      async end() {},
    }
  }
  const stream = createWriteStream(path, { mode: 0o600 })
  const isDone = finished(stream)
  // Awaited in end(); until then a failure must not be an unhandled rejection.
  isDone.catch(() => {})
  return {
    async row(cells) {
      if (!stream.write(csvText([cells]))) await Promise.race([once(stream, 'drain'), isDone])
    },
    async end() {
      stream.end()
      await isDone
    },
  }
}
