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

/** Look at `unchanged` first: only what has changed has `items`. */
export type CatalogueSnapshot =
  | { readonly unchanged: true; readonly etag: string }
  | {
      readonly unchanged: false
      readonly items: Item[]
      /** To be kept with the items. Undefined when the catalogue changed while it was read: then the next read is a whole one. */
      readonly etag: string | undefined
    }

/** What the store sells, or has sold: look at `sellable`. Scope `catalogue:read`. */
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

  /** All items that match, each once, in pages of `limit` (as large as they get by default). */
  iterate(query: CatalogueQuery = {}, options?: CallOptions): AsyncGenerator<Item, void, undefined> {
    const limit = query.limit ?? CATALOGUE_LIMIT_MAX
    return walkPages(limit, query.offset ?? 0, async (offset) => {
      const { items, total } = await this.list({ ...query, limit, offset }, options)
      return { rows: items, total }
    })
  }

  /**
   * For a copy of your own: all items that match at once, or, for one request and no items, that nothing has changed since the
   * `etag` of the last time.
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
    // Every page has the tag of the whole catalogue. Two tags are two catalogues, and what we have is neither.
    const [etag] = etags
    return { unchanged: false, items, etag: (etags.size === 1 && etag) || undefined }
  }
}
