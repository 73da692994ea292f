import { CloseButton } from '@mantine/core'
import { type ReactNode, useRef, useState } from 'react'
import { useKeys } from '#lib/keyboard.ts'
import { words } from '../../words.ts'
import { showNote } from '../feedback/toasts.tsx'
import type { RowSelection } from './data-table.tsx'
import classes from './selection.module.css'

/** As many as one request takes. */
export const SELECTED_MAX = 100

const NONE: ReadonlySet<string> = new Set()

export interface Selection extends RowSelection {
  readonly ids: readonly string[]
  clear(): void
}

/** `list` names what is listed, such as its filters: the selection stays while one leafs through it, and ends with it. */
export function useSelection<Row>(
  rows: readonly Row[] | undefined,
  idOf: (row: Row) => string,
  list: string,
): Selection {
  const [kept, keep] = useState({ list, ids: NONE })
  const last = useRef<string>(undefined)
  // Another list begins without one, and so does this list when it is shown again.
  if (kept.list !== list) keep({ list, ids: NONE })
  const ids = kept.list === list ? kept.ids : NONE
  const order = (rows ?? []).map(idOf)
  const selected = order.filter((id) => ids.has(id)).length
  const shown = selected === 0 ? 'none' : selected === order.length ? 'all' : 'some'

  function set(some: readonly string[], isOn: boolean): void {
    const rest = [...ids].filter((id) => !some.includes(id))
    const next = new Set(isOn ? [...rest, ...some] : rest)
    if (next.size > SELECTED_MAX) showNote(words.selection.tooMany(SELECTED_MAX), words.selection.tooManyMore)
    else keep({ list, ids: next })
  }
  return {
    ids: [...ids],
    isSelected: (id) => ids.has(id),
    toggle(id, isRange) {
      set(isRange ? between(order, last.current, id) : [id], !ids.has(id))
      last.current = id
    },
    shown,
    toggleShown: () => set(order, shown !== 'all'),
    clear: () => keep({ list, ids: NONE }),
  }
}

/** The rows from one to the other, both with them; the last alone when the first is not on this page. */
export function between(
  order: readonly string[],
  first: string | undefined,
  last: string,
): readonly string[] {
  const [from, to] = [order.indexOf(first ?? ''), order.indexOf(last)]
  return from === -1 || to === -1 ? [last] : order.slice(Math.min(from, to), Math.max(from, to) + 1)
}

/** What can be done with the selected rows, at the lower edge: nothing moves when it comes. `Esc` clears the selection. */
export function SelectionBar({
  selection: { ids, clear },
  children,
}: {
  readonly selection: Selection
  readonly children: ReactNode
}) {
  const count = ids.length
  const said = words.selection
  useKeys({ Escape: () => (count === 0 ? false : clear()) })
  return (
    <>
      <span role="status" className="sw-hidden">
        {count === 0 ? '' : said.count(count)}
      </span>
      {count === 0 ? null : (
        <section className={`${classes.bar} sw-screen-only`} aria-label={said.label}>
          <span className="sw-strong" aria-hidden>
            {said.count(count)}
          </span>
          <div className={classes.actions}>{children}</div>
          <CloseButton aria-label={said.clear} onClick={clear} />
        </section>
      )}
    </>
  )
}
