import { type Db, type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import { firstIdAt } from '../../platform/text/ids.ts'
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

/** An order that was answered with 201 and is missing in this database. */
export interface LostAnswer {
  readonly account_id: string
  readonly order_id: string
}

/**
 * The orders answered since a time that this database does not have, as far as API processes have recorded their answers here after the
 * loss, or have reported them (functions/orders/report_missing_orders.sql).
 */
export function selectLostAnswers(db: Queryable, since: Date): Promise<LostAnswer[]> {
  const first = firstIdAt('ord', since.getTime())
  return db.many<LostAnswer>(sql`
    select a.account_id, a.order_id
      from order_answers a
     where a.order_id >= ${first}
       and not exists (select from orders o where o.account_id = a.account_id and o.id = a.order_id)
     union
    select l.account_id, l.order_id
      from lost_orders l
     where l.order_id >= ${first}
     order by order_id`)
}

/** No rule expects these orders from now on. */
export const insertLostOrders = (tx: Tx, lost: readonly LostAnswer[], found_at: Date) =>
  tx.run(sql`
    insert into lost_orders (account_id, order_id, found_at)
    select account_id, order_id, ${found_at}
      from unnest(${lost.map(({ account_id }) => account_id)}::text[], ${lost.map(({ order_id }) => order_id)}::text[])
        as l (account_id, order_id)
     order by account_id, order_id
        on conflict do nothing`)
