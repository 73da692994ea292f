import { pipeline } from 'node:stream/promises'
import { CsvError, type Options, parse as parseStream } from 'csv-parse'
import { parse as parseWhole } from 'csv-parse/sync'
import { fromText } from './formula-cells.ts'

export interface CsvRow {
  /** The line it begins in, from 1. */
  readonly line: number
  readonly cells: readonly string[]
  /** What is wrong with the row and what to do; its cells are then not what somebody meant. */
  readonly problem?: string | undefined
}

/** A quote that is never closed makes the rest of the file one row, and memory ends somewhere. */
const ROW_BYTES_MAX = 1_000_000
const FIRST_LINE_BYTES_MAX = 65_536
const LINE_ENDS = ['\r\n', '\n', '\r']

/** Reads a whole file with commas. A row that is not valid CSV has a problem; those after it are read all the same. */
export function eachCsvRow(bytes: Uint8Array, take: (row: CsvRow) => void): void {
  parseWhole(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), optionsFor(',', take))
}

/** The same for a file of any size. Semicolons or tabs separate the cells when the first line has no comma. */
export async function* csvRows(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRow, void, undefined> {
  const whole = withFirstLineWhole(chunks)
  const first = await whole.next()
  if (first.done) return
  const take: Take = (row, isLast) => {
    parser.push(row)
    if (isLast) parser.push(null)
  }
  const parser = parseStream(optionsFor(delimiterOf(first.value), take))
  parser.write(first.value)
  // An error of the source reaches the loop through the parser.
  pipeline(whole, parser).catch(() => {})
  yield* parser
}

/** `isLast` before the end of the file when nothing after the row can be read. */
type Take = (row: CsvRow, isLast?: boolean) => void

/** Every line end, a byte order mark, empty lines between rows, rows of different lengths. */
function optionsFor(delimiter: string, take: Take): Options {
  let line = 1
  let hasEnded = false
  return {
    bom: true,
    delimiter,
    record_delimiter: LINE_ENDS,
    skip_empty_lines: true,
    relax_column_count: true,
    // A quote in the wrong place is part of its cell, so the row ends where its line does; `quoteProblem` reports it.
    relax_quotes: true,
    skip_records_with_error: true,
    max_record_size: ROW_BYTES_MAX,
    raw: true,
    on_record(row) {
      if (hasEnded) return undefined
      // With `raw` it is not the record alone, which the types do not say.
      const { record, raw } = row as unknown as { record: string[]; raw: string }
      take({ line: firstLineOf(raw), cells: record.map(fromText), problem: problemOf(record, raw) })
      line += raw.match(/\r\n?|\n/g)?.length ?? 0
      return undefined
    },
    // With these options only a row without an end is an error.
    on_skip(error, raw = '') {
      if (hasEnded) return undefined
      hasEnded = true
      take({ line: firstLineOf(raw), cells: [], problem: endlessProblem(error) }, true)
      return undefined
    },
  }

  // The library's own count takes CRLF within quotes for two lines. Empty lines before a row are part of its raw text.
  function firstLineOf(raw: string): number {
    return line + (/^[\r\n]+/.exec(raw)?.[0].length ?? 0)
  }

  function problemOf(cells: readonly string[], raw: string): string | undefined {
    if (raw.includes('\0'))
      return 'there is a NUL character: the file is damaged, or not UTF-8. Save it again as "CSV UTF-8".'
    return cells.some((cell) => cell.includes('"')) ? quoteProblem(raw, delimiter) : undefined
  }
}

/** The row is read again by the strict rules, which name what is wrong but leave everything after it unread. */
function quoteProblem(raw: string, delimiter: string): string | undefined {
  try {
    parseWhole(raw, { delimiter, record_delimiter: LINE_ENDS, skip_empty_lines: true })
    return undefined
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const field = `(field ${Number(error.column) + 1})`
    return error.code === 'INVALID_OPENING_QUOTE'
      ? `there is a quote inside a field without quotes around it ${field}. Write "5"" frame" for 5" frame.`
      : `there is text after a closing quote ${field}. A quote inside a quoted field is written twice.`
  }
}

function endlessProblem(error: CsvError | undefined): string {
  const what =
    error?.code === 'CSV_MAX_RECORD_SIZE'
      ? `the row has more than ${ROW_BYTES_MAX.toLocaleString('en-US')} bytes; probably a quoted field in it never ends.`
      : 'a quoted field begins here and never ends.'
  return `${what} A quote inside a quoted field is written twice; a file that ends early was cut off. What follows was not read.`
}

/** The first line determines the delimiter, so its first chunk has all of it. */
async function* withFirstLineWhole(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let held: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (held === undefined) {
      yield chunk
      continue
    }
    held = Buffer.concat([held, chunk])
    if (!/[\r\n]/.test(Buffer.from(chunk).toString('latin1')) && held.length < FIRST_LINE_BYTES_MAX) continue
    yield held
    held = undefined
  }
  if (held?.length) yield held
}

function delimiterOf(bytes: Uint8Array): string {
  const [first = ''] = Buffer.from(bytes)
    .toString('latin1')
    .split(/[\r\n]/, 1)
  return [',', ';', '\t'].find((one) => first.includes(one)) ?? ','
}
