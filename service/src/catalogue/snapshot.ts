import {
  CATALOGUE_LIMIT_DEFAULT,
  CATALOGUE_OFFSET_DEFAULT,
  type CataloguePage,
  type CatalogueQuery,
  type Item,
  type ItemType,
} from '@shopwire/contract'
import { comesBefore, fold, ItemBlock } from './item-block.ts'
import type { ItemRow } from './queries.ts'
import { Searches, wantedOf } from './search.ts'

/** Up to this many changes the sorted sale ends are updated one by one; above, they are sorted again. */
const FEW = 1_000

/** For people who browse the catalogue. */
export interface Browse {
  readonly search?: string | undefined
  /** The whole name. */
  readonly collection?: string | undefined
  readonly type?: ItemType | undefined
  readonly isSellable?: boolean | undefined
  readonly price_min?: number | undefined
  readonly price_max?: number | undefined
  readonly offset: number
  readonly limit: number
}

export interface CatalogueSummary {
  readonly sellable: number
  /** The largest first. */
  readonly collections: { readonly name: string; readonly items: number }[]
  readonly types: { readonly type: ItemType; readonly items: number }[]
}

/**
 * The whole catalogue in memory, at one revision. Reads never query the database; a change is applied between two reads, so no
 * page mixes two revisions; a search that takes several turns begins again. Items are in blocks ordered by numeric id, so that a change of one item among a million rebuilds one
 * block only.
 */
export class Snapshot {
  revision = 0
  /** In order of their ids. */
  readonly blocks: ItemBlock[] = []
  readonly #byId = new Map<string, ItemRow>()
  /** How many items have their picture at each origin, as the catalogue writes it. */
  readonly #pictures = new Map<string, number>()
  /** When each time-limited sale ends, sorted; built at first use. */
  #ends: number[] | undefined
  #summary: { readonly etag: string; readonly counts: CatalogueSummary } | undefined
  /** Types and collections repeat, so each text is stored once. */
  readonly #texts = new Map<string, string>()
  readonly #searches = new Searches(this)

  get size(): number {
    return this.#byId.size
  }

  apply(changed: readonly ItemRow[], revision: number): void {
    if (changed.length > FEW) this.#ends = undefined
    for (const row of changed) {
      const item: ItemRow = {
        id: row.id,
        name: row.name,
        type: this.#one(row.type),
        collection: this.#one(row.collection),
        price_cents: row.price_cents,
        image: row.image,
        is_for_sale: row.is_for_sale,
        has_supply: row.has_supply,
        available_until: row.available_until,
      }
      const before = this.#byId.get(item.id)
      if (this.#ends) moveEnd(this.#ends, before, item)
      if (before?.image !== item.image) {
        this.#countPicture(before?.image, -1)
        this.#countPicture(item.image, 1)
      }
      this.#byId.set(item.id, item)
      this.#put(item)
    }
    if (changed.length > 0) this.#searches.forget()
    this.revision = revision
  }

  /** Changes with the revision, and when a sale ends. */
  etag(nowMs: number): string {
    this.#ends ??= endsOf(this.#byId.values())
    return `"${this.revision}-${countUpTo(this.#ends, nowMs)}"`
  }

  /** The origins that pictures come from over TLS, such as `https://cdn.example.com`; those of the most items first. */
  pictureOrigins(): string[] {
    return [...this.#pictures].sort(([, one], [, other]) => other - one).map(([origin]) => origin)
  }

  item(id: string, nowMs: number): Item | undefined {
    const item = this.#byId.get(id)
    return item && present(item, nowMs)
  }

  /** With the tag of what it was read from: the catalogue may change during a search, which then begins again. */
  async page(
    query: CatalogueQuery,
    nowMs: number,
  ): Promise<{ readonly etag: string; readonly page: CataloguePage }> {
    const { limit = CATALOGUE_LIMIT_DEFAULT, offset = CATALOGUE_OFFSET_DEFAULT } = query
    const filters = { name: fold(query.search), collection: fold(query.category), type: query.type }
    const isFiltered = filters.name !== '' || filters.collection !== '' || filters.type !== undefined
    for (;;) {
      const etag = this.etag(nowMs)
      const matches = isFiltered ? await this.#searches.find(filters) : undefined
      if (this.etag(nowMs) !== etag) continue
      const found = matches ? matches.slice(offset, offset + limit) : this.#slice(offset, limit)
      const items = found.map((item) => present(item, nowMs))
      return {
        etag,
        page: { items, count: items.length, total: matches?.length ?? this.size, limit, offset },
      }
    }
  }

  async browse(query: Browse, nowMs: number): Promise<{ items: Item[]; total: number }> {
    const { offset, limit, isSellable: wanted, collection } = query
    const { price_min = 0, price_max = Number.POSITIVE_INFINITY } = query
    const filters = { name: fold(query.search), collection: fold(collection), type: query.type }
    const found = await wantedOf(
      await this.#searches.find(filters),
      (item) =>
        (wanted === undefined || isSellable(item, nowMs) === wanted) &&
        (collection === undefined || item.collection === collection) &&
        item.price_cents >= price_min &&
        item.price_cents <= price_max,
    )
    const items = found.slice(offset, offset + limit).map((item) => present(item, nowMs))
    return { items, total: found.length }
  }

  /** Counted once for a revision and number of ended sales. */
  summary(nowMs: number): CatalogueSummary {
    const etag = this.etag(nowMs)
    if (this.#summary?.etag !== etag) this.#summary = { etag, counts: summaryOf(this.#byId.values(), nowMs) }
    return this.#summary.counts
  }

  #slice(offset: number, limit: number): ItemRow[] {
    const found: ItemRow[] = []
    let skip = offset
    for (const { items } of this.blocks) {
      if (found.length >= limit) break
      if (skip < items.length) found.push(...items.slice(skip, skip + limit - found.length))
      skip = Math.max(0, skip - items.length)
    }
    return found
  }

  #put(item: ItemRow) {
    // Items are loaded in order, so the last block is tried first.
    const last = this.blocks.at(-1)
    if (!last || (last.isFull && last.isBefore(item.id))) {
      // Building the index while loading saves the first search from waiting for it.
      last?.index()
      this.blocks.push(new ItemBlock([item]))
      return
    }
    const at = comesBefore(item.id, last.firstId) ? this.#blockFor(item.id) : this.blocks.length - 1
    const block = this.blocks[at] as ItemBlock
    block.put(item)
    const rest = block.splitIfFull()
    if (rest) this.blocks.splice(at + 1, 0, rest)
  }

  /** The last block that starts at or before the id, otherwise the first. */
  #blockFor(id: string): number {
    let low = 0
    let high = this.blocks.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (comesBefore(id, (this.blocks[middle] as ItemBlock).firstId)) high = middle
      else low = middle
    }
    return low
  }

  #countPicture(image: string | null | undefined, change: 1 | -1) {
    const origin = /^https:\/\/[^/?#]+/i.exec(image ?? '')?.[0]
    if (origin === undefined) return
    const items = (this.#pictures.get(origin) ?? 0) + change
    if (items > 0) this.#pictures.set(origin, items)
    else this.#pictures.delete(origin)
  }

  #one<Text extends string>(text: Text): Text {
    const known = this.#texts.get(text)
    if (known === undefined) this.#texts.set(text, text)
    return (known ?? text) as Text
  }
}

