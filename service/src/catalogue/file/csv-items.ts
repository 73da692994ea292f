import { type CsvRow, eachCsvRow } from '@shopwire/contract/csv'
import { type Column, columns, type ItemTexts, isColumn, unknownName } from './columns.ts'
import type { FileItems } from './file-items.ts'

const REQUIRED: readonly Column[] = ['id', 'name', 'type', 'collection', 'price_cents']

/** Without its columns nothing can be said about the rows of a file. */
export class HeaderError extends Error {
  override readonly name = 'HeaderError'
}

export function readCsv(bytes: Uint8Array, file: FileItems) {
  let header: readonly Column[] | undefined
  eachCsvRow(bytes, (row) => {
    const cells = row.cells.map((cell) => cell.trim())
    if (row.problem === undefined && cells.every((cell) => cell === '')) return
    if (header) readItem(header, { ...row, cells }, file)
    else header = readHeader({ ...row, cells })
  })
}

function readItem(header: readonly Column[], { line, cells, problem }: CsvRow, file: FileItems) {
  const texts: ItemTexts = Object.fromEntries(header.map((column, n) => [column, cells[n]]))
  // Quotes in an id are reported by the check of the id, which says more.
  if (problem !== undefined && !texts.id?.includes('"')) {
    file.problem(line, problem)
  } else if (cells.length !== header.length) {
    file.problem(
      line,
      `has ${cells.length} fields where the header has ${header.length}. A comma inside a field needs quotes around the field; a last line that is short was cut off.`,
    )
  } else {
    file.add(line, texts)
  }
}

function readHeader({ line, cells: names, problem }: CsvRow): Column[] {
  if (problem !== undefined) throw new HeaderError(`line ${line}: ${problem}`)
  if (names.length === 1 && /[;\t]/.test(names[0] as string)) {
    throw new HeaderError(
      `line ${line}: the columns are separated by semicolons or tabs. Save the file with commas.`,
    )
  }
  const problems = names.filter((name) => !isColumn(name)).map((name) => unknownName('column', name))
  for (const [n, name] of names.entries()) {
    if (names.indexOf(name) < n) problems.push(`the column "${name}" stands twice.`)
  }
  const missing = REQUIRED.filter((column) => !names.includes(column))
  if (missing.length > 0) problems.push(`the header lacks ${missing.join(', ')}.`)
  if (problems.length > 0) {
    throw new HeaderError(
      `line ${line}: ${problems.join(' ')} The first line names the columns: ${columns.join(',')}.`,
    )
  }
  return names as Column[]
}
