import { clientAddress, type Evidence } from '../../orders/placing/evidence.ts'
import type { Place } from '../../orders/placing/order-batches.ts'
import { hashCart, placeOrder } from '../../orders/placing/place-order.ts'
import { listOrders, readOrder } from '../../orders/reading/read-orders.ts'
import type { Queryable } from '../../platform/database/db.ts'
import { assert, refuse } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import type { EdgeMetrics } from '../metrics.ts'
import { answer, endpoint } from './endpoint.ts'

/** On an answer that repeats an earlier purchase. */
const REPLAYED = { 'idempotent-replayed': 'true' }

export const postOrders = (
  db: Queryable,
  place: Place,
  vault: LinkVault,
  metrics: Pick<EdgeMetrics, 'orderRequests'>,
) =>
  endpoint('postOrders', async ({ caller, body, nowMs, readmit, request_id, span, address, note }) => {
    const client_address = clientAddress(address())
    const request_hash = hashCart(body.items)
    const attempt = { idempotency_key: body.idempotency_key, request_hash }
    const evidence: Evidence = { at_ms: nowMs, client_address, attempt }
    note(evidence)
    let buyer = caller
    const origin = { request_hash, request_id, client_address, span }
    const outcome = await placeOrder(place, caller, body, origin, nowMs, async () => {
      buyer = await readmit()
      return buyer
    })
    metrics.orderRequests.inc({ outcome: outcome.kind === 'bought' ? 'placed' : 'replayed' })
    if (outcome.kind === 'bought') {
      evidence.bought_order_id = outcome.order.id
      return answer(201, outcome.order)
    }
    const withLinks = buyer.scopes.has('orders:read')
    const order = await readOrder(db, vault, buyer.account_id, outcome.order_id, { withLinks })
    assert(order, `order ${outcome.order_id} is there`)
    if (order.links.length > 0) evidence.read = { order_id: order.id, links: order.links.length }
    return answer(200, order, REPLAYED)
  })

export const getOrders = (db: Queryable) =>
  endpoint('getOrders', async ({ caller, query }) =>
    answer(200, await listOrders(db, caller.account_id, query)),
  )

export const getOrder = (db: Queryable, vault: LinkVault) =>
  endpoint('getOrder', async ({ caller, id, nowMs, address, note }) => {
    const order = await readOrder(db, vault, caller.account_id, id, { withLinks: true })
    if (!order)
      throw refuse('not_found', 'This account has no order with this id. GET /orders lists its orders.')
    const { links } = order
    if (links.length > 0) {
      const read = { order_id: order.id, links: links.length }
      note({ at_ms: nowMs, client_address: clientAddress(address()), read })
    }
    return answer(200, order)
  })
