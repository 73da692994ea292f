import { type Column, columns, type ItemTexts, isColumn, unknownName } from './columns.ts'
import { CsvError, csvRecords } from './csv-records.ts'
import type { FileItems } from './file-items.ts'

const REQUIRED: readonly Column[] = ['id', 'name', 'type', 'collection', 'price_cents']

export function readCsv(text: string, file: FileItems) {
  let header: Column[] | undefined
  for (const { line, cells, strayQuote } of csvRecords(text)) {
    const trimmed = cells.map((cell) => cell.trim())
    if (trimmed.every((cell) => cell === '')) continue
    if (!header) {
      header = readHeader(trimmed)
      continue
    }
    if (cells.length !== header.length) {
      file.problem(
        line,
        `has ${cells.length} fields where the header has ${header.length}. A comma inside a field needs quotes around the field; a last line that is short was cut off.`,
      )
      continue
    }
    const texts: ItemTexts = {}
    for (const [n, column] of header.entries()) texts[column] = trimmed[n] as string
    const strayIn = strayQuote === undefined ? undefined : header[strayQuote]
    // Quotes in an id are reported by the check of the id, which says more.
    if (strayIn !== undefined && strayIn !== 'id') {
      file.problem(
        line,
        `${strayIn} has a quote inside a field without quotes around it. Write "${'5"" frame'}" for 5" frame.`,
      )
    } else {
      file.add(line, texts)
    }
  }
}

function readHeader(names: readonly string[]): Column[] {
  if (names.length === 1 && /[;\t]/.test(names[0] as string)) {
    throw new CsvError('line 1: the columns are separated by semicolons or tabs. Save the file with commas.')
  }
  const problems = names.filter((name) => !isColumn(name)).map((name) => unknownName('column', name))
  for (const [n, name] of names.entries()) {
    if (names.indexOf(name) < n) problems.push(`the column "${name}" stands twice.`)
  }
  const missing = REQUIRED.filter((column) => !names.includes(column))
  if (missing.length > 0) problems.push(`the header lacks ${missing.join(', ')}.`)
  if (problems.length > 0) {
    throw new CsvError(
      `line 1: ${problems.join(' ')} The first line names the columns: ${columns.join(',')}.`,
    )
  }
  return names as Column[]
}
