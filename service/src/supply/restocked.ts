import { sql, type Tx } from '../platform/database/db.ts'
import type { Source } from './queries.ts'

/**
 * These items got links: the orders that wait for them are woken soon after the commit, as many as can be served. Locked after the pools
 * and before jobs.
 */
export async function markRestocked(tx: Tx, item_ids: readonly string[]): Promise<void> {
  const items = [...new Set(item_ids)].sort()
  await tx.run(sql`
    insert into restocked_items (item_id, restocked_at)
    select item_id, clock_timestamp()
      from unnest(${items}::text[]) with ordinality as i (item_id, place)
     order by place
        on conflict (item_id) do nothing`)
}

/** The item's links come from elsewhere now: all orders that wait for it are woken. */
export const markSourceChanged = (tx: Tx, item_id: string) =>
  tx.run(sql`
    insert into restocked_items (item_id, restocked_at, is_source_changed)
    values (${item_id}, clock_timestamp(), true)
        on conflict (item_id) do update
       set is_source_changed = true`)

export interface Restocked {
  readonly item_id: string
  readonly is_source_changed: boolean
  /** Null when the item has no supply yet: it is delivered by hand. */
  readonly source: Source | null
  readonly pool_left: number | null
}

/**
 * The item that was marked first, of those marked up to a moment of the database's clock, with all its digits. Locked; another
 * worker that looks for one gets a different item.
 */
export const lockRestocked = (tx: Tx, upTo: string) =>
  tx.maybeOne<Restocked>(sql`
    with held as materialized (
      select item_id, is_source_changed
        from restocked_items
       where restocked_at <= ${upTo}::text::timestamptz
       order by restocked_at, item_id
       limit 1
         for update skip locked
    )
    select h.item_id, h.is_source_changed, s.source, s.pool_left
      from held h
      left join item_supply s on s.item_id = h.item_id`)

/** The next call starts with other items. */
export const moveBack = (tx: Tx, item_id: string) =>
  tx.run(sql`
    update restocked_items
       set restocked_at = clock_timestamp()
     where item_id = ${item_id}`)

export const unmarkRestocked = (tx: Tx, item_id: string) =>
  tx.run(sql`
    delete from restocked_items
     where item_id = ${item_id}`)
