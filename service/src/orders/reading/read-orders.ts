import {
  ORDERS_LIMIT_DEFAULT,
  ORDERS_OFFSET_DEFAULT,
  type Order,
  type OrdersPage,
  type OrdersQuery,
} from '@shopwire/contract'
import type { Queryable } from '../../platform/database/db.ts'
import type { OpensLinks } from '../../supply/gift-link.ts'
import { selectLinksOfOrders } from '../links/link-queries.ts'
import {
  type OrderRow,
  type OrderWithLines,
  selectOrderCount,
  selectOrders,
  selectOrdersById,
} from '../queries.ts'

export interface OrderToRead {
  readonly account_id: string
  readonly id: string
  /** Only for callers who may read them. */
  readonly withLinks: boolean
}

/** For `GET` and a repeated `POST`: the order as it is now; undefined when this account has none with that id. */
export async function readOrder(
  db: Queryable,
  vault: OpensLinks,
  account_id: string,
  id: string,
  { withLinks }: Pick<OrderToRead, 'withLinks'>,
): Promise<Order | undefined> {
  const [order] = await readOrders(db, vault, [{ account_id, id, withLinks }])
  return order
}

/** Also composes events, whose bytes must never change: each order as it is now, in the order of the ids. */
export async function readOrders(
  db: Queryable,
  vault: OpensLinks,
  orders: readonly OrderToRead[],
): Promise<(Order | undefined)[]> {
  const rows = await selectOrdersById(db, orders)
  // The same order may be asked for several times at once: with its links for one event, without them for another.
  const delivered = new Map(
    rows.flatMap((row, n) => (row?.status === 'delivered' && orders[n]?.withLinks ? [[row.id, row]] : [])),
  )
  const links = await openLinksOf(db, vault, [...delivered.values()])
  return rows.map((row, n) => row && presentOrder(row, (orders[n]?.withLinks && links.get(row.id)) || []))
}

/** In the order of the lines, one per unit. Empty when they were erased. */
export const openLinks = async (
  db: Queryable,
  vault: OpensLinks,
  order: Pick<OrderRow, 'account_id' | 'id'>,
): Promise<string[]> => (await openLinksOf(db, vault, [order])).get(order.id) ?? []

/** By order. */
async function openLinksOf(
  db: Queryable,
  vault: OpensLinks,
  orders: readonly Pick<OrderRow, 'account_id' | 'id'>[],
): Promise<ReadonlyMap<string, string[]>> {
  const links = new Map<string, string[]>()
  if (orders.length === 0) return links
  const rows = await selectLinksOfOrders(db, orders)
  const opened = await Promise.all(
    rows.map(({ link_sealed, ...place }) => link_sealed && vault.openFromOrder(link_sealed, place)),
  )
  for (const [n, { order_id }] of rows.entries()) {
    const link = opened[n]
    if (typeof link === 'string') links.set(order_id, [...(links.get(order_id) ?? []), link])
  }
  return links
}

/** Why there are no links to show. */
export const erasedLinks = (order_id: string, erased_at: Date | null) =>
  `The links of ${order_id} were erased on ${erased_at?.toISOString().slice(0, 10)}: this store stores links for a limited time after ` +
  'the delivery, and their fingerprints permanently. Whoever received them, by the API or by a webhook, may still have them.'

export async function listOrders(
  db: Queryable,
  account_id: string,
  { limit = ORDERS_LIMIT_DEFAULT, offset = ORDERS_OFFSET_DEFAULT }: OrdersQuery,
): Promise<OrdersPage> {
  const [{ order_count: total }, rows] = await Promise.all([
    selectOrderCount(db, account_id),
    selectOrders(db, account_id, limit, offset),
  ])
  const orders = rows.map(({ id, status, total_cents, created_at }) => ({
    id,
    status,
    currency: 'USD' as const,
    total_cents,
    created_at: created_at.toISOString(),
  }))
  return { orders, total, limit, offset }
}

function presentOrder(row: OrderWithLines, links: string[]): Order {
  return {
    id: row.id,
    status: row.status,
    currency: 'USD',
    total_cents: row.total_cents,
    created_at: row.created_at.toISOString(),
    delivered_at: row.delivered_at?.toISOString() ?? null,
    lines: row.lines.map(({ id, name, qty, unit_price_cents }) => ({ id, name, qty, unit_price_cents })),
    links,
  }
}
