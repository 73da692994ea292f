import { createReadStream } from 'node:fs'
import { type CsvRow, csvRows } from '@shopwire/contract/csv'
import { CliError, EXIT } from '../trouble.ts'

const PROBLEMS_SHOWN_MAX = 20

/** Yields the rows of a file. When some are not valid CSV, it fails at the end and names all of them. */
export async function* readCsv(path: string): AsyncGenerator<CsvRow, void, undefined> {
  const problems: string[] = []
  let isHeader = true
  for await (const row of csvRows(createReadStream(path, { highWaterMark: 256 * 1024 }))) {
    if (row.problem === undefined) yield row
    else problems.push(`line ${row.line}: ${row.problem}`)
    // Without its columns nothing can be said about the rows.
    if (isHeader && row.problem !== undefined) break
    isHeader = false
  }
  if (problems.length === 0) return
  const more = problems.length - PROBLEMS_SHOWN_MAX
  throw new CliError({
    type: 'usage',
    message: `${path} is not valid CSV.`,
    why: [...problems.slice(0, PROBLEMS_SHOWN_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
    next: 'Save it again as CSV (RFC 4180, UTF-8).',
    exitCode: EXIT.usage,
  })
}
