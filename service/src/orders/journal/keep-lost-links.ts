import { sql, type Tx } from '../../platform/database/db.ts'
import type { LinkVault, SealedLink } from '../../supply/gift-link.ts'
import { markPools, returnToPool } from '../../supply/pool.ts'
import { changePoolLeft, lockItemSupply } from '../../supply/queries.ts'
import { retryOrder } from '../fulfilment/waiting.ts'
import { insertOrderLinks, type OrderLineName } from '../links/link-queries.ts'
import { countUnassigned } from '../queries.ts'
import type { LostLink } from './compare-journal.ts'

export interface LostLinksKept {
  /** Links that are recorded for the first time: each belongs to its order permanently. */
  readonly recorded: number
  /** How many of those in pools are no longer for sale. */
  readonly set_aside: number
  /** How many orders, paid here and delivered according to the journal, got their own links back. */
  readonly given_back: number
  /** Links taken from waiting orders, to which they were never shown. */
  readonly taken_back: number
}

const BATCH = 1_000

/**
 * Makes sure that links sold in a time lost by a restore are never sold to anyone else: in a pool they are set aside, a waiting
 * order loses them, and no pool or supplier can add them again. An order that is paid here and was delivered gets its own links
 * back. Locks in the order of LOCK_ORDER (service/testing/lock-order.ts).
 */
export async function keepLostLinks(
  tx: Tx,
  vault: LinkVault,
  lost: readonly LostLink[],
  nowMs: number,
): Promise<LostLinksKept> {
  const at = new Date(nowMs)
  // A delivered order keeps its links.
  const fresh = lost.filter(({ is_recorded, where }) => !is_recorded && where !== 'delivered order')
  const hashes = fresh.map(({ hash }) => hash)
  const paid = fresh
    .filter(({ is_certain, order_status }) => is_certain && order_status === 'paid')
    .sort((a, b) => compareTexts(a.account_id, b.account_id) || compareTexts(a.order_id, b.order_id))
  await inBatches(paid, (some) => lockPaidOrders(tx, some))
  const taken = await inBatches(fresh, (some) => takeFromWaitingOrders(tx, some))
  const pooled = await inBatches(hashes, (some) => selectPoolItems(tx, some))
  const items = [...new Set([...taken, ...pooled].map(({ item_id }) => item_id))]
  await lockItemSupply(tx, items)
  await inBatches(fresh, async (some) => {
    await insertLostLinks(tx, some, at)
    return []
  })
  const set_aside = await inBatches(hashes, (some) => setPoolLinksAside(tx, some, at))
  for (const { item_id, links } of set_aside) await changePoolLeft(tx, item_id, -links)
  for (const link of taken) {
    const open = await vault.openFromOrder(link.link_sealed, link)
    // It is on the list by now, so it goes to the pool set aside.
    await returnToPool(tx, vault, link.item_id, [open], nowMs)
  }
  const { orders, itemsOfLinks } = await giveBack(tx, vault, paid, at)
  await markPools(tx, items, nowMs)
  for (const { account_id, order_id } of orders) await retryOrder(tx, account_id, order_id)
  await countUnassigned(tx, [
    ...taken.map(({ item_id }) => ({ item_id, units: 1 })),
    ...itemsOfLinks.map((item_id) => ({ item_id, units: -1 })),
  ])
  return {
    recorded: fresh.length,
    set_aside: set_aside.reduce((sum, { links }) => sum + links, 0),
    given_back: orders.length,
    taken_back: taken.length,
  }
}

/** One statement for a day's sales would exceed the statement timeout. */
async function inBatches<In, Out>(
  all: readonly In[],
  work: (some: readonly In[]) => Promise<Out[]>,
): Promise<Out[]> {
  const results: Out[] = []
  for (let from = 0; from < all.length; from += BATCH)
    results.push(...(await work(all.slice(from, from + BATCH))))
  return results
}

/** In the sort order that the database uses for ids. */
const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Moves links from the pool to the units they were delivered for. Returns the orders that got any, and the item of each link. */
async function giveBack(tx: Tx, vault: LinkVault, paid: readonly LostLink[], at: Date) {
  const orders = new Map<string, Pick<LostLink, 'account_id' | 'order_id'>>()
  const itemsOfLinks: string[] = []
  for (const link of paid) {
    const place: OrderLineName = { account_id: link.account_id, order_id: link.order_id, line: link.line }
    const row = await takeForUnit(tx, link)
    if (row === undefined) continue
    const open = await vault.openFromPool(row.link_sealed, row)
    const sealed = await vault.sealForOrder(open, { ...place, unit: link.unit })
    await insertOrderLinks(tx, place, [{ unit: link.unit, ...sealed }], { source: 'pool', obtained_at: at })
    orders.set(link.order_id, place)
    itemsOfLinks.push(row.item_id)
  }
  // In the order in which they were locked.
  return { orders: [...orders.values()], itemsOfLinks }
}

