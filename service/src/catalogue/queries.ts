import type { ItemType } from '@shopwire/contract'
import { type Queryable, sql } from '../platform/database/db.ts'

/** An item as stored. Whether it can be bought right now also depends on the time. */
export interface ItemRow {
  readonly id: string
  readonly name: string
  readonly type: ItemType
  readonly collection: string
  readonly price_cents: number
  readonly image: string | null
  /** Set by the operator. */
  readonly is_for_sale: boolean
  /** False while there is nothing to deliver from. */
  readonly has_supply: boolean
  readonly available_until: Date | null
}

/** The columns of a catalogue file; the service adds the rest. */
export type ItemFacts = Omit<ItemRow, 'has_supply'>

export interface Revision {
  readonly revision: number
  /** The database's time, which decides when a sale ends. */
  readonly now: Date
}

export const selectRevision = (db: Queryable) =>
  db.one<Revision>(sql`
    select revision, clock_timestamp() as now
      from catalogue_state`)

/** Taken first by every change, so that revisions become visible in order. */
export const nextRevision = (tx: Queryable, changed_at: Date) =>
  tx.one<{ revision: number }>(sql`
    update catalogue_state
       set revision = revision + 1,
           changed_at = ${changed_at}
    returning revision`)

/** Blocks every other change without creating a revision, for when it is not known yet whether anything changes. */
export const lockCatalogue = (tx: Queryable) =>
  tx.one<{ revision: number }>(sql`
    select revision
      from catalogue_state
       for update`)

/** In the order they changed; the last row of a batch is where the next one starts. */
export const selectItemsSince = (db: Queryable, after: { revision: number; id: string }, limit: number) =>
  db.many<ItemRow & { revision: number }>(sql`
    select id, name, type, collection, price_cents, image, is_for_sale, has_supply, available_until, revision
      from items
     where (revision, id) > (${after.revision}::bigint, ${after.id})
     order by revision, id
     limit ${limit}`)

export const selectItem = (db: Queryable, id: string) =>
  db.maybeOne<ItemRow>(sql`
    select id, name, type, collection, price_cents, image, is_for_sale, has_supply, available_until
      from items
     where id = ${id}`)

export interface ItemFilter {
  /** Part of the name, case-insensitive. */
  readonly search?: string | undefined
  readonly type?: ItemType | undefined
  readonly is_for_sale?: boolean | undefined
}

export const selectItemsAfter = (db: Queryable, filter: ItemFilter, after: string, limit: number) =>
  db.many<ItemRow>(sql`
    select id, name, type, collection, price_cents, image, is_for_sale, has_supply, available_until
      from items
     where id > ${after}
       and (${filter.search ?? null}::text is null or strpos(lower(name), lower(${filter.search ?? null})) > 0)
       and (${filter.type ?? null}::text is null or type = ${filter.type ?? null})
       and (${filter.is_for_sale ?? null}::boolean is null or is_for_sale = ${filter.is_for_sale ?? null})
     order by id
     limit ${limit}`)

export const selectItemsById = (db: Queryable, ids: readonly string[]) =>
  db.many<ItemRow>(sql`
    select id, name, type, collection, price_cents, image, is_for_sale, has_supply, available_until
      from items
     where id = any(${ids})`)

/** Inserts new items and updates changed ones, in one statement however many there are. */
export const upsertItems = (tx: Queryable, items: readonly ItemFacts[], revision: number) =>
  tx.run(sql`
    insert into items as i (id, name, type, collection, price_cents, image, is_for_sale, available_until, revision)
    select id, name, type, collection, price_cents, image, is_for_sale, available_until, ${revision}
      from jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
        as x (id text, name text, type text, collection text, price_cents bigint, image text, is_for_sale boolean,
              available_until timestamptz)
        on conflict (id) do update
       set name = excluded.name,
           type = excluded.type,
           collection = excluded.collection,
           price_cents = excluded.price_cents,
           image = excluded.image,
           is_for_sale = excluded.is_for_sale,
           available_until = excluded.available_until,
           revision = excluded.revision`)

/** Items are never deleted: old orders and callers' caches refer to them. */
export const takeFromSale = (tx: Queryable, ids: readonly string[], revision: number) =>
  tx.run(sql`
    update items
       set is_for_sale = false,
           revision = ${revision}
     where id = any(${ids})
       and is_for_sale`)
