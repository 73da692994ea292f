import { createReadStream } from 'node:fs'
import { UsageError } from '../trouble.ts'

export interface CsvRow {
  /** Of its first character, for messages. */
  readonly line: number
  readonly cells: readonly string[]
}

/** A cell longer than this means that a quote was never closed. */
const CELL_LENGTH_MAX = 1_000_000
const FIRST_LINE_LENGTH_MAX = 65_536

/**
 * Reads RFC 4180 as a stream: quotes, doubled quotes, line breaks within quotes, CRLF or LF, a byte order mark, a last line
 * without an end. Empty lines are skipped. A semicolon or tab is the delimiter when the first line has no comma.
 */
export async function* readCsv(path: string): AsyncGenerator<CsvRow, void, undefined> {
  yield* parseCsv(createReadStream(path, { encoding: 'utf8', highWaterMark: 256 * 1024 }), path)
}

export async function* parseCsv(
  chunks: AsyncIterable<string> | Iterable<string>,
  name = 'CSV',
): AsyncGenerator<CsvRow, void, undefined> {
  let delimiter: string | undefined
  let cells: string[] = []
  let cell = ''
  let state: 'start' | 'plain' | 'quoted' | 'quote' = 'start'
  let line = 1
  let rowLine = 1
  let isFirst = true
  let wasReturn = false

  for await (const chunk of firstLineWhole(chunks)) {
    const text = isFirst ? chunk.replace(/^\ufeff/, '') : chunk
    if (text !== '') isFirst = false
    delimiter ??= delimiterOf(text)
    const rows: CsvRow[] = []
    for (let at = 0; at < text.length; at++) {
      const char = text[at] as string
      if (char === '\n' && wasReturn && state !== 'quoted') {
        wasReturn = false
        continue
      }
      wasReturn = false
      if (state === 'quoted') {
        if (char === '"') state = 'quote'
        else {
          cell += char
          if (char === '\n') line++
          if (cell.length > CELL_LENGTH_MAX) throw broken(name, rowLine, 'a quote that is never closed')
        }
        continue
      }
      if (char === '"') {
        if (state === 'start') state = 'quoted'
        else if (state === 'quote') {
          cell += '"'
          state = 'quoted'
        } else throw broken(name, line, 'a quote within a cell that does not begin with one')
      } else if (char === delimiter) {
        cells.push(cell)
        cell = ''
        state = 'start'
      } else if (char === '\n' || char === '\r') {
        wasReturn = char === '\r'
        line++
        endRow(rows)
      } else {
        if (state === 'quote') throw broken(name, line, 'something after a closing quote')
        state = 'plain'
        // Runs of plain characters are copied at once: most of a file consists of them.
        let end = at + 1
        while (end < text.length && !isSpecial(text.charCodeAt(end), delimiter)) end++
        cell += text.slice(at, end)
        at = end - 1
      }
    }
    yield* rows
  }
  if (state === 'quoted') throw broken(name, rowLine, 'a quote that is never closed')
  const rest: CsvRow[] = []
  endRow(rest)
  yield* rest

  function endRow(rows: CsvRow[]): void {
    const isEmpty = cells.length === 0 && cell === '' && state === 'start'
    if (!isEmpty) rows.push({ line: rowLine, cells: [...cells, cell] })
    cells = []
    cell = ''
    state = 'start'
    rowLine = line
  }
}

/** The first line determines the delimiter, so it must be read completely first. */
async function* firstLineWhole(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let held: string | undefined = ''
  for await (const chunk of chunks) {
    if (held === undefined) yield chunk
    else {
      held += chunk
      if (!/[\r\n]/.test(chunk) && held.length < FIRST_LINE_LENGTH_MAX) continue
      yield held
      held = undefined
    }
  }
  if (held !== undefined) yield held
}

function isSpecial(code: number, delimiter: string): boolean {
  return code === 34 || code === 10 || code === 13 || code === delimiter.charCodeAt(0)
}

function delimiterOf(text: string): string {
  const [first = ''] = text.split(/[\r\n]/, 1)
  if (first.includes(',')) return ','
  return first.includes(';') ? ';' : first.includes('\t') ? '\t' : ','
}

function broken(name: string, line: number, what: string): UsageError {
  return new UsageError(
    `${name} is not valid CSV: line ${line} has ${what}.`,
    'Save it again as CSV (RFC 4180, UTF-8).',
  )
}
