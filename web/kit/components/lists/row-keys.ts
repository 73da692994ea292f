import type { RefObject } from 'react'
import { copyText } from '#lib/copy.ts'
import { useKeys } from '#lib/keyboard.ts'
import { words } from '../../words.ts'
import { showNote } from '../feedback/toasts.tsx'

interface KeyedRows<Row> {
  readonly rows: readonly Row[] | undefined
  readonly rowId: (row: Row) => string
  readonly onOpen?: ((row: Row) => void) | undefined
  readonly openId?: string | undefined
  readonly selection?: { readonly toggle: (id: string, isRange: boolean) => void } | undefined
}

/** `j` and `k` move, `c` copies the id of a row, `x` selects it. */
export function useRowKeys<Row>(
  box: RefObject<HTMLDivElement | null>,
  { onOpen, rows, rowId, openId, selection }: KeyedRows<Row>,
): void {
  const links = () => [...(box.current?.querySelectorAll<HTMLElement>('[data-row-link]') ?? [])]
  const currentRow = () =>
    document.activeElement?.closest<HTMLElement>('[data-row]') ??
    box.current?.querySelector<HTMLElement>('[data-open]')
  // Of several lists, the one with the focus, or with the row that is open beside it; otherwise the first.
  const isMeant = () => {
    const list =
      document.activeElement?.closest('[data-list]') ??
      document.querySelector('[data-list]:has([data-open])') ??
      document.querySelector('[data-list]')
    return list === box.current
  }
  const move = (step: 1 | -1) => {
    if (!isMeant()) return false
    const all = links()
    if (all.length === 0) return false
    const row = currentRow()
    const at = row ? all.findIndex((link) => row.contains(link)) : -1
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))] ?? all[0]
    next?.focus()
    next?.scrollIntoView({ block: 'nearest' })
    // Beside an open panel, moving shows the next row in it.
    const id = next?.closest<HTMLElement>('[data-row]')?.dataset.row
    const wanted = rows?.find((one) => rowId(one) === id)
    if (openId !== undefined && onOpen && wanted && id !== openId) onOpen(wanted)
    return true
  }
  const select = (isRange: boolean) => {
    const row = currentRow()
    if (!selection || !row?.dataset.row || !box.current?.contains(row)) return false
    selection.toggle(row.dataset.row, isRange)
    return true
  }
  useKeys({
    x: () => select(false),
    X: () => select(true),
    j: () => move(1),
    k: () => move(-1),
    c: () => {
      const id = currentRow()?.dataset.row
      if (!id || !box.current?.contains(currentRow() ?? null)) return false
      void copyText(id).then((isCopied) => isCopied && showNote(words.copied, id))
      return true
    },
  })
}
