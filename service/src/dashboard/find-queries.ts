import type { OrderStatus } from '@shopwire/contract'
import type { TransferKind } from '../ledger/queries.ts'
import { type Queryable, sql } from '../platform/db.ts'
import { idFloor } from '../platform/ids.ts'

/** A request's id is made when it arrives; what it causes comes at most this much later. Clocks of processes differ by seconds. */
const BEFORE_MS = 10_000
const AFTER_MS = 120_000

interface BriefOrder {
  readonly id: string
  readonly status: OrderStatus
  readonly total_cents: number
}

export const selectOrderBriefly = (db: Queryable, account_id: string, id: string) =>
  db.maybeOne<BriefOrder>(sql`
    select id, status, total_cents
      from orders
     where account_id = ${account_id}
       and id = ${id}`)

export const selectOrderOfKey = (db: Queryable, account_id: string, idempotency_key: string) =>
  db.maybeOne<BriefOrder>(sql`
    select id, status, total_cents
      from orders
     where account_id = ${account_id}
       and idempotency_key = ${idempotency_key}`)

/** The last attempt with a key. */
export const selectKeyAttempt = (db: Queryable, account_id: string, idempotency_key: string) =>
  db.maybeOne<{ outcome: string }>(sql`
    select outcome
      from order_attempts
     where account_id = ${account_id}
       and idempotency_key = ${idempotency_key}
     order by request_id desc
     limit 1`)

export const selectEvent = (db: Queryable, account_id: string, id: string) =>
  db.maybeOne<{ type: string }>(sql`
    select type
      from events
     where account_id = ${account_id}
       and id = ${id}`)

export const selectKey = (db: Queryable, account_id: string, id: string) =>
  db.maybeOne<{ name: string }>(sql`
    select name
      from api_keys
     where account_id = ${account_id}
       and id = ${id}`)

/**
 * There is no index on the ids of transfers. Their positions follow the time, which the id contains: a binary search over the
 * positions finds where to look.
 */
export const selectTransfer = (db: Queryable, account_id: string, id: string, madeMs: number) =>
  db.maybeOne<{ kind: TransferKind; amount_cents: number }>(sql`
    with recursive half (low, high) as (
      select 1::bigint, transfer_count + 1
        from balances
       where account_id = ${account_id}
       union all
      select case when is_before then middle + 1 else low end, case when is_before then high else middle end
        from (select low, high, (low + high) / 2 as middle,
                     (select created_at
                        from transfers
                       where account_id = ${account_id}
                         and seq = (low + high) / 2) < ${new Date(madeMs - AFTER_MS)}::timestamptz as is_before
                from half
               where low < high) h
    ), start (seq) as (
      select max(low) from half
    )
    select t.kind, t.amount_cents
      from (select id, kind, amount_cents
              from transfers
             where account_id = ${account_id}
               and seq >= (select seq from start)
             order by seq
             limit 5000) t
     where t.id = ${id}
     limit 1`)

/** The order that a request bought, asked for again, or read with its links. */
export const selectRequest = (db: Queryable, account_id: string, request_id: string, madeMs: number) =>
  db.maybeOne<{ order_id: string }>(sql`
    select order_id
      from (select o.id as order_id
              from orders o
             where o.account_id = ${account_id}
               and o.id >= ${idFloor('ord', madeMs - BEFORE_MS)}
               and o.id < ${idFloor('ord', madeMs + AFTER_MS)}
               and o.request_id = ${request_id}
             union all
            select o.id
              from order_attempts a
              join orders o on o.account_id = a.account_id and o.idempotency_key = a.idempotency_key
             where a.account_id = ${account_id}
               and a.at between ${new Date(madeMs - BEFORE_MS)} and ${new Date(madeMs + AFTER_MS)}
               and a.request_id = ${request_id}
             union all
            select r.order_id
              from link_reads r
             where r.account_id = ${account_id}
               and r.at between ${new Date(madeMs - BEFORE_MS)} and ${new Date(madeMs + AFTER_MS)}
               and r.request_id = ${request_id}) found
     limit 1`)
