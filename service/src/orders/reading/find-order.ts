import type { Queryable } from '../../platform/database/db.ts'
import { timeInId } from '../../platform/text/ids.ts'
import { refuse } from '../../platform/trouble.ts'
import type { LinkVault } from '../../supply/gift-link.ts'
import type { OrderName } from '../fulfilment/delivery.ts'
import { selectLinksOfOrders } from '../links/link-queries.ts'
import { type OrderWithLines, selectOrder, selectOrderOwner } from '../queries.ts'
import { erasedLinks, openLinks } from './read-orders.ts'

/** For operators, who have only the order's id. */
export async function findOrder(db: Queryable, id: string): Promise<OrderName> {
  const madeMs = timeInId(id)
  const found = madeMs === undefined ? undefined : await selectOrderOwner(db, id, new Date(madeMs))
  if (!found) throw refuse('not_found', `There is no order ${id}.`)
  return { account_id: found.account_id, order_id: id }
}

export async function readWholeOrder(
  db: Queryable,
  { account_id, order_id }: OrderName,
): Promise<OrderWithLines> {
  const row = await selectOrder(db, account_id, order_id)
  if (!row) throw refuse('not_found', `There is no order ${order_id}.`)
  return row
}

/** The links themselves, for an operator who asked for them explicitly; the caller writes the audit record. */
export async function revealLinks(
  db: Queryable,
  vault: LinkVault,
  { account_id, order_id }: OrderName,
): Promise<string[]> {
  const links = await openLinks(db, vault, { account_id, id: order_id })
  if (links.length > 0) return links
  const [first] = await selectLinksOfOrders(db, [{ account_id, id: order_id }])
  throw refuse('not_found', erasedLinks(order_id, first?.erased_at ?? null))
}
