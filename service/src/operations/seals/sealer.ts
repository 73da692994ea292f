import { randomBytes } from 'node:crypto'
import { type Db, type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import {
  type Cells,
  commit,
  createSegmentsHash,
  hashDigest,
  hashRows,
  hashSegment,
  NO_HASH,
  type Segment,
  STORE_CHAIN,
} from './hashes.ts'
import {
  type AccountToSeal,
  type AuditRow,
  type ChainEnd,
  insertCommitments,
  insertDigest,
  insertSegments,
  isoTime,
  selectAccountsToSeal,
  selectAuditChainEnds,
  selectAuditRows,
  selectDigests,
  selectSegments,
  selectTransfers,
} from './queries.ts'

/** How long a row stays unsealed at most, plus the duration of a pass. */
const ROUND_EVERY_MS = 3_600_000
/** Rows in one segment, and in one transaction: both stay short, however large the backlog. */
const SEGMENT_ROWS_MAX = 5_000
const CHUNK_ROWS_MAX = 10_000
/** Accounts checked in one transaction. */
const ACCOUNTS_CHUNK = 500
const SEGMENTS_PAGE = 1_000
const SALT_BYTES = 16

/**
 * Seals what was written since the last pass: a chunk per call, false when nothing is due. Once a day a pass ends with a digest of
 * all segments since the last one. Any number of workers may call this; one of them does the work. It only reads the rows that
 * orders write, and does not lock them.
 */
export function sealNext(
  db: Pick<Db, 'transaction'>,
  nowMs: number,
  roundEveryMs = ROUND_EVERY_MS,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const progress = await tx.maybeOne<{ done_up_to: string | null; finished_at: Date }>(sql`
      select done_up_to, finished_at
        from seal_progress
         for update skip locked`)
    if (!progress) return false
    const { done_up_to, finished_at } = progress
    if (done_up_to === null && finished_at.getTime() > nowMs - roundEveryMs) return false
    const sealing = await startSealing(tx, nowMs)
    if (!(await sealAuditRows(tx, sealing))) {
      await noteProgress(tx, done_up_to ?? '')
      return true
    }
    const next = await sealTransfers(tx, sealing, done_up_to ?? '')
    if (next !== null) {
      await noteProgress(tx, next)
      return true
    }
    await makeDigest(tx, nowMs)
    await noteProgress(tx, null, new Date(nowMs))
    return false
  })
}

const noteProgress = (tx: Tx, done_up_to: string | null, finished_at: Date | null = null) =>
  tx.run(sql`
    update seal_progress
       set done_up_to = ${done_up_to}, finished_at = coalesce(${finished_at}::timestamptz, finished_at)`)

interface Sealing {
  seal(end: ChainEnd, rows: readonly Cells[], part: Part): Segment
}
type Part =
  | { kind: 'transfers'; first_seq: number; last_seq: number }
  | { kind: 'audit'; row_ids: readonly string[] }

/** Numbers segments from the last one on; the lock of `seal_progress` prevents others from doing the same. */
async function startSealing(tx: Tx, nowMs: number): Promise<Sealing> {
  let { id } = await tx.one<{ id: number }>(sql`select coalesce(max(id), 0) as id from seal_segments`)
  return {
    seal({ chain, no, hash: previous_hash }, rows, part) {
      id += 1
      const unhashed = {
        id,
        chain,
        no: no + 1,
        first_seq: null,
        last_seq: null,
        row_ids: null,
        ...part,
        row_count: rows.length,
        previous_hash,
        ...hashRows(previous_hash, rows),
        sealed_at: isoTime(nowMs),
      }
      return { ...unhashed, hash: hashSegment(unhashed) }
    },
  }
}

/** True when no row is waiting any more. */
async function sealAuditRows(tx: Tx, { seal }: Sealing): Promise<boolean> {
  const waiting = await tx.many<{ audit_id: string }>(sql`
    select w.audit_id
      from seal_waiting w
      join audit_log a on a.id = w.audit_id
     order by w.audit_id
     limit ${SEGMENT_ROWS_MAX}`)
  if (waiting.length === 0) return true
  const ids = waiting.map(({ audit_id }) => audit_id)
  const rows = (await selectAuditRows(tx, ids)).map(commitTo)
  const byChain = Map.groupBy(rows, ({ account_id }) => account_id ?? STORE_CHAIN)
  const ends = await selectAuditChainEnds(tx, [...byChain.keys()])
  const segments = ends.map((end) => {
    const own = byChain.get(end.chain) ?? []
    const row_ids = own.map(({ id }) => id)
    return seal(
      end,
      own.map(({ cells }) => cells),
      { kind: 'audit', row_ids },
    )
  })
  await insertCommitments(
    tx,
    rows.map(({ id, commitment, salt }) => ({ audit_id: id, commitment, salt })),
  )
  await insertSegments(tx, segments)
  await tx.run(sql`
    delete from seal_waiting
     where audit_id = any (${ids}::text[])`)
  return waiting.length < SEGMENT_ROWS_MAX
}

