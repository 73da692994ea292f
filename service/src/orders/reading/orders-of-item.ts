import { type Queryable, sql } from '../../platform/database/db.ts'

export interface OrderOfItem {
  readonly account_id: string
  readonly id: string
  readonly status: string
  readonly created_at: Date
  readonly qty: number
  readonly unit_price_cents: number
}

/** Orders of all accounts with an item, oldest first; those at one price only, if it is given. Reads every order of the period. */
export const listOrdersOfItem = (
  db: Queryable,
  item_id: string,
  {
    from,
    until,
    priceCents,
    limit,
  }: { from: Date; until: Date; priceCents: number | undefined; limit: number },
) =>
  db.many<OrderOfItem>(sql`
    select o.account_id, o.id, o.status, o.created_at, l.qty, l.unit_price_cents
      from orders o
      join order_lines l on l.account_id = o.account_id and l.order_id = o.id
     where o.created_at >= ${from}
       and o.created_at < ${until}
       and l.item_id = ${item_id}
       and l.unit_price_cents = coalesce(${priceCents ?? null}::bigint, l.unit_price_cents)
     order by o.created_at, o.account_id, o.id
     limit ${limit}`)
