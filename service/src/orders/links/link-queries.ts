import { type Queryable, sql, type Tx } from '../../platform/database/db.ts'
import type { OrderPlace, SealedLink } from '../../supply/gift-link.ts'

export interface OrderLinkRow {
  readonly line: number
  readonly unit: number
  /** Null when it was erased. */
  readonly link_sealed: Buffer | null
  readonly erased_at: Date | null
}

/** A link of an order that was never delivered. */
export interface HeldLinkRow {
  readonly line: number
  readonly unit: number
  readonly link_sealed: Buffer
  readonly link_kek_id: string
  readonly link_hash: Buffer
  readonly source: string
}

/** Of several orders, each in the order of its lines. */
export const selectLinksOfOrders = (
  db: Queryable,
  orders: readonly { readonly account_id: string; readonly id: string }[],
) =>
  db.many<OrderLinkRow & Pick<OrderPlace, 'account_id' | 'order_id'>>(sql`
    select k.account_id, k.order_id, k.line, k.unit, k.link_sealed, k.erased_at
      from unnest(${orders.map(({ account_id }) => account_id)}::text[], ${orders.map(({ id }) => id)}::text[])
             as w (account_id, order_id)
      join order_links k on k.order_id = w.order_id and k.account_id = w.account_id
     order by k.order_id, k.line, k.unit`)

/** Fingerprints of an order's links, in the order of its lines. */
export const selectOrderLinkHashes = (db: Queryable, account_id: string, order_id: string) =>
  db.many<{ link_hash: Buffer; source: string }>(sql`
    select link_hash, source
      from order_links
     where account_id = ${account_id}
       and order_id = ${order_id}
     order by line, unit`)

/**
 * What the journal records of an order's links. Also marks the order in the database, for this transaction, as journalled; see
 * functions/orders/refuse_unless_journalled.sql.
 */
export const selectForJournal = (tx: Tx, account_id: string, order_id: string) =>
  tx.many<{ line: number; unit: number; item_id: string; source: string; hash: Buffer }>(sql`
    select k.line, k.unit, l.item_id, k.source, k.link_hash as hash, set_config('shopwire.journalled', k.order_id, true)
      from order_links k
      join order_lines l on l.account_id = k.account_id and l.order_id = k.order_id and l.line = k.line
     where k.account_id = ${account_id}
       and k.order_id = ${order_id}
     order by k.line, k.unit`)

export type OrderLineName = Omit<OrderPlace, 'unit'>

export type NewOrderLink = Pick<OrderPlace, 'unit'> & SealedLink

export interface LinkOrigin {
  /** Where it came from: `pool`, `hand` or the supplier's name. */
  readonly source: string
  readonly obtained_at: Date
}

/** Inserts the links of one line in one statement, however many there are. */
export const insertOrderLinks = (
  tx: Tx,
  line: OrderLineName,
  links: readonly NewOrderLink[],
  from: LinkOrigin,
) =>
  tx.run(sql`
    insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
    select ${line.account_id}, ${line.order_id}, ${line.line}, unit, link_sealed, link_kek_id, link_hash, ${from.source},
           ${from.obtained_at}
      from unnest(${links.map(({ unit }) => unit)}::smallint[], ${links.map(({ link_sealed }) => link_sealed)}::bytea[],
                  ${links.map(({ link_kek_id }) => link_kek_id)}::text[],
                  ${links.map(({ link_hash }) => link_hash)}::bytea[]) as l (unit, link_sealed, link_kek_id, link_hash)`)

/** For a cancelled order, whose links were not shown to the caller. */
export const deleteOrderLinks = (tx: Tx, account_id: string, order_id: string) =>
  tx.many<HeldLinkRow>(sql`
    with held as materialized (
      select line, unit
        from order_links
       where account_id = ${account_id}
         and order_id = ${order_id}
       order by line, unit
         for update
    )
    delete from order_links k
     using held h
     where k.account_id = ${account_id}
       and k.order_id = ${order_id}
       and k.line = h.line
       and k.unit = h.unit
    returning k.line, k.unit, k.link_sealed, k.link_kek_id, k.link_hash, k.source`)

/** One of the links that the order had in a time lost by a restore. */
export const selectLostLink = (db: Queryable, account_id: string, order_id: string) =>
  db.maybeOne<{ sold_at: Date }>(sql`
    select sold_at
      from lost_links
     where account_id = ${account_id}
       and order_id = ${order_id}
     limit 1`)
