import { useRef, useState } from 'react'

interface Held<Row> {
  readonly rows: readonly Row[] | undefined
  /** How many rows wait. */
  readonly fresh: number
  /** Whether a row is still on the screen although it no longer belongs to what was asked for. */
  readonly isGone: (row: Row) => boolean
  readonly show: () => void
}

/** What a list showed last, and what had been asked for. */
export interface Shown<Row> {
  readonly key: string
  readonly rows: readonly Row[]
}

type HeldAnswer<Row> = Omit<Answer<Row>, 'key' | 'rows'> & { readonly rows: readonly Row[] | undefined }

/** An answer, and what was asked for. */
interface Answer<Row> extends Shown<Row> {
  /** The answer to the question before, until this one is answered. */
  readonly isStale: boolean
  /** Nothing comes after these rows. */
  readonly isLast?: boolean
}

/**
 * Keeps a live list still: rows that are on the screen change in place, rows that came since wait until `show`. `key` is what the reader
 * asked for (filters, cursor): when it changes, the new answer is shown whole.
 */
export function useHeldRows<Row>(
  key: string,
  { rows, isStale, isLast = false }: HeldAnswer<Row>,
  rowId: (row: Row) => string,
): Held<Row> {
  const held = useRef<Shown<Row> | undefined>(undefined)
  const [, redraw] = useState(0)
  if (rows === undefined) {
    const same = held.current?.key === key ? held.current.rows : undefined
    return { rows: same, fresh: 0, isGone: () => false, show: () => {} }
  }
  const next = hold(held.current, { key, rows, isStale, isLast }, rowId)
  held.current = next.held
  const show = () => {
    held.current = { key, rows }
    redraw((count) => count + 1)
  }
  return { rows: next.shown, fresh: next.fresh, isGone: (row) => next.gone.has(rowId(row)), show }
}

/** What to show of an answer, and what to remember of it. */
export function hold<Row>(
  held: Shown<Row> | undefined,
  { key, rows, isStale, isLast = false }: Answer<Row>,
  rowId: (row: Row) => string,
): Next<Row> {
  // Rows of the question before are not the answer to this one.
  if (isStale) return { held, shown: rows, fresh: 0, gone: NONE }
  if (held?.key !== key || held.rows.length === 0)
    return { held: { key, rows }, shown: rows, fresh: 0, gone: NONE }
  const latest = new Map(rows.map((row) => [rowId(row), row]))
  const known = new Set(held.rows.map(rowId))
  // A row pushed off the end of the page by newer ones stays where it is; one that is missing before others has left the list.
  const shown = held.rows.map((row) => latest.get(rowId(row)) ?? row)
  const first = rows.findIndex((row) => known.has(rowId(row)))
  const fresh = rows
    .slice(0, first === -1 ? rows.length : first)
    .filter((row) => !known.has(rowId(row))).length
  const lastListed = isLast ? shown.length : held.rows.findLastIndex((row) => latest.has(rowId(row)))
  const gone = new Set(
    shown
      .slice(0, Math.max(0, lastListed))
      .map(rowId)
      .filter((id) => !latest.has(id)),
  )
  return { held: { key, rows: shown }, shown, fresh, gone }
}

interface Next<Row> {
  readonly held: Shown<Row> | undefined
  readonly shown: readonly Row[]
  readonly fresh: number
  readonly gone: ReadonlySet<string>
}
const NONE: ReadonlySet<string> = new Set()
