import type { Order, WebhookEvent } from '@shopwire/contract'
import { batched } from '../../platform/batching/batched.ts'
import type { Queryable } from '../../platform/database/db.ts'
import type { Keyring } from '../../platform/encryption/encryption.ts'
import { assert } from '../../platform/trouble.ts'
import type { OpensLinks } from '../../supply/gift-link.ts'
import type { EventToCompose } from '../../webhooks/delivery-deps.ts'
import { openBody } from '../../webhooks/event-body.ts'
import { type OrderToRead, readOrders } from '../reading/read-orders.ts'

const TEST_MESSAGE = 'A test. No order was made and nothing was spent.'
const BATCH_MAX = 256

export type Composer = (event: EventToCompose) => Promise<WebhookEvent>

/** For a sender of many events: orders requested at the same moment are read together. */
export function createComposer(db: Queryable, vault: OpensLinks): Composer {
  const read = batched({
    part: 'database',
    sizeMax: BATCH_MAX,
    runMany: (orders: readonly OrderToRead[]) => readOrders(db, vault, orders),
  })
  return (event) => compose(event, read)
}

export const composeEvent = (
  db: Queryable,
  vault: OpensLinks,
  event: EventToCompose,
): Promise<WebhookEvent> => compose(event, async (order) => (await readOrders(db, vault, [order]))[0])

/** The body as it was sent: stored if it was refused, otherwise composed again, with the same bytes. */
export async function sentBody(
  db: Queryable,
  { keyring, vault }: { readonly keyring: Keyring; readonly vault: OpensLinks },
  event: EventToCompose & { readonly body_sealed: Buffer | null },
): Promise<string> {
  const { account_id, event_id, body_sealed } = event
  if (body_sealed) return openBody(keyring, account_id, event_id, body_sealed)
  return JSON.stringify(await composeEvent(db, vault, event))
}

/**
 * The body of an event. An order's event describes the order at the time of the change, however much later the body is composed:
 * nothing it contains can change afterwards.
 */
async function compose(
  { event_id: id, event_created_at, type, account_id, order_id, revision }: EventToCompose,
  read: (order: OrderToRead) => Promise<Order | undefined>,
): Promise<WebhookEvent> {
  const head = { id, created_at: event_created_at.toISOString() }
  const order = async (withLinks: boolean): Promise<Order> => {
    const found = order_id && (await read({ account_id, id: order_id, withLinks }))
    assert(found, `order ${order_id} of an event exists`)
    return found
  }
  switch (type) {
    case 'order.accepted':
      return {
        ...head,
        event: type,
        data: { order: { ...(await order(false)), status: 'paid', delivered_at: null } },
      }
    case 'order.delivered':
      return { ...head, event: type, data: { order: await order(true) } }
    case 'order.cancelled':
      return { ...head, event: type, data: { order: await order(false) } }
    case 'catalogue.changed':
      return { ...head, event: type, data: { revision: String(revision), refresh: true } }
    case 'test':
      return { ...head, event: type, data: { message: TEST_MESSAGE } }
  }
}
