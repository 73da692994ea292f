import { type Queryable, sql } from '../../platform/database/db.ts'
import { type ChainFindings, createChainCheck, type FoundRow, type PublishedDigest } from './check.ts'
import { commit, type Segment } from './hashes.ts'
import {
  type AuditRow,
  selectAuditRows,
  selectDigests,
  selectSegments,
  selectStrayAuditRows,
  selectTransfers,
} from './queries.ts'

const SEGMENTS_PAGE = 100
/** Rows read at a time. */
const ROWS_MAX = 20_000

export interface SealedPart {
  readonly segment: Segment
  readonly rows: readonly FoundRow[]
}

/** Every segment with the rows that are found for it now. Must run in one snapshot. */
export async function* readSealed(db: Queryable): AsyncGenerator<SealedPart> {
  let after = 0
  for (;;) {
    const page = await selectSegments(db, after, SEGMENTS_PAGE)
    for (const segments of inBatches(page)) yield* await withRows(db, segments)
    const last = page.at(-1)
    if (!last) return
    after = last.id
  }
}

/** Audit rows that should be in a segment and are in none, and waiting rows that no longer exist. */
export async function readStrays(db: Queryable): Promise<{ inserted: string[]; removed: string[] }> {
  const removed = await db.many<{ audit_id: string }>(sql`
    select w.audit_id
      from seal_waiting w
     where not exists (select from audit_log a where a.id = w.audit_id)
     order by w.audit_id`)
  return { inserted: await selectStrayAuditRows(db), removed: removed.map(({ audit_id }) => audit_id) }
}

export async function checkChains(
  db: Queryable,
  published: readonly PublishedDigest[] = [],
): Promise<ChainFindings> {
  const check = createChainCheck()
  for await (const { segment, rows } of readSealed(db)) check.segment(segment, rows)
  const { inserted, removed } = await readStrays(db)
  check.strays(inserted, removed)
  check.digests(await selectDigests(db), published)
  return check.findings()
}

function* inBatches(segments: readonly Segment[]): Generator<Segment[]> {
  let batch: Segment[] = []
  let rows = 0
  for (const segment of segments) {
    if (batch.length > 0 && rows + segment.row_count > ROWS_MAX) {
      yield batch
      ;[batch, rows] = [[], 0]
    }
    batch.push(segment)
    rows += segment.row_count
  }
  if (batch.length > 0) yield batch
}

async function withRows(db: Queryable, segments: readonly Segment[]): Promise<SealedPart[]> {
  const ranges = segments.map(({ chain, first_seq, last_seq }) => ({
    chain,
    // An empty range for audit rows.
    first_seq: first_seq ?? 1,
    last_seq: last_seq ?? 0,
  }))
  const transfers = Map.groupBy(await selectTransfers(db, ranges), ({ n }) => n)
  const found = await selectAuditRows(
    db,
    segments.flatMap(({ row_ids }) => row_ids ?? []),
  )
  const audit = new Map(found.map((row) => [row.id, toFound(row)]))
  return segments.map((segment, n) => ({
    segment,
    rows: segment.row_ids
      ? segment.row_ids.map((id) => audit.get(id)).filter((row) => row !== undefined)
      : (transfers.get(n) ?? []).map(({ cells }) => ({ cells, isWhole: true })),
  }))
}

/** Without its salt a row must have been erased with its account; with it, it must match its commitment. */
function toFound({ cells, commitment, salt, address, details, is_erased }: AuditRow): FoundRow {
  const isWhole = salt === null ? is_erased : commit(salt, address, details) === commitment
  return { cells: [...cells, commitment], isWhole }
}
