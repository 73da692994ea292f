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

export interface NewOrderLink extends OrderPlace, SealedLink {
  /** Where it came from: `pool`, `hand` or the supplier's name. */
  readonly source: string
  readonly obtained_at: Date
}

export const insertOrderLink = (tx: Tx, link: NewOrderLink) =>
  tx.run(sql`
    insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
    values (${link.account_id}, ${link.order_id}, ${link.line}, ${link.unit}, ${link.link_sealed}, ${link.link_kek_id},
            ${link.link_hash}, ${link.source}, ${link.obtained_at})`)

/** For the links of an order that is called off: they were shown to nobody. */
export const deleteOrderLinks = (tx: Tx, account_id: string, order_id: string) =>
  tx.many<OrderLinkRow>(sql`
    delete from order_links
     where account_id = ${account_id}
       and order_id = ${order_id}
    returning line, unit, link_sealed, source`)
