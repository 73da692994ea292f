import { useUrlState } from '#lib/url-state.ts'

/** The row that the address names, for <DataTable> and for the panel beside it. */
export function useOpenRow<Row>(rows: readonly Row[] | undefined, idOf: (row: Row) => string) {
  const [url, set] = useUrlState()
  const at = rows?.findIndex((row) => idOf(row) === url.open) ?? -1
  const show = (row: Row) => set({ open: idOf(row) }, { replace: url.open !== undefined })
  const to = (row: Row | undefined) => (at === -1 || row === undefined ? undefined : () => show(row))
  return {
    id: url.open,
    row: rows?.[at],
    show,
    panel: {
      onClose: () => set({ open: undefined }),
      onPrevious: to(rows?.[at - 1]),
      onNext: to(rows?.[at + 1]),
    },
  }
}
