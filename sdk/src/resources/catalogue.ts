import type { Call } from '../call.ts'
import { CATALOGUE_LIMIT_MAX } from '../contract.ts'
import { walkPages } from '../pages.ts'
import type { CallOptions } from '../settings.ts'
import type { Transport } from '../transport.ts'
import type { CataloguePage, CatalogueQuery, Item } from '../types.ts'

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
}
