import {
  type Cells,
  createSegmentsHash,
  type Digest,
  hashDigest,
  hashRows,
  hashSegment,
  markAt,
  markOf,
  NO_HASH,
  type Segment,
} from './hashes.ts'

/** The rules that the checks of the chains report under. */
export const CHAIN_RULES = [
  {
    id: 'C01',
    what: 'every sealed transfer and audit row is as it was sealed, and none was removed or inserted',
  },
  { id: 'C02', what: 'the segments of every chain are as they were sealed, without a gap' },
  { id: 'C03', what: 'the daily digests are as they were made, without a gap, and cover their segments' },
] as const
export type ChainRule = (typeof CHAIN_RULES)[number]['id']

/** By rule: what is wrong; for a segment, its first bad row. */
export type ChainFindings = Readonly<Record<ChainRule, readonly string[]>>

export interface FoundRow {
  readonly cells: Cells
  /** False: the address or the details, which are hashed with a salt, were changed. */
  readonly isWhole: boolean
}

/** Positions in `cells`. */
const SEQ = 2
const AUDIT_ID = 1

export interface PublishedDigest {
  readonly no: number
  readonly day: string
  readonly hash: string
}

/**
 * Checks the chains from the first segment on, from a database or an export: segments in the order of their ids, each with the rows
 * found for it, then the digests.
 */
export function createChainCheck() {
  const findings: Record<ChainRule, string[]> = { C01: [], C02: [], C03: [] }
  const ends = new Map<string, { no: number; last_seq: number; hash: string }>()
  /** By id. Digests name ranges of them. */
  const hashes: string[] = []
  let lastId = 0

  function followChain(segment: Segment): string | undefined {
    const key = `${segment.chain}/${segment.kind}`
    const end = ends.get(key) ?? { no: 0, last_seq: 0, hash: NO_HASH }
    ends.set(key, { no: segment.no, last_seq: segment.last_seq ?? 0, hash: segment.hash })
    if (segment.id !== lastId + 1) return `segment ${lastId + 1} removed`
    const { hash, ...unhashed } = segment
    if (hashSegment(unhashed) !== hash) return 'altered'
    if (segment.no !== end.no + 1) return `segment ${key}/${end.no + 1} removed`
    if (segment.previous_hash !== end.hash) return 'does not follow the one before it'
    if (segment.first_seq !== null && segment.first_seq !== end.last_seq + 1) return 'leaves rows out'
    return undefined
  }

  return {
    segment(segment: Segment, rows: readonly FoundRow[]) {
      const wrong = followChain(segment)
      if (wrong !== undefined)
        findings.C02.push(wrong.startsWith('segment ') ? wrong : `segment ${nameOf(segment)} ${wrong}`)
      lastId = segment.id
      hashes[segment.id] = segment.hash
      const bad = badRow(segment, rows)
      if (bad !== undefined) findings.C01.push(bad)
      else if (wrong === undefined && !isHashOf(segment, rows))
        findings.C02.push(`segment ${nameOf(segment)} does not fit its rows`)
    },

    /** Audit rows that are neither sealed nor waiting to be, and waiting rows that no longer exist. */
    strays(inserted: readonly string[], removed: readonly string[]) {
      findings.C01.push(...inserted.map((id) => `audit row ${id} inserted, or its segment removed`))
      findings.C01.push(...removed.map((id) => `audit row ${id} removed before it was sealed`))
    },

    digests(digests: readonly Digest[], published: readonly PublishedDigest[] = []) {
      let before: Digest | undefined
      for (const digest of digests) {
        const wrong = wrongWith(digest, before, hashes)
        if (wrong !== undefined) findings.C03.push(`digest ${digest.no} of ${digest.day} ${wrong}`)
        before = digest
      }
      const byNo = new Map(digests.map((digest) => [digest.no, digest]))
      for (const { no, day, hash } of published) {
        const found = byNo.get(no)
        if (!found) findings.C03.push(`digest ${no} of ${day} was published and is not there`)
        else if (found.hash !== hash || found.day !== day)
          findings.C03.push(`digest ${no} of ${day} was published as ${hash.slice(0, 16)}… and is another`)
      }
    },

    findings: (): ChainFindings => findings,
  }
}

const nameOf = ({ chain, kind, no }: Segment) => `${chain}/${kind}/${no}`

const isHashOf = ({ previous_hash, rows_hash }: Segment, rows: readonly FoundRow[]) =>
  hashRows(
    previous_hash,
    rows.map(({ cells }) => cells),
  ).rows_hash === rows_hash

/** Marks only show which row it is; the hash over all rows decides whether there is one. */
function badRow(segment: Segment, rows: readonly FoundRow[]): string | undefined {
  if (isHashOf(segment, rows) && rows.every(({ isWhole }) => isWhole)) return undefined
  return segment.kind === 'transfers' ? badTransfer(segment, rows) : badAuditRow(segment, rows)
}

function badTransfer({ chain, row_count, first_seq, marks }: Segment, rows: readonly FoundRow[]) {
  for (let n = 0; n < Math.max(row_count, rows.length); n += 1) {
    const found = rows[n]
    const expected = (first_seq ?? 0) + n
    const seq = found && Number(found.cells[SEQ])
    if (n < row_count && (seq === undefined || seq > expected)) return `transfer ${chain}/${expected} removed`
    if (n >= row_count || seq !== expected) return `transfer ${chain}/${seq} inserted`
    if (found && markOf(found.cells) !== markAt(marks, n)) return `transfer ${chain}/${seq} altered`
  }
  return undefined
}

function badAuditRow({ row_ids, marks }: Segment, rows: readonly FoundRow[]) {
  const expected = row_ids ?? []
  const byId = new Map(rows.map((row) => [row.cells[AUDIT_ID], row]))
  for (const [n, id] of expected.entries()) {
    const found = byId.get(id)
    if (!found) return `audit row ${id} removed`
    if (!found.isWhole || markOf(found.cells) !== markAt(marks, n)) return `audit row ${id} altered`
  }
  const inserted = rows.find((row, n) => row.cells[AUDIT_ID] !== expected[n])
  return inserted && `audit row ${inserted.cells[AUDIT_ID]} inserted`
}

function wrongWith(
  digest: Digest,
  before: Digest | undefined,
  hashes: readonly (string | undefined)[],
): string | undefined {
  const { hash, ...unhashed } = digest
  if (hashDigest(unhashed) !== hash) return 'altered'
  if (digest.no !== (before?.no ?? 0) + 1) return 'follows one that was removed'
  if (digest.previous_hash !== (before?.hash ?? NO_HASH)) return 'does not follow the one before it'
  if (digest.first_segment !== (before?.last_segment ?? 0) + 1) return 'leaves segments out'
  const segments = createSegmentsHash()
  for (let id = digest.first_segment; id <= digest.last_segment; id += 1) {
    const segment_hash = hashes[id]
    if (segment_hash === undefined) return `covers segment ${id}, which was removed`
    segments.add(segment_hash)
  }
  return segments.digest() === digest.segments_hash ? undefined : 'covers other segments than there are'
}
