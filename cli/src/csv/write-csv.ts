import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'

export interface CsvWriter {
  row(cells: readonly (string | number | null | undefined)[]): Promise<void>
  end(): Promise<void>
}

/** Lines end with LF: every reader takes it, and `diff` and `wc` stay useful. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map((cell) => quoted(String(cell ?? ''))).join(',')}\n`
}

/** `-` is stdout. */
export function csvWriter(path: string): CsvWriter {
  if (path === '-') {
    return {
      async row(cells) {
        if (!process.stdout.write(csvLine(cells))) await once(process.stdout, 'drain')
      },
      async end() {},
    }
  }
  const stream = createWriteStream(path, { mode: 0o600 })
  const isDone = finished(stream)
  // Awaited in end(); until then a failure must not count as unhandled.
  isDone.catch(() => {})
  return {
    async row(cells) {
      if (!stream.write(csvLine(cells))) await Promise.race([once(stream, 'drain'), isDone])
    },
    async end() {
      stream.end()
      await isDone
    },
  }
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
