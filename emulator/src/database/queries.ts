import { type Queryable, sql } from '@shopwire/service/embedded'
import type { EmulatedOrder, LedgerTransfer } from '../types.ts'

interface OrderRow {
  readonly id: string
  readonly account_id: string
  readonly idempotency_key: string
  readonly status: EmulatedOrder['status']
  readonly total_cents: number
  readonly created_at: Date
  readonly delivered_at: Date | null
  readonly lines: EmulatedOrder['lines']
  readonly transfers: { id: string; kind: string; amount_cents: number; at: string }[]
}

const ORDERS_MAX = 500
const TRANSFERS_MAX = 1_000

/** Newest first. */
export async function selectOrders(
  db: Queryable,
  wanted: { account_id?: string; idempotency_key?: string; id?: string },
): Promise<EmulatedOrder[]> {
  const rows = await db.many<OrderRow>(sql`
    select o.id, o.account_id, o.idempotency_key, o.status, o.total_cents, o.created_at, o.delivered_at,
           (select json_agg(json_build_object('id', l.item_id, 'name', l.name, 'qty', l.qty,
                                              'unit_price_cents', l.unit_price_cents) order by l.line)
              from order_lines l
             where l.account_id = o.account_id
               and l.order_id = o.id) as lines,
           (select json_agg(json_build_object('id', 'tr_' || t.seq, 'kind', t.kind, 'at', t.created_at, 'amount_cents', t.change_cents)
                            order by t.seq)
              from transfers t
             where t.account_id = o.account_id
               and t.order_id = o.id) as transfers
      from orders o
     where (${wanted.account_id ?? null}::text is null or o.account_id = ${wanted.account_id ?? null})
       and (${wanted.idempotency_key ?? null}::text is null or o.idempotency_key = ${wanted.idempotency_key ?? null})
       and (${wanted.id ?? null}::text is null or o.id = ${wanted.id ?? null})
     order by o.id desc
     limit ${ORDERS_MAX}`)
  return rows.map((row) => ({
    ...row,
    created_at: row.created_at.toISOString(),
    delivered_at: row.delivered_at?.toISOString() ?? null,
    transfers: row.transfers.map((transfer) => ({ ...transfer, at: new Date(transfer.at).toISOString() })),
  }))
}

/** Newest first. */
export async function selectTransfers(db: Queryable, account_id: string): Promise<LedgerTransfer[]> {
  const rows = await db.many<Omit<LedgerTransfer, 'at'> & { at: Date }>(sql`
    select 'tr_' || seq as id, kind, order_id, created_at as at, change_cents as amount_cents
      from transfers
     where account_id = ${account_id}
     order by seq desc
     limit ${TRANSFERS_MAX}`)
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }))
}

/** Units of a paid order that have no link yet. */
export const selectMissingLinks = (db: Queryable, order_id: string) =>
  db.one<{ missing: number }>(sql`
    select coalesce((select sum(qty) from order_lines where order_id = ${order_id}), 0)
         - (select count(*) from order_links where order_id = ${order_id}) as missing`)

/** The URL of an account's endpoint and its sealed signing secret. */
export const selectEndpoint = (db: Queryable, account_id: string) =>
  db.maybeOne<{ url: string; secret_id: string; secret_sealed: Buffer }>(sql`
    select e.url, s.id as secret_id, s.secret_sealed
      from webhook_endpoints e
      join webhook_secrets s on s.account_id = e.account_id and s.ends_at is null
     where e.account_id = ${account_id}
       and e.ended_at is null`)

/** When the previous secret stops signing. */
export const selectPreviousSecretEnd = (db: Queryable, account_id: string) =>
  db.one<{ ends_at: Date }>(sql`
    select max(ends_at) as ends_at
      from webhook_secrets
     where account_id = ${account_id}`)
