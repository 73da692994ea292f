export class CsvError extends Error {
  override readonly name = 'CsvError'
}

interface CsvRecord {
  /** The line it starts in, from 1. */
  readonly line: number
  readonly cells: string[]
  /** The first cell that contains a quote but does not start with one. */
  readonly strayQuote: number | undefined
}

/**
 * RFC 4180 with either line end. Written here because a record has to know the line it starts in, and an invalid record is one
 * problem among others, while a library would stop at the first.
 */
export function* csvRecords(text: string): Generator<CsvRecord> {
  let at = 0
  let line = 1
  while (at < text.length) {
    const end = lineEnd(text, at)
    const plain = text.slice(at, end)
    if (!plain.includes('"')) {
      yield { line, cells: plain.split(','), strayQuote: undefined }
      at = end + 1
      line += 1
    } else {
      const record = quotedRecord(text, at, line)
      yield record
      at = record.end
      line += record.lines
    }
  }
}

function quotedRecord(text: string, start: number, line: number) {
  const cells: string[] = []
  let strayQuote: number | undefined
  let lines = 1
  let at = start
  for (;;) {
    let end: number
    if (text[at] === '"') {
      end = closingQuote(text, at, line + lines - 1) + 1
      const cell = text.slice(at + 1, end - 1).replaceAll('""', '"')
      lines += cell.split('\n').length - 1
      cells.push(cell)
      if (text[end] === '\r') end += 1
      if (end < text.length && text[end] !== ',' && text[end] !== '\n') {
        throw new CsvError(
          `line ${line + lines - 1}: there is text after a closing quote. A quote inside a quoted field is written twice. What follows was not read.`,
        )
      }
    } else {
      const comma = text.indexOf(',', at)
      end = lineEnd(text, at)
      if (comma >= 0 && comma < end) end = comma
      const cell = text.slice(at, end)
      if (cell.includes('"')) strayQuote ??= cells.length
      cells.push(cell)
    }
    at = end + 1
    if (text[end] !== ',') return { line, cells, strayQuote, lines, end: at }
  }
}

function closingQuote(text: string, opening: number, line: number): number {
  let at = opening
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) {
      throw new CsvError(
        `line ${line}: a quoted field begins here and never ends. A quote inside a quoted field is written twice; a file that ends early was cut off.`,
      )
    }
    if (text[at + 1] !== '"') return at
    at += 1
  }
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at < 0 ? text.length : at
}