export function isSellable(item: ItemRow, nowMs: number): boolean {
  return (
    item.is_for_sale &&
    item.has_supply &&
    (item.available_until === null || nowMs < item.available_until.getTime())
  )
}

function present(item: ItemRow, nowMs: number): Item {
  return {
    id: item.id,
    name: item.name,
    type: item.type,
    collection: item.collection,
    price_cents: item.price_cents,
    currency: 'USD',
    image: item.image,
    stock: null,
    sellable: isSellable(item, nowMs),
    available_until: item.available_until?.toISOString() ?? null,
  }
}

function summaryOf(items: Iterable<ItemRow>, nowMs: number): CatalogueSummary {
  let sellable = 0
  const byCollection = new Map<string, number>()
  const byType = new Map<ItemType, number>()
  for (const item of items) {
    if (isSellable(item, nowMs)) sellable += 1
    byCollection.set(item.collection, (byCollection.get(item.collection) ?? 0) + 1)
    byType.set(item.type, (byType.get(item.type) ?? 0) + 1)
  }
  return {
    sellable,
    collections: [...byCollection]
      .map(([name, items]) => ({ name, items }))
      .sort((one, other) => other.items - one.items || one.name.localeCompare(other.name)),
    types: [...byType].map(([type, items]) => ({ type, items })),
  }
}

function endsOf(items: Iterable<ItemRow>): number[] {
  const ends: number[] = []
  for (const { available_until } of items) if (available_until) ends.push(available_until.getTime())
  return ends.sort((a, b) => a - b)
}

function moveEnd(ends: number[], before: ItemRow | undefined, after: ItemRow): void {
  const [old, next] = [before?.available_until?.getTime(), after.available_until?.getTime()]
  if (old === next) return
  if (old !== undefined) ends.splice(countUpTo(ends, old) - 1, 1)
  if (next !== undefined) ends.splice(countUpTo(ends, next), 0, next)
}

/** How many of the sorted numbers are at most `limit`. */
function countUpTo(sorted: readonly number[], limit: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) <= limit) low = middle + 1
    else high = middle
  }
  return low
}
