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
    .map((column) => ({ column, typos: typosBetween(plain, column.replaceAll('_', '')) }))
    .sort((a, b) => a.typos - b.typos)[0]
  if (byDistance && byDistance.typos <= TYPOS_MAX) return byDistance.column
  return columns.find((column) =>
    column.split('_').some((word) => word.length > 3 && plain.length > 3 && plain.includes(word)),
  )
}

/** Levenshtein distance. */
function typosBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [row, char] of [...a].entries()) {
    const current = [row + 1]
    for (let n = 0; n < b.length; n += 1) {
      const replaced = (above[n] as number) + (b[n] === char ? 0 : 1)
      current.push(Math.min(replaced, (above[n + 1] as number) + 1, (current[n] as number) + 1))
    }
    above = current
  }
  return above[b.length] as number
}
