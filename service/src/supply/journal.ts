import type { StorePosition } from '../platform/database/store-position.ts'
import { assert } from '../platform/trouble.ts'

/**
 * The journal of sold links, kept outside the database: which link was sold to whom, and how far the store has progressed. Every
 * link that a caller may have seen is in it, whatever happens to the database. It contains fingerprints of links, never links; they
 * are made with a key of the installation, so the journal alone does not reveal whether a guessed link is among them.
 *
 * journal-files.ts keeps it in a folder. An object store could be another implementation; there is none.
 */
export interface Journal {
  /** Undefined: it has not been started yet. */
  readMark(): Promise<JournalMark | undefined>
  /** Starts it. When another process was first, that one's mark is returned. */
  begin(mark: JournalMark): Promise<JournalMark>
  /** Resolves when the links are on durable storage. Fails with Unavailable. */
  append(links: readonly SoldLink[]): Promise<void>
  /** Records that the delivery of an order is committed. Never waits and never fails: at worst a crash looks like a rollback. */
  acknowledge(order: DeliveredOrder): void
  /** Everything from that time on, in no particular order. Entries of about the same time may come from before it. */
  read(from: Date, onDamaged: (where: string) => void): AsyncIterable<JournalEntry[]>
  /** The furthest position that any process has written. */
  readPosition(): Promise<StorePosition | undefined>
  writePosition(position: StorePosition): Promise<void>
  /** Removes what is older. */
  removeBefore(day: Date): Promise<void>
  close(): Promise<void>
}

export interface JournalMark {
  readonly journal_id: string
  /** It has nothing from before this time, because it was started then, or older files were removed. */
  readonly kept_since: Date
  /** The fingerprint of a fixed text: another one means that fingerprints are made with another key and cannot be compared. */
  readonly key_check: string
}

export interface DeliveredOrder {
  readonly at: Date
  readonly account_id: string
  readonly order_id: string
}

export interface SoldLink extends DeliveredOrder {
  readonly line: number
  readonly unit: number
  readonly item_id: string
  /** `pool`, `hand` or the name of the supplier. */
  readonly source: string
  readonly hash: Buffer
}

export type JournalEntry =
  | ({ readonly kind: 'sold' } & SoldLink)
  | ({ readonly kind: 'delivered' } & DeliveredOrder)

/** Fingerprinted for the key check. It is not a real link. */
export const KEY_CHECK_LINK = 'https://journal.invalid/key-check'

const FIELDS = { sold: 9, delivered: 4 } as const

/** One line, its fields separated by spaces. */
export function writeEntry(entry: JournalEntry): string {
  const { kind, at, account_id, order_id } = entry
  const fields = [kind, at.toISOString(), account_id, order_id]
  if (entry.kind === 'sold') {
    const { line, unit, item_id, source, hash } = entry
    fields.push(String(line), String(unit), item_id, source, hash.toString('hex'))
  }
  assert(
    fields.every((field) => /^[!-~]+$/.test(field)),
    'no id has a space or a line break in it',
  )
  return fields.join(' ')
}

/** Undefined for a line that no release of ours has written. */
export function readEntry(text: string): JournalEntry | undefined {
  const fields = text.split(' ')
  const [kind, time = '', account_id = '', order_id = '', line, unit, item_id = '', source = '', hash = ''] =
    fields
  const at = new Date(time)
  if (Number.isNaN(at.getTime()) || (kind !== 'sold' && kind !== 'delivered')) return undefined
  if (fields.length !== FIELDS[kind]) return undefined
  if (kind === 'delivered') return { kind, at, account_id, order_id }
  return {
    kind,
    at,
    account_id,
    order_id,
    line: Number(line),
    unit: Number(unit),
    item_id,
    source,
    hash: Buffer.from(hash, 'hex'),
  }
}
