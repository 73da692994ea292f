import type { KnownOrder } from '../orders/known-order.ts'
import type { OwnFile, OwnOrder } from './own-file.ts'

export const KINDS = [
  'missing_in_mine',
  'missing_at_store',
  'amount_differs',
  'status_differs',
  'refunded_unnoticed',
  'paid_too_long',
  'duplicate_in_mine',
  'ids_disagree',
] as const
export type Kind = (typeof KINDS)[number]

export interface Difference {
  readonly kind: Kind
  readonly order_id: string | null
  readonly idempotency_key: string | null
  /** In the caller's file. */
  readonly line: number | null
  readonly mine: string | number | null
  readonly store: string | number | null
}

export interface Comparison {
  readonly mine: number
  readonly store: number
  readonly matched: number
  /** The sum of the rows with an amount, without cancelled ones. */
  readonly mine_total_cents: number
  /** Without the cancelled ones. */
  readonly store_total_cents: number
  readonly differences: readonly Difference[]
}

export interface CompareOptions {
  readonly asOfMs: number
  readonly paidTooLongMs: number
  /** Orders of the store outside of this are not expected in the caller's file. */
  readonly sinceMs: number
  readonly untilMs: number
}

/** One pass over the store's orders; the caller's file is held in memory, by id and by key. */
export async function compare(
  own: OwnFile,
  orders: AsyncIterable<KnownOrder>,
  options: CompareOptions,
): Promise<Comparison> {
  const differences: Difference[] = []
  const byId = new Map<string, OwnOrder>()
  const byKey = new Map<string, OwnOrder>()
  for (const row of own.orders) {
    const isTwice = isKnown(byId, row.order_id) || isKnown(byKey, row.idempotency_key)
    if (isTwice) differences.push(difference('duplicate_in_mine', undefined, row, row.line, null))
    if (row.order_id !== undefined && !byId.has(row.order_id)) byId.set(row.order_id, row)
    if (row.idempotency_key !== undefined && !byKey.has(row.idempotency_key))
      byKey.set(row.idempotency_key, row)
  }

  const matched = new Set<OwnOrder>()
  const seen = new Set<string>()
  let storeTotal = 0
  for await (const order of orders) {
    if (seen.has(order.id)) continue
    seen.add(order.id)
    const isCounted = isWithin(order, options)
    if (isCounted && order.status !== 'cancelled') storeTotal += order.total_cents
    const row =
      byId.get(order.id) ??
      (order.idempotency_key === undefined ? undefined : byKey.get(order.idempotency_key))
    if (!row) {
      if (isCounted)
        differences.push(difference('missing_in_mine', order, undefined, null, order.total_cents))
    } else if (matched.has(row) || disagree(row, order)) {
      differences.push(
        difference('ids_disagree', order, row, row.order_id ?? row.idempotency_key ?? null, order.id),
      )
      matched.add(row)
    } else {
      matched.add(row)
      differences.push(...pairDifferences(row, order))
    }
    if (order.status === 'paid' && options.asOfMs - Date.parse(order.created_at) > options.paidTooLongMs) {
      differences.push(difference('paid_too_long', order, row, row?.status ?? null, order.created_at))
    }
  }
  for (const row of new Set([...byId.values(), ...byKey.values()])) {
    if (matched.has(row)) continue
    differences.push(difference('missing_at_store', undefined, row, row.total_cents ?? null, null))
  }
  return {
    mine: own.orders.length,
    store: seen.size,
    matched: matched.size,
    mine_total_cents: [...own.orders]
      .filter(({ status }) => status !== 'cancelled')
      .reduce((sum, { total_cents = 0 }) => sum + total_cents, 0),
    store_total_cents: storeTotal,
    differences: differences.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)),
  }
}

function isKnown(rows: ReadonlyMap<string, OwnOrder>, name: string | undefined): boolean {
  return name !== undefined && rows.has(name)
}

/** The row's order id and idempotency key belong to two different orders. */
function disagree(row: OwnOrder, order: KnownOrder): boolean {
  const isOtherId = row.order_id !== undefined && row.order_id !== order.id
  const isOtherKey =
    row.idempotency_key !== undefined &&
    order.idempotency_key !== undefined &&
    row.idempotency_key !== order.idempotency_key
  return isOtherId || isOtherKey
}

function* pairDifferences(row: OwnOrder, order: KnownOrder): Generator<Difference> {
  if (row.total_cents !== undefined && row.total_cents !== order.total_cents) {
    yield difference('amount_differs', order, row, row.total_cents, order.total_cents)
  }
  if (order.status === 'cancelled' && row.status !== 'cancelled') {
    yield difference('refunded_unnoticed', order, row, row.status ?? null, order.status)
  } else if (row.status !== undefined && row.status !== order.status) {
    yield difference('status_differs', order, row, row.status, order.status)
  }
}

function isWithin({ created_at }: KnownOrder, { sinceMs, untilMs }: CompareOptions): boolean {
  const ms = Date.parse(created_at)
  return !(ms < sinceMs) && !(ms >= untilMs)
}

function difference(
  kind: Kind,
  order: KnownOrder | undefined,
  row: OwnOrder | undefined,
  mine: string | number | null,
  store: string | number | null,
): Difference {
  return {
    kind,
    order_id: order?.id ?? row?.order_id ?? null,
    idempotency_key: order?.idempotency_key ?? row?.idempotency_key ?? null,
    line: row?.line ?? null,
    mine,
    store,
  }
}
