import type { EmulatedOrder, Fault, RecordedDelivery, RecordedRequest } from '../types.ts'

interface Kinds {
  request: RecordedRequest
  delivery: RecordedDelivery
  order: EmulatedOrder
  faults: { readonly faults: readonly Fault[] }
}
type Kind = keyof Kinds

export interface Entry<Name extends Kind = Kind> {
  readonly seq: number
  readonly kind: Name
  readonly value: Kinds[Name]
}

/** How many records of each kind are kept. Of the faults only the newest state matters. */
const KEPT_MAX: Readonly<Record<Kind, number>> = { request: 2_000, delivery: 2_000, order: 2_000, faults: 20 }

/** The most characters kept per kind: callers, also web pages, can send large requests. */
const KEPT_LENGTH_MAX = 32_000_000

export type Journal = ReturnType<typeof createJournal>

/** A bounded, numbered record of requests, deliveries, orders and faults. */
export function createJournal() {
  const kept: { [Name in Kind]: Entry<Name>[] } = { request: [], delivery: [], order: [], faults: [] }
  const lengths: Record<Kind, number> = { request: 0, delivery: 0, order: 0, faults: 0 }
  const listeners = new Set<(entry: Entry) => void>()
  let last = 0

  function forget(kind: Kind, count: number) {
    for (const { value } of kept[kind].splice(0, count)) lengths[kind] -= lengthOf(value)
  }

  return {
    last: () => last,

    add<Name extends Kind>(kind: Name, value: Omit<Kinds[Name], 'seq'>): void {
      last += 1
      // Orders and faults have no `seq` inside, so that their shape is the same as at the other endpoints.
      const hasSeq = kind === 'request' || kind === 'delivery'
      const entry = { seq: last, kind, value: hasSeq ? { seq: last, ...value } : value } as Entry<Name>
      const row = kept[kind] as Entry<Name>[]
      row.push(entry)
      lengths[kind] += lengthOf(value)
      // Removed in batches: removing one at a time from the front of a long array is slower.
      if (row.length >= KEPT_MAX[kind] * 1.25) forget(kind, row.length - KEPT_MAX[kind])
      while (lengths[kind] > KEPT_LENGTH_MAX && row.length > 1) forget(kind, Math.ceil(row.length / 10))
      for (const listener of listeners) listener(entry as Entry)
    },

    /** Oldest first. */
    after<Name extends Kind>(kind: Name, seq: number, limit: number): Kinds[Name][] {
      const row = kept[kind] as Entry<Name>[]
      return row
        .slice(-KEPT_MAX[kind])
        .filter((entry) => entry.seq > seq)
        .slice(0, limit)
        .map(({ value }) => value)
    },

    allAfter(seq: number): Entry[] {
      const all = Object.values(kept).flat() as Entry[]
      return all.filter((entry) => entry.seq > seq).sort((a, b) => a.seq - b.seq)
    },

    listen(listener: (entry: Entry) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Roughly what it takes in memory. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  return Object.entries(value).reduce((sum, [name, one]) => sum + name.length + lengthOf(one), 0)
}
