import { useRef, useState } from 'react'

interface Held<Row> {
  readonly rows: readonly Row[] | undefined
  /** How many rows wait. */
  readonly fresh: number
  readonly show: () => void
}

/**
 * Keeps a live list still: rows that are on the screen change in place, rows that came since wait until `show`. `key` is what the reader
 * asked for (filters, cursor): when it changes, the new answer is shown whole.
 */
export function useHeldRows<Row>(
  key: string,
  rows: readonly Row[] | undefined,
  rowId: (row: Row) => string,
): Held<Row> {
  const held = useRef<{ key: string; shown: readonly Row[] } | undefined>(undefined)
  const [, redraw] = useState(0)
  if (rows === undefined)
    return { rows: held.current?.key === key ? held.current.shown : undefined, fresh: 0, show: () => {} }
  if (held.current?.key !== key || held.current.shown.length === 0) {
    held.current = { key, shown: rows }
    return { rows, fresh: 0, show: () => {} }
  }
  const latest = new Map(rows.map((row) => [rowId(row), row]))
  const known = new Set(held.current.shown.map(rowId))
  // A row pushed off the end of the page by newer ones stays where it is.
  const shown = held.current.shown.map((row) => latest.get(rowId(row)) ?? row)
  held.current = { key, shown }
  const first = rows.findIndex((row) => known.has(rowId(row)))
  const fresh = rows
    .slice(0, first === -1 ? rows.length : first)
    .filter((row) => !known.has(rowId(row))).length
  const show = () => {
    held.current = { key, shown: rows }
    redraw((count) => count + 1)
  }
  return { rows: shown, fresh, show }
}
