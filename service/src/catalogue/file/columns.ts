import { editDistance } from '../../platform/text/edit-distance.ts'
/** The columns of a catalogue file: the header of a CSV file, the members of an item in JSON. */
export const columns = [
  'id',
  'name',
  'type',
  'collection',
  'price_cents',
  'image',
  'available_until',
  'for_sale',
] as const
export type Column = (typeof columns)[number]

/** An item in the texts of a file. Empty or missing values take their default. */
export type ItemTexts = Partial<Record<Column, string>>

export function isColumn(name: string): name is Column {
  return (columns as readonly string[]).includes(name)
}

export function unknownName(what: 'column' | 'member', name: string): string {
  const shown = JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)
  const near = nearColumn(name.toLowerCase())
  return `the ${what} ${shown} is unknown${near ? `; did you mean "${near}"?` : '.'}`
}

const TYPOS_MAX = 2

function nearColumn(name: string): Column | undefined {
  if (name.length > 40) return undefined
  const plain = name.replaceAll(/[^a-z]/g, '')
  const byDistance = columns
    .map((column) => ({ column, typos: editDistance(plain, column.replaceAll('_', '')) }))
    .sort((a, b) => a.typos - b.typos)[0]
  if (byDistance && byDistance.typos <= TYPOS_MAX) return byDistance.column
  return columns.find((column) =>
    column.split('_').some((word) => word.length > 3 && plain.length > 3 && plain.includes(word)),
  )
}
