import { createHash } from 'node:crypto'

/**
 * A transfer or an audit row as it is hashed: its columns as PostgreSQL writes them, in a fixed order, without anything that may
 * legitimately change. The bytes are those of its JSON, which has only one form, since every cell is a text or null.
 */
export type Cells = readonly (string | null)[]

export type Kind = 'transfers' | 'audit'

/** Rows that were sealed together. Hashes are hexadecimal. */
export interface Segment {
  readonly id: number
  readonly chain: string
  readonly kind: Kind
  readonly no: number
  /** Of transfers. */
  readonly first_seq: number | null
  readonly last_seq: number | null
  /** Of audit rows. */
  readonly row_ids: readonly string[] | null
  readonly row_count: number
  readonly marks: string
  readonly previous_hash: string
  readonly rows_hash: string
  readonly hash: string
  /** As `isoTime` and TIME write it. */
  readonly sealed_at: string
}

export interface Digest {
  readonly no: number
  readonly day: string
  readonly first_segment: number
  readonly last_segment: number
  readonly segments_hash: string
  readonly previous_hash: string
  readonly hash: string
}

/** The previous hash of a chain's first segment. */
export const NO_HASH = '00'.repeat(32)
/** The chain of audit rows without an account. */
export const STORE_CHAIN = 'store'
/** Hexadecimal digits per row's hash in `marks`. */
const MARK_DIGITS = 16

const sha256 = (...parts: (string | Buffer)[]) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** The rows that a segment covers. */
export function hashRows(
  previous_hash: string,
  rows: readonly Cells[],
): { rows_hash: string; marks: string } {
  let [rows_hash, marks] = [previous_hash, '']
  for (const cells of rows) {
    const hash = sha256(JSON.stringify(cells))
    rows_hash = sha256(Buffer.from(rows_hash + hash, 'hex'))
    marks += hash.slice(0, MARK_DIGITS)
  }
  return { rows_hash, marks }
}

export const markOf = (cells: Cells) => sha256(JSON.stringify(cells)).slice(0, MARK_DIGITS)
export const markAt = (marks: string, n: number) => marks.slice(n * MARK_DIGITS, (n + 1) * MARK_DIGITS)

export const hashSegment = (segment: Omit<Segment, 'hash'>) =>
  sha256(
    JSON.stringify([
      'shopwire segment 1',
      segment.id,
      segment.chain,
      segment.kind,
      segment.no,
      segment.first_seq,
      segment.last_seq,
      segment.row_ids,
      segment.row_count,
      segment.marks,
      segment.previous_hash,
      segment.rows_hash,
      segment.sealed_at,
    ]),
  )

/** Over the hashes of the segments, in the order of their ids. */
export function createSegmentsHash() {
  const hash = createHash('sha256')
  return {
    add: (segment_hash: string) => void hash.update(segment_hash, 'hex'),
    digest: () => hash.digest('hex'),
  }
}

export const hashDigest = (digest: Omit<Digest, 'hash'>) =>
  sha256(
    JSON.stringify([
      'shopwire digest 1',
      digest.no,
      digest.day,
      digest.first_segment,
      digest.last_segment,
      digest.segments_hash,
      digest.previous_hash,
    ]),
  )

/** The salt prevents finding an address by trying all of them. */
export const commit = (salt: string, address: string | null, details: string) =>
  sha256(JSON.stringify([salt, address, details]))
