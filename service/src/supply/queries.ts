import { type Queryable, sql, type Tx } from '../platform/db.ts'
import type { PoolPlace, SealedLink } from './gift-link.ts'

export type Source = 'pool' | 'supplier' | 'hand'

export interface ItemSupply {
  readonly item_id: string
  readonly source: Source
  readonly supplier: string | null
  readonly fallback: string | null
  readonly sku: string | null
  readonly warn_below: number
  readonly pool_left: number
}

/** Makes sure that there is a row to lock; an item without a configured source is delivered by hand. */
export const ensureItemSupply = (tx: Tx, item_id: string, source: Source) =>
  tx.run(sql`
    insert into item_supply (item_id, source)
    values (${item_id}, ${source})
        on conflict (item_id) do nothing`)

/** Held while adding to or taking from a pool. Locked in the order of the ids, to avoid deadlocks. */
export const lockItemSupply = (tx: Tx, item_ids: readonly string[]) =>
  tx.many<ItemSupply>(sql`
    select item_id, source, supplier, fallback, sku, warn_below, pool_left
      from item_supply
     where item_id = any(${item_ids})
     order by item_id
       for no key update`)

export const selectItemSupply = (db: Queryable, item_ids: readonly string[]) =>
  db.many<ItemSupply>(sql`
    select item_id, source, supplier, fallback, sku, warn_below, pool_left
      from item_supply
     where item_id = any(${item_ids})`)

export const selectSupplies = (db: Queryable, afterId: string, limit: number) =>
  db.many<ItemSupply & { name: string | null }>(sql`
    select s.item_id, s.source, s.supplier, s.fallback, s.sku, s.warn_below, s.pool_left, i.name
      from item_supply s
      left join items i on i.id = s.item_id
     where s.item_id > ${afterId}
     order by s.item_id
     limit ${limit}`)

export const updateItemSupply = (tx: Tx, supply: Omit<ItemSupply, 'pool_left'>) =>
  tx.one<ItemSupply>(sql`
    update item_supply
       set source = ${supply.source},
           supplier = ${supply.supplier},
           fallback = ${supply.fallback},
           sku = ${supply.sku},
           warn_below = ${supply.warn_below}
     where item_id = ${supply.item_id}
    returning item_id, source, supplier, fallback, sku, warn_below, pool_left`)

export const addToPoolLeft = (tx: Tx, item_id: string, change: number) =>
  tx.one<{ pool_left: number; warn_below: number; source: Source }>(sql`
    update item_supply
       set pool_left = pool_left + ${change}
     where item_id = ${item_id}
    returning pool_left, warn_below, source`)

/** Items whose has_supply in the catalogue is wrong, with the right value. */
export const selectWronglyMarked = (tx: Tx, item_ids: readonly string[]) =>
  tx.many<{ item_id: string; has_supply: boolean }>(sql`
    select s.item_id, not i.has_supply as has_supply
      from item_supply s
      join items i on i.id = s.item_id
     where s.item_id = any(${item_ids})
       and i.has_supply <> (s.source <> 'pool' or s.pool_left > 0)
     order by s.item_id`)

/** Records fingerprints permanently, in the order given; returns those that were new. */
export const insertFingerprints = (tx: Tx, hashes: readonly Buffer[], seen_at: Date) =>
  tx.many<{ hash: Buffer }>(sql`
    insert into link_fingerprints (hash, seen_at)
    select hash, ${seen_at}
      from unnest(${hashes}::bytea[]) with ordinality as h (hash, place)
     order by place
        on conflict do nothing
    returning hash`)

export type PoolLinkRow = PoolPlace & SealedLink

export const insertPoolLinks = (tx: Tx, links: readonly PoolLinkRow[], loaded_at: Date) =>
  tx.run(sql`
    insert into pool_links (item_id, id, link_sealed, link_kek_id, link_hash, loaded_at)
    select item_id, id, link_sealed, link_kek_id, link_hash, ${loaded_at}
      from unnest(${links.map(({ item_id }) => item_id)}::text[], ${links.map(({ id }) => id)}::text[],
                  ${links.map(({ link_sealed }) => link_sealed)}::bytea[],
                  ${links.map(({ link_kek_id }) => link_kek_id)}::text[],
                  ${links.map(({ link_hash }) => link_hash)}::bytea[])
        as l (item_id, id, link_sealed, link_kek_id, link_hash)`)

export type TakenPoolLink = PoolLinkRow & { readonly loaded_at: Date }

/** Oldest first, without links that are set aside. The item's supply row must be locked. */
export const takePoolLinks = (tx: Tx, item_id: string, limit: number) =>
  tx.many<TakenPoolLink>(sql`
    with held as materialized (
      select item_id, id
        from pool_links
       where item_id = ${item_id}
         and set_aside_at is null
       order by item_id, id
       limit ${limit}
         for update
    )
    delete from pool_links p
     using held h
     where p.item_id = h.item_id
       and p.id = h.id
    returning p.item_id, p.id, p.link_sealed, p.link_kek_id, p.link_hash, p.loaded_at`)

