import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import type { PoolPlace, SealedLink } from './gift-link.ts'

export type Source = 'pool' | 'supplier' | 'hand'

export interface ItemSupply {
  readonly item_id: string
  readonly source: Source
  readonly supplier: string | null
  readonly fallback: string | null
  readonly sku: string | null
  readonly warn_below: number
  /** What one link costs at the supplier, and at the fallback; null: not known. */
  readonly cost_cents: number | null
  readonly fallback_cost_cents: number | null
  readonly pool_left: number
}

/** Makes sure that there is a row to lock; an item without a configured source is delivered by hand. */
export const ensureItemSupply = (tx: Tx, item_id: string, source: Source) =>
  tx.run(sql`
    insert into item_supply (item_id, source)
    values (${item_id}, ${source})
        on conflict (item_id) do nothing`)

export interface LockedSupply extends ItemSupply {
  /** Everything in the pool up to this id was taken. */
  readonly pool_from: string
}

/** Held while adding to or taking from a pool. Locked in the order of the ids, to avoid deadlocks. */
export const lockItemSupply = (tx: Tx, item_ids: readonly string[]) =>
  tx.many<LockedSupply>(sql`
    select item_id, source, supplier, fallback, sku, warn_below, cost_cents, fallback_cost_cents, pool_left, pool_from
      from item_supply
     where item_id = any(${item_ids})
     order by item_id
       for no key update`)

export const selectItemSupply = (db: Queryable, item_ids: readonly string[]) =>
  db.many<ItemSupply>(sql`
    select item_id, source, supplier, fallback, sku, warn_below, cost_cents, fallback_cost_cents, pool_left
      from item_supply
     where item_id = any(${item_ids})`)

export const selectSupplies = (db: Queryable, afterId: string, limit: number) =>
  db.many<ItemSupply & { name: string | null }>(sql`
    select s.item_id, s.source, s.supplier, s.fallback, s.sku, s.warn_below, s.cost_cents, s.fallback_cost_cents, s.pool_left,
           i.name
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
           warn_below = ${supply.warn_below},
           cost_cents = ${supply.cost_cents},
           fallback_cost_cents = ${supply.fallback_cost_cents}
     where item_id = ${supply.item_id}
    returning item_id, source, supplier, fallback, sku, warn_below, cost_cents, fallback_cost_cents, pool_left`)

/** A transaction that takes links passes the id up to which the pool is empty now; links that are added later may lie before it. */
export const changePoolLeft = (tx: Tx, item_id: string, change: number, pool_from = '') =>
  tx.one<{ pool_left: number; warn_below: number; source: Source }>(sql`
    update item_supply
       set pool_left = pool_left + ${change},
           pool_from = ${pool_from}
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

/** The source of links, and the order they are for. */
export interface LinkUse {
  /** The request to a supplier that brought them. */
  readonly made_by?: string | null
  /** The order they are for. A link that was sold to it in a time that a restore lost is new once more, for this order only. */
  readonly order?: { readonly account_id: string; readonly order_id: string } | undefined
}

/**
 * Records fingerprints permanently, in the order given; returns those that were new. One that was sold in a time that a restore lost is
 * new only for the order it was sold to.
 */
export const insertFingerprints = (
  tx: Tx,
  hashes: readonly Buffer[],
  seen_at: Date,
  { made_by = null, order }: LinkUse,
) =>
  tx.many<{ hash: Buffer }>(sql`
    insert into link_fingerprints (hash, seen_at, made_by)
    select h.hash, ${seen_at}, ${made_by}::text
      from unnest(${hashes}::bytea[]) with ordinality as h (hash, place)
     where not exists (
       select from lost_links l
        where l.hash = h.hash
          and (l.account_id = ${order?.account_id ?? null} and l.order_id = ${order?.order_id ?? null}) is not true
     )
     order by place
        on conflict do nothing
    returning hash`)

export type PoolLinkRow = PoolPlace & SealedLink

/** A link that was sold in a time that a restore lost is set aside at once. Returns how many are for sale. */
export const insertPoolLinks = (tx: Tx, links: readonly PoolLinkRow[], loaded_at: Date) =>
  tx.one<{ for_sale: number }>(sql`
    with inserted as (
      insert into pool_links (item_id, id, link_sealed, link_kek_id, link_hash, loaded_at, set_aside_at)
      select item_id, id, link_sealed, link_kek_id, link_hash, ${loaded_at},
             case when exists (select from lost_links t where t.hash = l.link_hash) then ${loaded_at}::timestamptz end
        from unnest(${links.map(({ item_id }) => item_id)}::text[], ${links.map(({ id }) => id)}::text[],
                    ${links.map(({ link_sealed }) => link_sealed)}::bytea[],
                    ${links.map(({ link_kek_id }) => link_kek_id)}::text[],
                    ${links.map(({ link_hash }) => link_hash)}::bytea[])
          as l (item_id, id, link_sealed, link_kek_id, link_hash)
      returning set_aside_at
    )
    select count(*) filter (where set_aside_at is null) as for_sale from inserted`)

export type TakenPoolLink = PoolLinkRow & { readonly loaded_at: Date }

/** Those after an id, oldest first, without links that are set aside. The item's supply row must be locked. */
export const takePoolLinks = (tx: Tx, item_id: string, after: string, limit: number) =>
  tx.many<TakenPoolLink>(sql`
    with held as materialized (
      select item_id, id
        from pool_links
       where item_id = ${item_id}
         and id > ${after}
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
  /** The order it was sold to in a time that a restore lost; null for a link that could not be decrypted, and when several are named. */
  readonly sold_to: string | null
  readonly is_lost: boolean
}

export const selectSetAside = (db: Queryable, limit: number) =>
  db.many<SetAsideLink>(sql`
    select p.item_id, p.id, p.link_kek_id, p.loaded_at, p.set_aside_at, l.order_id as sold_to, l.hash is not null as is_lost
      from pool_links p
      left join lost_links l on l.hash = p.link_hash
     where p.set_aside_at is not null
     order by p.item_id, p.id
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

export async function countPoolLinks(db: Queryable, item_id: string, isSetAside: boolean): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*) as count
      from pool_links
     where item_id = ${item_id}
       and (set_aside_at is not null) = ${isSetAside}`)
  return count
}

