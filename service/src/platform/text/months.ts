/** `2026-11`. Months begin and end at 00:00 UTC, whatever the reader's zone: a statement has to be the same for everybody. */
export function monthOf(at: Date): string {
  return at.toISOString().slice(0, 7)
}

/** From the first instant of a month to that of the next. */
export function monthRange(month: string): { readonly from: Date; readonly to: Date } {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return { from: new Date(Date.UTC(year, number - 1)), to: new Date(Date.UTC(year, number)) }
}
