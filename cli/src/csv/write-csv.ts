import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { washed } from '../terminal/paint.ts'

export interface CsvWriter {
  row(cells: readonly (string | number | null | undefined)[]): Promise<void>
  end(): Promise<void>
}

/** Lines end with LF, which every reader accepts and `diff` and `wc` expect. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map((cell) => quoted(typeof cell === 'number' ? String(cell) : inert(String(cell ?? '')))).join(',')}\n`
}

/** `-` is stdout. */
export function csvWriter(path: string): CsvWriter {
  if (path === '-') {
    return {
      async row(cells) {
        const line = csvLine(cells)
        // A file gets the raw cells; for a terminal control characters are escaped.
        if (!process.stdout.write(process.stdout.isTTY ? washed(line) : line))
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
      if (!stream.write(csvLine(cells))) await Promise.race([once(stream, 'drain'), isDone])
    },
    async end() {
      stream.end()
      await isDone
    },
  }
}

/**
 * Prevents CSV injection: spreadsheets execute cells that begin like a formula. None of the exported values begin
 * like that, except a key that begins with a hyphen, which is harmless.
 */
function inert(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !/^-[\w.:-]*$/.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
