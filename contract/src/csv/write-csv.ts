import { stringify } from 'csv-stringify/sync'
import { asText } from './formula-cells.ts'

export type CsvCell = string | number | null | undefined

/** Rows as RFC 4180 defines them, each with its line end (CRLF). No cell begins as a formula. */
export function csvText(rows: readonly (readonly CsvCell[])[]): string {
  return stringify([...rows], {
    record_delimiter: '\r\n',
    // The library looks for its own line end only; readers take others for one, too.
    quoted_match: /[\r\n]/,
    cast: { string: asText },
  })
}
