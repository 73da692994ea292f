import { EVENT_ID_FORM, KEY_ID_FORM, ORDER_ID_PATTERN, type OrderStatus } from '@shopwire/contract'
import type { Found, FoundKind, findRoutes } from '@shopwire/contract/dashboard'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Queryable } from '../../platform/database/db.ts'
import { dollars } from '../../platform/text/format.ts'
import { timeInId } from '../../platform/text/ids.ts'
import type { Area } from '../area.ts'
import { idEndIn, searchOrders } from '../orders/order-list-queries.ts'
import {
  selectEvent,
  selectKey,
  selectKeyAttempt,
  selectOrderBriefly,
  selectOrderOfKey,
  selectRequest,
  selectTransfer,
} from './find-queries.ts'

const MATCHES_MAX = 5
const ORDER_ID = new RegExp(ORDER_ID_PATTERN)
const TRANSFER_ID = /^tr_[1-9][0-9]{0,14}$/
const REQUEST_ID = /^req_[0-9a-hjkmnp-tv-z]{26}$/

export const findArea = ({ db }: { readonly db: Db }): Area<typeof findRoutes> => ({
  find: ({ member, query }) =>
    inAccount(db, member.account_id, async (tx) => ({
      matches: await find(tx, member.account_id, query.q.trim()),
    })),
})

/** What a text refers to in this account, and where it is shown. */
async function find(tx: Queryable, account_id: string, q: string): Promise<Found[]> {
  const byForm = await findByForm(tx, account_id, q)
  if (byForm) return byForm
  const byKey = await findIdempotencyKey(tx, account_id, q)
  if (byKey.length > 0) return byKey
  const id_end = idEndIn(q)
  if (id_end === undefined) return []
  const { rows } = await searchOrders(tx, account_id, { id_end }, {}, MATCHES_MAX)
  return rows.slice(0, MATCHES_MAX).map((order) => orderMatch('order', order.id, order))
}

/** Undefined when the text does not have the form of an id: it may be an idempotency key, which can be any text. */
async function findByForm(tx: Queryable, account_id: string, q: string): Promise<Found[] | undefined> {
  if (ORDER_ID.test(q)) {
    const order = await selectOrderBriefly(tx, account_id, q)
    return order ? [orderMatch('order', q, order)] : undefined
  }
  if (EVENT_ID_FORM.test(q)) {
    const event = await selectEvent(tx, account_id, q)
    return event ? [{ kind: 'event', id: q, about: event.type, path: pathOf.event(q) }] : undefined
  }
  if (KEY_ID_FORM.test(q)) {
    const key = await selectKey(tx, account_id, q)
    return key ? [{ kind: 'key', id: q, about: key.name, path: pathOf.key(q) }] : undefined
  }
  if (TRANSFER_ID.test(q)) {
    const transfer = await selectTransfer(tx, account_id, Number(q.slice('tr_'.length)))
    if (!transfer) return undefined
    const about = `${transfer.kind} of ${dollars(Math.abs(transfer.change_cents))}`
    return [{ kind: 'transfer', id: q, about, path: pathOf.transfer(transfer) }]
  }
  if (REQUEST_ID.test(q)) {
    const request = await selectRequest(tx, account_id, q, timeInId(q) ?? 0)
    const order = request && (await selectOrderBriefly(tx, account_id, request.order_id))
    return order ? [orderMatch('request', q, order)] : undefined
  }
  return undefined
}

async function findIdempotencyKey(tx: Queryable, account_id: string, q: string): Promise<Found[]> {
  const order = await selectOrderOfKey(tx, account_id, q)
  if (order) return [orderMatch('idempotency_key', q, order)]
  const attempt = await selectKeyAttempt(tx, account_id, q)
  if (!attempt) return []
  const about = `bought nothing: ${attempt.outcome}`
  return [{ kind: 'idempotency_key', id: q, about, path: pathOf.unused(q) }]
}

interface BriefOrder {
  readonly id: string
  readonly status: OrderStatus
  readonly total_cents: number
}

function orderMatch(kind: FoundKind, id: string, order: BriefOrder): Found {
  return { kind, id, about: `${order.status}, ${dollars(order.total_cents)}`, path: pathOf.order(order.id) }
}

/** Pages of the web application. */
const pathOf = {
  order: (id: string) => `/orders/${id}`,
  event: (id: string) => `/deliveries?open=${id}`,
  key: (id: string) => `/keys?open=${id}`,
  transfer: ({ seq, created_at }: { seq: number; created_at: Date }) =>
    `/balance?month=${created_at.toISOString().slice(0, 7)}&before=${seq + 1}&open=tr_${seq}`,
  unused: (key: string) => `/orders?q=${encodeURIComponent(key)}`,
}