const lockPaidOrders = (tx: Tx, lost: readonly LostLink[]) =>
  tx.many<{ id: string }>(sql`
    select o.id
      from orders o
     where (o.account_id, o.id) in (
             select a, b
               from unnest(${lost.map(({ account_id }) => account_id)}::text[], ${lost.map(({ order_id }) => order_id)}::text[])
                 as w (a, b)
           )
       and o.status = 'paid'
     order by o.account_id, o.id
       for update`)

/** Takes them from orders that are not delivered and are not the ones the journal names. */
const takeFromWaitingOrders = (tx: Tx, lost: readonly LostLink[]) =>
  tx.many<OrderLineName & { unit: number; item_id: string } & Pick<SealedLink, 'link_sealed'>>(sql`
    with held as materialized (
      select k.account_id, k.order_id, k.line, k.unit
        from order_links k
        join unnest(${lost.map(({ hash }) => hash)}::bytea[], ${lost.map(({ order_id }) => order_id)}::text[])
          as w (hash, order_id) on w.hash = k.link_hash and w.order_id <> k.order_id
       where exists (select from orders o where o.account_id = k.account_id and o.id = k.order_id and o.status = 'paid')
       order by k.order_id, k.line, k.unit
         for update of k
    )
    delete from order_links k
     using held h, order_lines l
     where k.account_id = h.account_id
       and k.order_id = h.order_id
       and k.line = h.line
       and k.unit = h.unit
       and l.account_id = k.account_id
       and l.order_id = k.order_id
       and l.line = k.line
    returning k.account_id, k.order_id, k.line, k.unit, l.item_id, k.link_sealed`)

const selectPoolItems = (tx: Tx, hashes: readonly Buffer[]) =>
  tx.many<{ item_id: string }>(sql`
    select distinct item_id
      from pool_links
     where link_hash = any(${hashes}::bytea[])`)

const insertLostLinks = (tx: Tx, lost: readonly LostLink[], found_at: Date) =>
  tx.run(sql`
    insert into lost_links (hash, account_id, order_id, sold_at, found_at)
    select hash, account_id, order_id, sold_at, ${found_at}
      from unnest(${lost.map(({ hash }) => hash)}::bytea[],
                  ${lost.map((link) => (link.is_certain ? link.account_id : null))}::text[],
                  ${lost.map((link) => (link.is_certain ? link.order_id : null))}::text[],
                  ${lost.map((link) => link.at)}::timestamptz[]) as l (hash, account_id, order_id, sold_at)
     order by hash
        on conflict do nothing`)

const setPoolLinksAside = (tx: Tx, hashes: readonly Buffer[], at: Date) =>
  tx.many<{ item_id: string; links: number }>(sql`
    with held as materialized (
      select item_id, id
        from pool_links
       where link_hash = any(${hashes}::bytea[])
         and set_aside_at is null
       order by item_id, id
         for update
    ), changed as (
      update pool_links p
         set set_aside_at = ${at}
        from held h
       where p.item_id = h.item_id
         and p.id = h.id
      returning p.item_id
    )
    select item_id, count(*) as links
      from changed
     group by item_id
     order by item_id`)

/** The link of a pool, set aside before, unless the unit of its order already has one. */
const takeForUnit = (tx: Tx, link: LostLink) =>
  tx.maybeOne<{ item_id: string; id: string; link_sealed: Buffer }>(sql`
    delete from pool_links p
     where p.link_hash = ${link.hash}
       and p.set_aside_at is not null
       and exists (
         select from order_lines l
          where l.account_id = ${link.account_id}
            and l.order_id = ${link.order_id}
            and l.line = ${link.line}
            and l.item_id = p.item_id
            and l.qty >= ${link.unit}
       )
       and not exists (
         select from order_links k
          where k.account_id = ${link.account_id}
            and k.order_id = ${link.order_id}
            and k.line = ${link.line}
            and k.unit = ${link.unit}
       )
    returning p.item_id, p.id, p.link_sealed`)
