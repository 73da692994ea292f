import type { OrderDetail, StoryEntry } from '@shopwire/contract/dashboard'
import {
  type BoughtOrder,
  type LinkRead,
  selectBought,
  selectLinkReads,
} from '../../orders/placing/attempts.ts'
import { type Proof, proveKey } from '../../orders/placing/prove-key.ts'
import type { OrderRow } from '../../orders/queries.ts'
import { readWholeOrder } from '../../orders/reading/find-order.ts'
import type { Tx } from '../../platform/database/db.ts'
import { assert, refuse } from '../../platform/trouble.ts'
import { secondsBetween } from './order-rows.ts'
import {
  countLinks,
  type RevealRow,
  type StoryEvent,
  selectKinds,
  selectReveals,
  selectStoryEvents,
} from './order-story-queries.ts'
import { readWaiting } from './waiting.ts'

/** Limits reads and reveals, each; an order that is read every minute for a year has half a million. */
const LISTED_MAX = 100

/** Everything about one order except its links. */
export async function readOrderDetail(
  tx: Tx,
  account_id: string,
  order_id: string,
  about: { readonly contact: string | undefined; readonly nowMs: number },
): Promise<OrderDetail> {
  const [proof, bought] = await proofOf(tx, account_id, order_id)
  const order = await readWholeOrder(tx, { account_id, order_id })
  const reads = await selectLinkReads(tx, account_id, order_id)
  const events = await selectStoryEvents(tx, account_id, order_id)
  const reveals = await selectReveals(tx, account_id, order_id, LISTED_MAX)
  const { links, erased_at } = await countLinks(tx, account_id, order_id)
  const kinds = await selectKinds(
    tx,
    order.lines.map(({ id }) => id),
  )
  const isDelivered = order.status === 'delivered'
  const { created_at } = order
  const shownReads = reads.slice(0, LISTED_MAX)
  const attempts = proof.attempts.slice(0, LISTED_MAX)
  const reads_total = reads[0]?.total ?? 0
  return {
    id: order.id,
    status: order.status,
    currency: 'USD',
    total_cents: order.total_cents,
    created_at: order.created_at.toISOString(),
    delivered_at: order.delivered_at?.toISOString() ?? null,
    cancelled_at: order.cancelled_at?.toISOString() ?? null,
    cancel_reason: order.cancel_reason,
    seconds_to_delivery: secondsBetween(order.created_at, order.delivered_at),
    waiting:
      order.status === 'paid' ? await readWaiting(tx, { account_id, order_id, created_at }, about) : null,
    idempotency_key: bought.idempotency_key,
    cart_sha256: bought.request_hash,
    key: { id: bought.key_id, name: bought.key_name },
    request_id: bought.request_id,
    client_address: bought.client_address,
    lines: order.lines.map(({ id, name, qty, unit_price_cents }) => ({
      item_id: id,
      name,
      collection: kinds.get(id)?.collection ?? null,
      type: kinds.get(id)?.type ?? null,
      qty,
      unit_price_cents,
    })),
    links: isDelivered ? order.lines.flatMap(unitsOf).map((unit, n) => ({ n: n + 1, ...unit })) : [],
    links_erased_at: erased_at?.toISOString() ?? null,
    proof: summarise(proof),
    story: storyOf({
      order,
      bought,
      proof: { ...proof, attempts },
      events,
      reads: shownReads,
      reveals,
      links,
    }),
    story_left_out: proof.counts.attempts - attempts.length + reads_total - shownReads.length,
  }
}

/** The proof of the key that bought this order, and the order as it is in the proof. */
export async function proofOf(
  tx: Tx,
  account_id: string,
  order_id: string,
): Promise<readonly [Proof, BoughtOrder]> {
  const [order] = await selectBought(tx, account_id, { order_id })
  if (!order) throw refuse('not_found', `There is no order ${order_id} in this account.`)
  const { idempotency_key } = order
  const proof = await proveKey(tx, account_id, idempotency_key)
  const bought = proof.orders.find(({ id }) => id === order_id)
  assert(bought, `order ${order_id} is found by its idempotency key`)
  return [proof, bought]
}

const unitsOf = ({ id, name, qty }: { id: string; name: string; qty: number }) =>
  Array.from({ length: qty }, () => ({ item_id: id, name }))

