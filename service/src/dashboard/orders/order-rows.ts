import type { OrderListRow } from '@shopwire/contract/dashboard'
import type { ListedOrder } from './order-list-queries.ts'

/** Names in a summary; the others are counted. */
const NAMES_MAX = 3
const NAME_LENGTH_MAX = 60

export function presentRow(order: ListedOrder): OrderListRow {
  const { id, status, total_cents, created_at, delivered_at, cancelled_at, idempotency_key, key_id } = order
  return {
    id,
    status,
    lines: summariseLines(order.lines),
    total_cents,
    created_at: created_at.toISOString(),
    delivered_at: delivered_at?.toISOString() ?? null,
    cancelled_at: cancelled_at?.toISOString() ?? null,
    seconds_to_delivery: secondsBetween(created_at, delivered_at),
    idempotency_key,
    key_id,
  }
}

/** `2 × Aurora Ring, Glasswing and 3 more` */
export function summariseLines(lines: readonly { readonly name: string; readonly qty: number }[]): string {
  const shown = lines.slice(0, NAMES_MAX).map(({ name, qty }) => {
    const short = name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX - 1)}…` : name
    return qty === 1 ? short : `${qty} × ${short}`
  })
  const rest = lines.length - shown.length
  return rest === 0 ? shown.join(', ') : `${shown.join(', ')} and ${rest} more`
}

export function secondsBetween(from: Date, until: Date | null): number | null {
  return until === null ? null : (until.getTime() - from.getTime()) / 1000
}
