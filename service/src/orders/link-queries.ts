import { type Queryable, sql, type Tx } from '../platform/db.ts'
import type { OrderPlace, SealedLink } from '../supply/gift-link.ts'

export interface OrderLinkRow {
  readonly line: number
  readonly unit: number
  readonly link_sealed: Buffer
  readonly source: string
}

export const selectOrderLinks = (db: Queryable, account_id: string, order_id: string) =>
  db.many<OrderLinkRow>(sql`
    select line, unit, link_sealed, source
      from order_links
     where account_id = ${account_id}
       and order_id = ${order_id}
     order by line, unit`)

/** Fingerprints of an order's links, in the order of its lines. */
export const selectOrderLinkHashes = (db: Queryable, account_id: string, order_id: string) =>
  db.many<{ link_hash: Buffer; source: string }>(sql`
    select link_hash, source
      from order_links
     where account_id = ${account_id}
       and order_id = ${order_id}
     order by line, unit`)

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
  tx.many<OrderLinkRow>(sql`
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
    returning k.line, k.unit, k.link_sealed, k.source`)
