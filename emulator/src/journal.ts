import type { EmulatedOrder, Fault, RecordedDelivery, RecordedRequest } from './types.ts'

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

/** Older ones are forgotten. Of the faults only the newest state says anything. */
const KEPT_MAX: Readonly<Record<Kind, number>> = { request: 2_000, delivery: 2_000, order: 2_000, faults: 20 }

export type Journal = ReturnType<typeof createJournal>

/** What happened, in one numbered row, as far back as it is kept. */
export function createJournal() {
  const kept: { [Name in Kind]: Entry<Name>[] } = { request: [], delivery: [], order: [], faults: [] }
  const listeners = new Set<(entry: Entry) => void>()
  let last = 0

  return {
    last: () => last,

    add<Name extends Kind>(kind: Name, value: Omit<Kinds[Name], 'seq'>): void {
      last += 1
      // Orders and faults are numbered from outside only: their own shape is that of the other endpoints.
      const hasSeq = kind === 'request' || kind === 'delivery'
      const entry = { seq: last, kind, value: hasSeq ? { seq: last, ...value } : value } as Entry<Name>
      const row = kept[kind] as Entry<Name>[]
      row.push(entry)
      // Thrown away many at a time: taking one from the front of a long array each time would cost more.
      if (row.length >= KEPT_MAX[kind] * 1.25) row.splice(0, row.length - KEPT_MAX[kind])
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