function summarise({ verdict, counts, debits, refunds, kept_since }: Proof): OrderDetail['proof'] {
  const sum = (transfers: Proof['debits']) =>
    transfers.reduce((all, { change_cents }) => all + Math.abs(change_cents), 0)
  return {
    verdict: verdict === 'bought_once' ? 'bought_once' : 'not_once',
    requests: counts.attempts,
    charges: debits.length,
    charged_cents: sum(debits),
    refunded_cents: sum(refunds),
    replayed: counts.replayed,
    refused: counts.refused,
    transfer_id: debits[0]?.id ?? null,
    kept_since: kept_since.toISOString(),
  }
}

interface Known {
  readonly order: OrderRow
  readonly bought: BoughtOrder
  readonly proof: Proof
  readonly events: readonly StoryEvent[]
  readonly reads: readonly LinkRead[]
  readonly reveals: readonly RevealRow[]
  readonly links: number
}

/** Of entries in the same millisecond, the cause comes first. */
const RANK: Record<StoryEntry['kind'], number> = {
  attempt: 0,
  debit: 1,
  delivered: 2,
  cancelled: 2,
  refund: 3,
  event: 4,
  delivery: 5,
  read: 6,
  reveal: 7,
}

function storyOf({ order, bought, proof, events, reads, reveals, links }: Known): StoryEntry[] {
  const entries: StoryEntry[] = [
    ...proof.attempts.map((attempt) => attemptEntry(attempt, bought)),
    ...[...proof.debits, ...proof.refunds].map(transferEntry),
    ...events.flatMap(eventEntries),
    ...reads.map(({ at, is_sent, links: read, request_id, key_id, key_name, client_address }) => ({
      kind: 'read' as const,
      at: at.toISOString(),
      request_id,
      key_id,
      key_name,
      client_address,
      links: read,
      is_sent,
    })),
    ...reveals.map(({ at, ...reveal }) => ({ kind: 'reveal' as const, at: at.toISOString(), ...reveal })),
  ]
  if (order.delivered_at) entries.push({ kind: 'delivered', at: order.delivered_at.toISOString(), links })
  if (order.cancelled_at)
    entries.push({
      kind: 'cancelled',
      at: order.cancelled_at.toISOString(),
      reason: order.cancel_reason ?? '',
    })
  return entries.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || RANK[a.kind] - RANK[b.kind])
}

function attemptEntry(attempt: Proof['attempts'][number], bought: BoughtOrder): StoryEntry {
  const { outcome, status, is_sent, request_id, request_hash, client_address } = attempt
  const isOperator = attempt.actor !== null
  // Clocks of two processes differ: an attempt is never later than the order it bought.
  const isLate = outcome === 'bought' && attempt.at > bought.created_at
  return {
    kind: 'attempt',
    at: (isLate ? bought.created_at : attempt.at).toISOString(),
    outcome,
    status,
    is_sent,
    is_same_cart: request_hash === null || request_hash === bought.request_hash,
    request_id,
    key_id: isOperator ? null : attempt.key_id,
    key_name: attempt.key_name,
    client_address,
  }
}

function transferEntry(transfer: Proof['debits'][number]): StoryEntry {
  const { id, kind, change_cents, balance_after_cents, created_at } = transfer
  return {
    kind: kind === 'order' ? 'debit' : 'refund',
    at: created_at.toISOString(),
    transfer_id: id,
    amount_cents: Math.abs(change_cents),
    balance_before_cents: balance_after_cents - change_cents,
    balance_after_cents,
  }
}

/** One entry for each attempt; an event without attempts has one entry itself. */
function eventEntries({ event_id, type, created_at, state, next_at, attempts }: StoryEvent): StoryEntry[] {
  if (attempts.length === 0) return [{ kind: 'event', at: created_at.toISOString(), event_id, type, state }]
  return attempts.map((attempt, n) => ({
    kind: 'delivery',
    at: new Date(attempt.started_at).toISOString(),
    event_id,
    type,
    round: attempt.round,
    attempt: attempt.n,
    status: attempt.status,
    error: attempt.error,
    ms: attempt.ms,
    next_at: n === attempts.length - 1 && state === 'pending' ? (next_at?.toISOString() ?? null) : null,
  }))
}