/** Puts the link back into its pool, but not for sale. */
export const insertSetAside = (tx: Tx, link: TakenPoolLink, at: Date) =>
  tx.run(sql`
    insert into pool_links (item_id, id, link_sealed, link_kek_id, link_hash, loaded_at, set_aside_at)
    values (${link.item_id}, ${link.id}, ${link.link_sealed}, ${link.link_kek_id}, ${link.link_hash}, ${link.loaded_at}, ${at})`)

export interface SetAsideLink extends PoolPlace {
  readonly link_kek_id: string
  readonly loaded_at: Date
  readonly set_aside_at: Date
}

export const selectSetAside = (db: Queryable, limit: number) =>
  db.many<SetAsideLink>(sql`
    select item_id, id, link_kek_id, loaded_at, set_aside_at
      from pool_links
     where set_aside_at is not null
     order by item_id, id
     limit ${limit}`)

export type SealedPoolLink = PoolPlace & Pick<PoolLinkRow, 'link_sealed' | 'link_kek_id'>

/** The links of a pool in the order of their ids: those for sale, or those set aside. */
export const selectPoolLinks = (
  db: Queryable,
  { item_id, id }: PoolPlace,
  isSetAside: boolean,
  limit: number,
) =>
  db.many<SealedPoolLink>(sql`
    select item_id, id, link_sealed, link_kek_id
      from pool_links
     where item_id = ${item_id}
       and id > ${id}
       and (set_aside_at is not null) = ${isSetAside}
     order by item_id, id
     limit ${limit}`)

/** Sets links aside, or puts them back on sale when the time is null. The item's supply row must be locked. */
export const updateSetAside = (tx: Tx, item_id: string, ids: readonly string[], at: Date | null) =>
  tx.run(sql`
    update pool_links
       set set_aside_at = ${at}
     where item_id = ${item_id}
       and id = any(${ids})
       and (set_aside_at is null) = (${at}::timestamptz is not null)`)

export interface SupplierRow {
  readonly name: string
  readonly url: string
  readonly secret_sealed: Buffer
  readonly timeout_ms: number
  readonly is_paused: boolean
  readonly created_at: Date
}

export const insertSupplier = (tx: Tx, supplier: SupplierRow & { secret_kek_id: string }) =>
  tx.run(sql`
    insert into suppliers (name, url, secret_sealed, secret_kek_id, timeout_ms, created_at)
    values (${supplier.name}, ${supplier.url}, ${supplier.secret_sealed}, ${supplier.secret_kek_id},
            ${supplier.timeout_ms}, ${supplier.created_at})
        on conflict do nothing`)

export const selectSuppliers = (db: Queryable) =>
  db.many<SupplierRow>(sql`
    select name, url, secret_sealed, timeout_ms, is_paused, created_at
      from suppliers
     order by name`)

export const selectSupplier = (db: Queryable, name: string) =>
  db.maybeOne<SupplierRow>(sql`
    select name, url, secret_sealed, timeout_ms, is_paused, created_at
      from suppliers
     where name = ${name}`)

export const updateSupplierPaused = (tx: Tx, name: string, is_paused: boolean) =>
  tx.run(sql`
    update suppliers
       set is_paused = ${is_paused}
     where name = ${name}`)

export interface SupplierRequest {
  readonly account_id: string
  readonly order_id: string
  readonly line: number
  readonly supplier: string
  readonly round: number
  readonly sku: string
  readonly qty: number
  readonly state: 'asked' | 'given' | 'refused' | 'unsent'
  readonly attempts: number
  readonly failures: number
  readonly error: string | null
  readonly first_at: Date
  readonly last_at: Date
}

export type RequestName = Pick<SupplierRequest, 'account_id' | 'order_id' | 'line' | 'supplier'>

/** A request, with the fencing token of the lease that may write to it. */
export interface FencedRequest extends RequestName {
  readonly fencing_token: number
}

/** The id that the supplier sees: our order and line and, from the second request for a line on, its number. */
export const requestId = ({ order_id, line, round }: Pick<SupplierRequest, 'order_id' | 'line' | 'round'>) =>
  `${order_id}-${line}${round > 1 ? `-${round}` : ''}`

/** A request of an order, with its line's item. */
export type OrderRequestRow = Pick<SupplierRequest, 'line' | 'supplier' | 'sku' | 'qty' | 'state'> & {
  readonly item_id: string
}

/**
 * Gives the requests of an order to this lease. The order must be locked and the fencing token must be the latest; the previous
 * holder can no longer write to any of them.
 */
export const takeOverRequests = (tx: Tx, account_id: string, order_id: string, fencing_token: number) =>
  tx.many<OrderRequestRow>(sql`
    update supplier_requests r
       set fencing_token = ${fencing_token}
      from order_lines l
     where r.account_id = ${account_id}
       and r.order_id = ${order_id}
       and l.account_id = r.account_id
       and l.order_id = r.order_id
       and l.n = r.line
    returning r.line, r.supplier, r.sku, r.qty, r.state, l.item_id`)

