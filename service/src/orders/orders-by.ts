import { type Queryable, sql } from '../platform/db.ts'
import type { OrderRow } from './queries.ts'

export interface OrderFilter {
  readonly account_id?: string | undefined
  readonly status?: OrderRow['status'] | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly item_id?: string | undefined
  /** Continues a list: the last order of the page before. */
  readonly before?: string | undefined
}

export type ListedOrder = Pick<OrderRow, 'account_id' | 'id' | 'status' | 'total_cents' | 'created_at'>

/** For operators: orders of all accounts, newest first. Ids begin with the time at which they were made, so their order is that of the time. */
export const selectOrdersBy = (db: Queryable, filter: OrderFilter, limit: number) =>
  db.many<ListedOrder>(sql`
    select o.account_id, o.id, o.status, o.total_cents, o.created_at
      from orders o
     where (${filter.account_id ?? null}::text is null or o.account_id = ${filter.account_id ?? null})
       and (${filter.status ?? null}::text is null or o.status = ${filter.status ?? null})
       and (${filter.before ?? null}::text is null or o.id < ${filter.before ?? null})
       and o.created_at >= coalesce(${filter.since ?? null}::timestamptz, '-infinity')
       and o.created_at < coalesce(${filter.until ?? null}::timestamptz, 'infinity')
       and (${filter.item_id ?? null}::text is null
             or exists (select
                          from order_lines l
                         where l.order_id = o.id
                           and l.item_id = ${filter.item_id ?? null}))
     order by o.created_at desc, o.id desc
     limit ${limit}`)
