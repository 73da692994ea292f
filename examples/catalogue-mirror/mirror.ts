import { DatabaseSync } from 'node:sqlite'
import type { Item, Shopwire } from '@shopwire/sdk'

/**
 * The store's catalogue in a table of ours. A sync reads all pages first and then writes in one transaction: readers
 * of the table see the old or the new catalogue, never a mix.
 */
export class Mirror {
  readonly #db: DatabaseSync
  readonly #shop: Shopwire
  #running: Promise<string[]> | undefined
  #next: Promise<string[]> | undefined

  constructor(path: string, shop: Shopwire) {
    this.#shop = shop
    this.#db = new DatabaseSync(path, { timeout: 5_000 })
    this.#db.exec(`
      pragma journal_mode = wal;
      create table if not exists items (
        id text primary key,
        name text not null,
        type text not null,
        collection text not null,
        price_cents integer not null,
        image text,
        sellable integer not null,
        available_until text,
        vanished_at text
      ) strict;
      create table if not exists synced (only integer primary key check (only = 1), tag text not null) strict`)
  }

  /** Returns the changes as text. Calls during a running sync share the next one, which starts after all of them. */
  sync(): Promise<string[]> {
    if (!this.#running) {
      this.#running = this.#sync().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.sync()
      })
    return this.#next
  }

  async #sync(): Promise<string[]> {
    const synced = this.#db.prepare('select tag from synced').get() as { tag: string } | undefined
    const read = await this.#shop.catalogue.snapshot({ ifNoneMatch: synced?.tag })
    return read.unchanged ? [] : this.#write(read.items, read.etag)
  }

  /** Without a tag the next sync reads everything again. */
  #write(items: readonly Item[], tag: string | undefined): string[] {
    this.#db.exec('begin immediate')
    try {
      const rows = this.#db.prepare('select * from items').all() as unknown as Row[]
      const known = new Map(rows.map((row) => [row.id, row]))
      const changes: string[] = []
      for (const item of items) {
        const row = rowOf(item)
        const before = known.get(row.id)
        known.delete(row.id)
        const change = describe(before, row)
        if (change === undefined) continue
        changes.push(change)
        this.#put(row)
      }
      for (const gone of known.values()) {
        if (gone.vanished_at !== null) continue
        changes.push(`- ${gone.name} vanished`)
        this.#put({ ...gone, vanished_at: new Date().toISOString() })
      }
      this.#db.prepare('insert or replace into synced (only, tag) values (1, ?)').run(tag ?? '')
      this.#db.exec('commit')
      return changes
    } catch (error) {
      this.#db.exec('rollback')
      throw error
    }
  }

  #put(row: Row) {
    this.#db
      .prepare(`
        insert or replace into items
        values (:id, :name, :type, :collection, :price_cents, :image, :sellable, :available_until, :vanished_at)`)
      .run({ ...row })
  }
}

interface Row extends Omit<Item, 'currency' | 'stock' | 'sellable'> {
  readonly sellable: 0 | 1
  readonly vanished_at: string | null
}

function rowOf({ id, name, type, collection, price_cents, image, sellable, available_until }: Item): Row {
  const vanished_at = null
  return {
    id,
    name,
    type,
    collection,
    price_cents,
    image,
    sellable: sellable ? 1 : 0,
    available_until,
    vanished_at,
  }
}

/** Undefined when nothing is different. */
function describe(before: Row | undefined, after: Row): string | undefined {
  if (!before) return `+ ${after.name} ${after.price_cents}`
  const columns = (Object.keys(after) as (keyof Row)[]).filter((column) => before[column] !== after[column])
  if (columns.length === 0) return undefined
  if (columns.includes('vanished_at')) return `+ ${after.name} is back`
  return `~ ${after.name} ${columns.map((column) => `${column}: ${before[column]} → ${after[column]}`).join(', ')}`
}
