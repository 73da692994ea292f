import { placeOrder } from '../../orders/place-order.ts'
import { listOrders, readOrder } from '../../orders/read-orders.ts'
import type { Db, Queryable } from '../../platform/db.ts'
import { assert, refuse } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import { answer, endpoint } from './endpoint.ts'

/** On an answer that repeats an earlier purchase. */
const REPLAYED = { 'idempotent-replayed': 'true' }

export const postOrders = (db: Db, vault: LinkVault) =>
  endpoint('postOrders', async ({ caller, body, nowMs, readmit }) => {
    let buyer = caller
    const outcome = await placeOrder(db, caller, body, nowMs, async () => {
      buyer = await readmit()
      return buyer
    })
    if (outcome.kind === 'bought') return answer(201, outcome.order)
    const withLinks = buyer.scopes.has('orders:read')
    const order = await readOrder(db, vault, buyer.account_id, outcome.order_id, { withLinks })
    assert(order, `order ${outcome.order_id} is there`)
    return answer(200, order, REPLAYED)
  })

export const getOrders = (db: Queryable) =>
  endpoint('getOrders', async ({ caller, query }) =>
    answer(200, await listOrders(db, caller.account_id, query)),
  )

export const getOrder = (db: Queryable, vault: LinkVault) =>
  endpoint('getOrder', async ({ caller, id }) => {
    const order = await readOrder(db, vault, caller.account_id, id, { withLinks: true })
    if (!order)
      throw refuse('not_found', 'This account has no order with this id. GET /orders lists its orders.')
    return answer(200, order)
  })