/** Of these fingerprints: which links are in the pool of the item, and to which orders the others were sold. */
export const selectWhereabouts = (tx: Tx, item_id: string, hashes: readonly Buffer[]) =>
  tx.one<{ ids: string[]; order_ids: string[]; sold: number }>(sql`
    select coalesce((select array_agg(id)
                       from pool_links
                      where item_id = ${item_id}
                        and link_hash = any(${hashes})), '{}') as ids,
           coalesce((select array_agg(distinct order_id)
                       from order_links
                      where link_hash = any(${hashes})), '{}') as order_ids,
           (select count(*) from order_links where link_hash = any(${hashes})) as sold`)

/**
 * Sets links aside, or puts them back on sale when the time is null; never one that was sold in a time that a restore lost. The item's
 * supply row must be locked.
 */
export const updateSetAside = (tx: Tx, item_id: string, ids: readonly string[], at: Date | null) =>
  tx.run(sql`
    update pool_links
       set set_aside_at = ${at}
     where item_id = ${item_id}
       and id = any(${ids})
       and (set_aside_at is null) = (${at}::timestamptz is not null)
       and (${at}::timestamptz is not null or not exists (select from lost_links l where l.hash = link_hash))`)

export interface SupplierRow {
  readonly name: string
  readonly url: string
  readonly secret_sealed: Buffer
  readonly timeout_ms: number
  readonly is_paused: boolean
  /** What the requests of any hour may cost together; null: no limit. */
  readonly hourly_limit_cents: number | null
  readonly created_at: Date
}

export const insertSupplier = (tx: Tx, supplier: SupplierRow & { secret_kek_id: string }) =>
  tx.run(sql`
    insert into suppliers (name, url, secret_sealed, secret_kek_id, timeout_ms, hourly_limit_cents, created_at)
    values (${supplier.name}, ${supplier.url}, ${supplier.secret_sealed}, ${supplier.secret_kek_id},
            ${supplier.timeout_ms}, ${supplier.hourly_limit_cents}, ${supplier.created_at})
        on conflict do nothing`)

export const selectSuppliers = (db: Queryable) =>
  db.many<SupplierRow>(sql`
    select name, url, secret_sealed, timeout_ms, is_paused, hourly_limit_cents, created_at
      from suppliers
     order by name`)

export const selectSupplier = (db: Queryable, name: string) =>
  db.maybeOne<SupplierRow>(sql`
    select name, url, secret_sealed, timeout_ms, is_paused, hourly_limit_cents, created_at
      from suppliers
     where name = ${name}`)

export const updateSupplierPaused = (tx: Tx, name: string, is_paused: boolean) =>
  tx.run(sql`
    update suppliers
       set is_paused = ${is_paused}
     where name = ${name}`)

export const updateSupplierLimit = (tx: Tx, name: string, hourly_limit_cents: number | null) =>
  tx.run(sql`
    update suppliers
       set hourly_limit_cents = ${hourly_limit_cents}
     where name = ${name}`)

/** Items that come from this supplier, first or as fallback, without a cost. */
export const selectItemsWithoutCost = (db: Queryable, supplier: string, limit: number) =>
  db.many<{ item_id: string }>(sql`
    select item_id
      from item_supply
     where (supplier = ${supplier} and cost_cents is null)
        or (fallback = ${supplier} and fallback_cost_cents is null)
     order by item_id
     limit ${limit}`)
