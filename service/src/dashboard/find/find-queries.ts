import type { OrderStatus } from '@shopwire/contract'
import type { TransferKind } from '../../ledger/queries.ts'
import { type Queryable, sql } from '../../platform/database/db.ts'
import { idFloor } from '../../platform/text/ids.ts'

/** A request's id is made when it arrives; whatever it causes follows within this time. Clocks of processes differ by seconds. */
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

export const selectTransfer = (db: Queryable, account_id: string, seq: number) =>
  db.maybeOne<{ seq: number; kind: TransferKind; change_cents: number; created_at: Date }>(sql`
    select seq, kind, change_cents, created_at
      from transfers
     where account_id = ${account_id}
       and seq = ${seq}`)

/** The order that a request bought, repeated, or read with its links. */
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
