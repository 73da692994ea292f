import type { Fault } from './faults.ts'

/** A request as it came in and went out. */
export interface RecordedRequest {
  readonly seq: number
  readonly id: string
  readonly at: string
  readonly duration_ms: number
  readonly method: string
  readonly target: string
  readonly account_id: string | null
  readonly key_id: string | null
  readonly timestamp: string | null
  readonly nonce: string | null
  readonly idempotency_key: string | null
  /** As it came, as text. */
  readonly body: string
  /** What the service answered; null when it was never asked. */
  readonly status: number | null
  /** Whether the caller got that answer. */
  readonly sent: boolean
  readonly error_type: string | null
  readonly answer: string
  /** The text that had to be signed. */
  readonly canonical: string | null
  /** For a wrong signature: which mistake makes exactly this one. */
  readonly mistake: { readonly name: string; readonly title: string; readonly fix: string } | null
  readonly fault: string | null
}

/** One sending of an event. */
export interface RecordedDelivery {
  readonly seq: number
  readonly at: string
  readonly event_id: string
  readonly event: string
  readonly order_id: string | null
  readonly account_id: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number
  readonly fault: string | null
}

export interface EmulatedOrder {
  readonly id: string
  readonly account_id: string
  readonly idempotency_key: string
  readonly status: 'paid' | 'delivered' | 'cancelled'
  readonly total_cents: number
  readonly created_at: string
  readonly delivered_at: string | null
  readonly lines: readonly { id: string; name: string; qty: number; unit_price_cents: number }[]
  readonly transfers: readonly { id: string; kind: string; amount_cents: number; at: string }[]
}

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
