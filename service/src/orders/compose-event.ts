import type { Order, WebhookEvent } from '@shopwire/contract'
import type { Queryable } from '../platform/db.ts'
import { assert } from '../platform/trouble.ts'
import type { LinkVault } from '../supply/gift-link.ts'
import type { EventToCompose } from '../webhooks/deliver.ts'
import { readOrder } from './read-orders.ts'

const TEST_MESSAGE = 'A test. No order was made and nothing was spent.'

/**
 * The body of an event. An order's event describes the order at the time of the change, however much later the body is composed:
 * nothing in it can change afterwards.
 */
export async function composeEvent(
  db: Queryable,
  vault: LinkVault,
  event: EventToCompose,
): Promise<WebhookEvent> {
  const { event_id: id, event_created_at } = event
  const head = { id, created_at: event_created_at.toISOString() }
  switch (event.type) {
    case 'order.accepted': {
      const order = await orderOf(db, vault, event, false)
      return { ...head, event: event.type, data: { order: { ...order, status: 'paid', delivered_at: null } } }
    }
    case 'order.delivered':
      return { ...head, event: event.type, data: { order: await orderOf(db, vault, event, true) } }
    case 'order.cancelled':
      return { ...head, event: event.type, data: { order: await orderOf(db, vault, event, false) } }
    case 'catalogue.changed':
      return { ...head, event: event.type, data: { revision: String(event.revision), refresh: true } }
    case 'test':
      return { ...head, event: event.type, data: { message: TEST_MESSAGE } }
  }
}

async function orderOf(
  db: Queryable,
  vault: LinkVault,
  { account_id, order_id }: EventToCompose,
  withLinks: boolean,
): Promise<Order> {
  const order = order_id && (await readOrder(db, vault, account_id, order_id, { withLinks }))
  assert(order, `order ${order_id} of an event exists`)
  return order
}