/** Whether a supplier may still deliver links for the order. */
export const selectIsOwed = (tx: Tx, account_id: string, order_id: string) =>
  tx.one<{ is_owed: boolean }>(sql`
    select exists (select from supplier_requests
                    where account_id = ${account_id}
                      and order_id = ${order_id}
                      and state = 'asked') as is_owed`)

/** The reason recorded for a request that an operator ended. */
export const GIVEN_UP = 'given_up'

/** Ends the open requests of a line as if the supplier had refused them. The order must be locked. */
export const giveUpRequests = (tx: Tx, account_id: string, order_id: string, line: number) =>
  tx.many<Pick<SupplierRequest, 'order_id' | 'line' | 'supplier' | 'round' | 'qty'>>(sql`
    update supplier_requests
       set state = 'refused',
           error = ${GIVEN_UP}
     where account_id = ${account_id}
       and order_id = ${order_id}
       and line = ${line}
       and state = 'asked'
    returning order_id, line, supplier, round, qty`)

/** A request as it is sent. */
export type Asking = Pick<SupplierRequest, 'order_id' | 'line' | 'round' | 'sku' | 'qty' | 'attempts'>

/**
 * Recorded before anything is sent: a new request, with a new id unless the supplier never got the old one. Only for a paid order,
 * which this locks: a transaction that ends the order either sees this request or prevents it. No row means that the order
 * has ended or that a later lease holds the request.
 */
export const recordAsking = (
  db: Queryable,
  ask: FencedRequest & Pick<SupplierRequest, 'sku' | 'qty'>,
  at: Date,
) =>
  db.maybeOne<Asking>(sql`
    with paid as materialized (
      select account_id, id
        from orders
       where account_id = ${ask.account_id}
         and id = ${ask.order_id}
         and status = 'paid'
         for share
    )
    insert into supplier_requests as r (account_id, order_id, line, supplier, sku, qty, state, attempts, first_at, last_at,
                                        fencing_token)
    select account_id, id, ${ask.line}, ${ask.supplier}, ${ask.sku}, ${ask.qty}::smallint, 'asked', 1, ${at}::timestamptz,
           ${at}::timestamptz, ${ask.fencing_token}::integer
      from paid
        on conflict (account_id, order_id, line, supplier) do update
       set round = case when r.state in ('asked', 'unsent') then r.round else r.round + 1 end,
           sku = case when r.state = 'asked' then r.sku else excluded.sku end,
           qty = case when r.state = 'asked' then r.qty else excluded.qty end,
           failures = case when r.state = 'asked' then r.failures else 0 end,
           attempts = case when r.state = 'asked' then r.attempts + 1 else 1 end,
           state = 'asked',
           last_at = excluded.last_at,
           fencing_token = excluded.fencing_token
     where r.fencing_token <= excluded.fencing_token
    returning order_id, line, round, sku, qty, attempts`)

/** Sends an open request once more, unchanged, whatever the order's state. No row: another lease holds it, or it has ended. */
export const recordAskingAgain = (db: Queryable, ask: FencedRequest, at: Date) =>
  db.maybeOne<Asking>(sql`
    update supplier_requests
       set attempts = attempts + 1,
           last_at = ${at}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and state = 'asked'
       and fencing_token = ${ask.fencing_token}
    returning order_id, line, round, sku, qty, attempts`)

/** The reason recorded for a request whose links this store had held before. */
export const SOLD_BEFORE = 'sold_before'

export const selectRequest = (db: Queryable, ask: RequestName) =>
  db.maybeOne<SupplierRequest>(sql`
    select account_id, order_id, line, supplier, round, sku, qty, state, attempts, failures, error, first_at, last_at
      from supplier_requests
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}`)

/** Here and below, no changed row means that a later lease holds the request. */
export const recordFailure = (db: Queryable, ask: FencedRequest, error: string, counts: boolean) =>
  db.run(sql`
    update supplier_requests
       set error = case when state = 'asked' then ${error} else error end,
           failures = failures + ${counts ? 1 : 0}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and fencing_token = ${ask.fencing_token}`)

export const recordEnd = (
  db: Queryable,
  ask: FencedRequest,
  state: 'given' | 'refused' | 'unsent',
  error: string | null,
) =>
  db.run(sql`
    update supplier_requests
       set state = ${state},
           error = ${error}
     where account_id = ${ask.account_id}
       and order_id = ${ask.order_id}
       and line = ${ask.line}
       and supplier = ${ask.supplier}
       and fencing_token = ${ask.fencing_token}`)

export const selectOpenRequests = (db: Queryable, limit: number) =>
  db.many<SupplierRequest>(sql`
    select account_id, order_id, line, supplier, round, sku, qty, state, attempts, failures, error, first_at, last_at
      from supplier_requests
     where state = 'asked'
     order by last_at
     limit ${limit}`)
