export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

/**
 * Every row once, over pages that shift while they are read. Added rows move others to the next page, where they are
 * skipped as already seen. Removed rows move others to the previous page; so pages overlap by one row, and when that
 * row was not seen before, the previous page is read again.
 */
export async function* walkPages<Row extends { readonly id: string }>(
  limit: number,
  offset: number,
  readPage: (offset: number) => Promise<Page<Row>>,
): AsyncGenerator<Row, void, undefined> {
  const seen = new Set<string>()
  const overlap = limit > 1 ? 1 : 0
  let at = offset
  let isSure = true
  for (;;) {
    const { rows, total } = await readPage(at)
    const [first] = rows
    const hasMoved = isSure && overlap > 0 && at > offset && (first === undefined || !seen.has(first.id))
    if (hasMoved) {
      at = Math.max(offset, at - limit)
      isSure = false
      continue
    }
    isSure = true
    for (const row of rows) {
      if (seen.has(row.id)) continue
      seen.add(row.id)
      yield row
    }
    const end = at + rows.length
    if (rows.length === 0 || end >= total) return
    // Without this, a page shorter than the overlap would be read endlessly.
    at = rows.length > overlap ? end - overlap : end
  }
}
