import type { Call } from '../call.ts'
import { CATALOGUE_LIMIT_MAX } from '../contract.ts'
import { walkPages } from '../pages.ts'
import type { CallOptions } from '../settings.ts'
import type { Transport } from '../transport.ts'
import type { CataloguePage, CatalogueQuery, Item } from '../types.ts'

export interface SnapshotQuery extends Omit<CatalogueQuery, 'offset'> {
  /** The `etag` of an earlier snapshot with the same filters; without one, everything is read. */
  ifNoneMatch?: string | null | undefined
}

/** Check `unchanged` first: `items` exist only when it is false. */
export type CatalogueSnapshot =
  | { readonly unchanged: true; readonly etag: string }
  | {
      readonly unchanged: false
      readonly items: Item[]
      /** Store it with the items. Undefined when the catalogue changed during the read: then the next snapshot reads everything. */
      readonly etag: string | undefined
    }

/** The items the store sells or has sold: check `sellable`. Scope `catalogue:read`. */
export class Catalogue {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** One page. */
  list(query?: CatalogueQuery, options?: CallOptions): Call<CataloguePage> {
    return this.#transport.call('getCatalogue', { query, options })
  }

  get(id: string, options?: CallOptions): Call<Item> {
    return this.#transport.call('getCatalogueItem', { id, options })
  }

  /** All items that match, each once, in pages of `limit` (the maximum by default). */
  iterate(query: CatalogueQuery = {}, options?: CallOptions): AsyncGenerator<Item, void, undefined> {
    const limit = query.limit ?? CATALOGUE_LIMIT_MAX
    return walkPages(limit, query.offset ?? 0, async (offset) => {
      const { items, total } = await this.list({ ...query, limit, offset }, options)
      return { rows: items, total }
    })
  }

  /**
   * For keeping a copy of the catalogue: all items that match, or, at the cost of one request, that nothing has
   * changed since the given `etag`.
   */
  async snapshot(
    { ifNoneMatch, ...query }: SnapshotQuery = {},
    options?: CallOptions,
  ): Promise<CatalogueSnapshot> {
    const limit = query.limit ?? CATALOGUE_LIMIT_MAX
    const read = (offset: number, known?: string) =>
      this.#transport.send<CataloguePage>('getCatalogue', {
        query: { ...query, limit, offset },
        ifNoneMatch: known,
        options,
      })
    const first = await read(0, ifNoneMatch || undefined)
    if (ifNoneMatch && first.response.status === 304) return { unchanged: true, etag: ifNoneMatch }

    const items: Item[] = []
    const etags = new Set<string | null>()
    let ahead: typeof first | undefined = first
    const pages = walkPages(limit, 0, async (offset) => {
      const { data, response } = ahead ?? (await read(offset))
      ahead = undefined
      etags.add(response.headers.get('etag'))
      return { rows: data.items, total: data.total }
    })
    for await (const item of pages) items.push(item)
    // Every page has the tag of the whole catalogue. With two tags the items are a mix of two revisions, so no tag is returned.
    const [etag] = etags
    return { unchanged: false, items, etag: (etags.size === 1 && etag) || undefined }
  }
}
