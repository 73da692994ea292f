import type { DeliveryRow } from '@shopwire/contract/dashboard'
import type { FoundDelivery } from '../../webhooks/delivery-search.ts'
import { SHOWN_STATES } from './delivery-page.ts'

export function presentRow(row: FoundDelivery): DeliveryRow {
  return {
    event_id: row.event_id,
    endpoint_id: row.endpoint_id,
    type: row.type,
    order_id: row.order_id,
    created_at: row.event_created_at.toISOString(),
    state: SHOWN_STATES[row.state],
    attempts: row.attempts,
    round: row.round,
    last_status: row.last_status,
    last_error: row.last_error,
    last_ms: row.last_ms === null ? null : Math.max(0, row.last_ms),
    next_at: row.state === 'pending' ? row.next_at.toISOString() : null,
  }
}
