import { type catalogueRoutes, ITEMS_LIMIT_DEFAULT } from '@shopwire/contract/dashboard'
import type { LiveCatalogue } from '../catalogue/live-catalogue.ts'
import type { Db } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'
import { quoteCart } from '../quotes/quote.ts'
import type { Area } from './area.ts'

export interface CatalogueDeps {
  readonly db: Db
  readonly catalogue: LiveCatalogue
}

const COLLECTIONS_LISTED_MAX = 200

/** What the store sells, the same for every account, and what a cart costs now. */
export const catalogueArea = ({ db, catalogue }: CatalogueDeps): Area<typeof catalogueRoutes> => ({
  async listItems({ query }) {
    const { snapshot } = catalogue
    const { offset = 0, limit = ITEMS_LIMIT_DEFAULT, sellable, ...filter } = query
    const isSellable = sellable === undefined ? undefined : sellable === 'yes'
    const wanted = { ...filter, isSellable, offset, limit }
    const { items, total } = await snapshot.browse(wanted, catalogue.nowMs())
    return { items, total, revision: snapshot.revision }
  },

  async catalogueSummary() {
    const { snapshot } = catalogue
    const { sellable, collections, types } = snapshot.summary(catalogue.nowMs())
    return {
      revision: snapshot.revision,
      items: snapshot.size,
      sellable,
      collections: collections.slice(0, COLLECTIONS_LISTED_MAX),
      collections_total: collections.length,
      types,
    }
  },

  async getItem({ id }) {
    const { snapshot } = catalogue
    const item = snapshot.item(id, catalogue.nowMs())
    if (!item) throw refuse('not_found', 'There is no item with this id.')
    return { item, revision: snapshot.revision }
  },

  quoteCart: ({ body }) => quoteCart(db, body.items),
})
