import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { washed } from '../terminal/paint.ts'

export interface CsvWriter {
  row(cells: readonly (string | number | null | undefined)[]): Promise<void>
  end(): Promise<void>
}

/** Lines end with LF: every reader takes it, and `diff` and `wc` stay useful. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map((cell) => quoted(typeof cell === 'number' ? String(cell) : inert(String(cell ?? '')))).join(',')}\n`
}

/** `-` is stdout. */
export function csvWriter(path: string): CsvWriter {
  if (path === '-') {
    return {
      async row(cells) {
        const line = csvLine(cells)
        // Into a file it goes as it is; a terminal would obey what a cell says.
        if (!process.stdout.write(process.stdout.isTTY ? washed(line) : line))
          await once(process.stdout, 'drain')
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

/**
 * A spreadsheet runs what begins like a formula, also in a file that somebody else filled. Nothing of ours begins so, except a key
 * with a hyphen in front, which can do nothing.
 */
function inert(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !/^-[\w.:-]*$/.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