function commitTo(row: AuditRow) {
  const salt = randomBytes(SALT_BYTES).toString('hex')
  const commitment = commit(salt, row.address, row.details)
  return { ...row, salt, commitment, cells: [...row.cells, commitment] }
}

/** Returns the last account that is done, or null when no account follows it. */
async function sealTransfers(tx: Tx, { seal }: Sealing, after: string): Promise<string | null> {
  const accounts = await selectAccountsToSeal(tx, after, ACCOUNTS_CHUNK)
  const { parts, done } = planParts(accounts, after)
  const rows = Map.groupBy(await selectTransfers(tx, parts), ({ n }) => n)
  const ends = new Map<string, ChainEnd>(accounts.map((account) => [account.chain, account]))
  const segments: Segment[] = []
  for (const [n, { chain, first_seq, last_seq }] of parts.entries()) {
    const end = ends.get(chain)
    const cells = rows.get(n)?.map((row) => row.cells) ?? []
    // If there are fewer transfers than counted, M13 reports it. A missing transfer cannot be sealed, so the ones after it have
    // to wait.
    if (end?.last_seq !== first_seq - 1 || cells.length !== last_seq - first_seq + 1) continue
    const segment = seal(end, cells, { kind: 'transfers', first_seq, last_seq })
    ends.set(chain, { chain, no: segment.no, last_seq, hash: segment.hash })
    segments.push(segment)
  }
  if (segments.length > 0) await insertSegments(tx, segments)
  if (done === (accounts.at(-1)?.chain ?? done) && accounts.length < ACCOUNTS_CHUNK) return null
  // An account with missing transfers is skipped, or the next call would stop at it again.
  const unfinished = accounts.find(({ chain }) => chain === parts.at(-1)?.chain)
  return segments.length === 0 && unfinished ? unfinished.chain : done
}

/** Limited to one transaction. An account with more is continued by the next call. */
function planParts(accounts: readonly AccountToSeal[], after: string) {
  const parts: { chain: string; first_seq: number; last_seq: number }[] = []
  let left = CHUNK_ROWS_MAX
  let done = after
  for (const { chain, last_seq: sealed, transfer_count } of accounts) {
    let upTo = sealed
    while (upTo < transfer_count && left > 0) {
      const last_seq = Math.min(transfer_count, upTo + Math.min(SEGMENT_ROWS_MAX, left))
      parts.push({ chain, first_seq: upTo + 1, last_seq })
      left -= last_seq - upTo
      upTo = last_seq
    }
    if (upTo < transfer_count) break
    done = chain
  }
  return { parts, done }
}

/** One a day, even when nothing was sealed: a day without a digest would prove nothing. */
async function makeDigest(tx: Tx, nowMs: number): Promise<void> {
  const day = new Date(nowMs).toISOString().slice(0, 10)
  const [last] = await selectDigests(tx, 1)
  // If the clock was set back, none is made rather than two.
  if (last && last.day >= day) return
  const first_segment = (last?.last_segment ?? 0) + 1
  const { last_segment, segments_hash } = await hashSegmentsFrom(tx, first_segment)
  const unhashed = {
    no: (last?.no ?? 0) + 1,
    day,
    first_segment,
    last_segment,
    segments_hash,
    previous_hash: last?.hash ?? NO_HASH,
  }
  await insertDigest(tx, { ...unhashed, hash: hashDigest(unhashed) }, nowMs)
}

async function hashSegmentsFrom(db: Queryable, first_segment: number) {
  const hash = createSegmentsHash()
  let last_segment = first_segment - 1
  for (;;) {
    const page = await selectSegments(db, last_segment, SEGMENTS_PAGE)
    for (const segment of page) hash.add(segment.hash)
    last_segment = page.at(-1)?.id ?? last_segment
    if (page.length < SEGMENTS_PAGE) return { last_segment, segments_hash: hash.digest() }
  }
}
