import { type Paint, printable } from './paint.ts'

export interface Column<Row> {
  readonly title: string
  readonly align?: 'right'
  /** Longer cells are truncated. */
  readonly widthMax?: number
  cell(row: Row): string
  /** Applied after the width is computed. */
  paint?(text: string, row: Row): string
}

const GAP = '  '

/** Columns as wide as their widest cell; nothing is drawn around them. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], paint: Paint): string {
  const cells = rows.map((row) => columns.map((column) => cut(printable(column.cell(row)), column.widthMax)))
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((line) => [...(line[at] ?? '')].length)),
  )
  const head = columns.map(({ title, align }, at) => pad(title, widths[at] ?? 0, align))
  const body = cells.map((line, index) =>
    columns.map(({ align, paint: colour }, at) => {
      const text = pad(line[at] ?? '', widths[at] ?? 0, align)
      const row = rows[index]
      return colour && row !== undefined ? colour(text, row) : text
    }),
  )
  return [paint.dim(head.join(GAP).trimEnd()), ...body.map((line) => line.join(GAP).trimEnd())].join('\n')
}

/** Label and value pairs, one per line. */
export function facts(pairs: readonly (readonly [string, string] | undefined)[], paint: Paint): string {
  const given = pairs.filter((pair) => pair !== undefined)
  const width = Math.max(...given.map(([label]) => label.length))
  return given.map(([label, value]) => `${paint.dim(label.padEnd(width))}  ${value}`).join('\n')
}

function pad(text: string, width: number, align?: 'right'): string {
  const missing = ' '.repeat(Math.max(0, width - [...text].length))
  return align === 'right' ? missing + text : text + missing
}

function cut(text: string, widthMax = Number.POSITIVE_INFINITY): string {
  const letters = [...text]
  return letters.length <= widthMax ? text : `${letters.slice(0, widthMax - 1).join('')}…`
}
