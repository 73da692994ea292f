import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { type Db, sql } from '../../platform/database/db.ts'
import { refuse } from '../../platform/trouble.ts'
import { type ChainFindings, createChainCheck, type FoundRow, type PublishedDigest } from './check.ts'
import type { Cells, Digest, Segment } from './hashes.ts'
import { selectDigests } from './queries.ts'
import { readSealed, readStrays } from './read-chains.ts'

const FORMAT = 'shopwire seal export 1'
const MODE = 0o600

/** The kinds of lines in an export; each is one JSON object with one of these names. */
interface Line {
  readonly format?: string
  /** Followed by its rows. */
  readonly segment?: Segment
  readonly row?: Cells
  /** For a row that no longer matches its commitment. Addresses and details themselves are not exported. */
  readonly isAltered?: true
  readonly strays?: { readonly inserted: readonly string[]; readonly removed: readonly string[] }
  readonly digest?: Digest
  /** The last line: how many lines come before it. */
  readonly end?: number
}

/** Writes everything that was sealed, as found now, in one snapshot. Refuses to overwrite a file. */
export async function exportSealed(
  db: Db,
  path: string,
  progress?: (segments: number, total: number) => void,
): Promise<{ lines: number; segments: number }> {
  const file = await open(path, 'wx', MODE).catch((error: NodeJS.ErrnoException) => {
    throw refuse(
      'invalid_request',
      `${path} cannot be written (${error.code}). Choose a name that does not exist yet, in a folder that exists.`,
    )
  })
  let lines = 0
  let segments = 0
  const write = (...some: Line[]) => {
    lines += some.length
    return file.appendFile(some.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
  try {
    await db.transaction(async (tx) => {
      await tx.run(sql`set transaction isolation level repeatable read, read only`)
      const { total } = await tx.one<{ total: number }>(sql`select count(*) as total from seal_segments`)
      await write({ format: FORMAT })
      for await (const { segment, rows } of readSealed(tx)) {
        segments += 1
        await write({ segment }, ...rows.map(toLine))
        progress?.(segments, total)
      }
      await write({ strays: await readStrays(tx) })
      for (const digest of await selectDigests(tx)) await write({ digest })
    })
    await write({ end: lines })
    await file.datasync()
  } finally {
    await file.close()
  }
  return { lines, segments }
}

const toLine = ({ cells, isWhole }: FoundRow): Line => ({
  row: cells,
  ...(!isWhole && { isAltered: true as const }),
})

/** Checks an export using only the file. */
export async function checkExport(
  path: string,
  published: readonly PublishedDigest[],
): Promise<ChainFindings> {
  const check = createChainCheck()
  const digests: Digest[] = []
  let current: { segment: Segment; rows: FoundRow[] } | undefined
  let lines = 0
  let isWhole = false
  const finishSegment = () => {
    if (current) check.segment(current.segment, current.rows)
    current = undefined
  }
  for await (const text of linesOf(path)) {
    const line = parse(text, lines + 1, path)
    if (lines === 0 && line.format !== FORMAT)
      throw refuse('invalid_request', `${path} is not an export: its first line is not "${FORMAT}".`)
    if (line.row && current) current.rows.push({ cells: line.row, isWhole: !line.isAltered })
    else finishSegment()
    if (line.segment) current = { segment: line.segment, rows: [] }
    if (line.strays) check.strays(line.strays.inserted, line.strays.removed)
    if (line.digest) digests.push(line.digest)
    isWhole = line.end === lines
    lines += 1
  }
  finishSegment()
  check.digests(digests, published)
  const findings = check.findings()
  if (!isWhole && Object.values(findings).every((wrong) => wrong.length === 0))
    throw refuse(
      'invalid_request',
      `${path} is incomplete: the count in its last line does not match the ${lines} lines before it. Lines were lost, or added. Export again, or use another copy of the file.`,
    )
  return findings
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const input = createReadStream(path, 'utf8')
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw refuse('invalid_request', `${path} cannot be read (${code}).`)
  } finally {
    input.destroy()
  }
}

function parse(text: string, line: number, path: string): Line {
  try {
    return JSON.parse(text) as Line
  } catch {
    throw refuse('invalid_request', `${path} is not an export: line ${line} is not JSON.`)
  }
}
