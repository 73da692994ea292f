import { type Db, type Queryable, sql } from '../../platform/database/db.ts'
import type { DeliveredOrder, Journal } from '../../supply/journal.ts'

/**
 * Clocks of workers and of the database may differ by this much. Reading more than necessary does no harm: those orders are known
 * already.
 */
export const CLOCKS_APART_MS = 600_000

/**
 * How many orders were delivered according to the journal, committed and acknowledged, and are not delivered in this database. Any
 * such order means that commits are lost; links in the journal without an acknowledgement may be those of a transaction that was
 * rolled back. Orders that a recovery has settled are on the list of lost links, so they do not count as lost again.
 */
export async function countLostOrders(db: Db, journal: Journal, since: Date): Promise<number> {
  let lost = 0
  const from = new Date(since.getTime() - CLOCKS_APART_MS)
  for await (const entries of journal.read(from, () => {})) {
    const delivered = entries.filter(({ kind }) => kind === 'delivered')
    if (delivered.length > 0) lost += (await selectLostCount(db, delivered)).lost
  }
  return lost
}

const selectLostCount = (db: Queryable, orders: readonly DeliveredOrder[]) =>
  db.one<{ lost: number }>(sql`
    select count(*) as lost
      from unnest(${orders.map(({ account_id }) => account_id)}::text[], ${orders.map(({ order_id }) => order_id)}::text[])
        as j (account_id, order_id)
     where not exists (
       select from orders o
        where o.account_id = j.account_id
          and o.id = j.order_id
          and o.status = 'delivered'
     )
       and not exists (
         select from lost_links l
          where l.account_id = j.account_id
            and l.order_id = j.order_id
     )`)
