import { type Queryable, statement } from '../../platform/database/db.ts'
import type { OrderRow } from '../queries.ts'

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

/**
 * For operators: orders of all accounts or of one, newest first. Ids begin with the time at which they were made, so sorting by id
 * is sorting by time; the orders of one account are read by the primary key, however old the newest is.
 */
export const selectOrdersBy = (db: Queryable, filter: OrderFilter, limit: number) =>
  db.many<ListedOrder>(
    statement(
      `select o.account_id, o.id, o.status, o.total_cents, o.created_at
         from orders o
        where ${filter.account_id === undefined ? '$1::text is null' : 'o.account_id = $1'}
          and ($2::text is null or o.status = $2)
          and ($3::text is null or o.id < $3)
          and o.created_at >= coalesce($4::timestamptz, '-infinity')
          and o.created_at < coalesce($5::timestamptz, 'infinity')
          and ($6::text is null
                or exists (select
                             from order_lines l
                            where l.account_id = o.account_id
                              and l.order_id = o.id
                              and l.item_id = $6))
        order by ${filter.account_id === undefined ? 'o.created_at desc, o.id desc' : 'o.id desc'}
        limit $7`,
      [
        filter.account_id ?? null,
        filter.status ?? null,
        filter.before ?? null,
        filter.since ?? null,
        filter.until ?? null,
        filter.item_id ?? null,
        limit,
      ],
    ),
  )
