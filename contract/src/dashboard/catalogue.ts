import Type from 'typebox'
import { Item, itemTypes } from '../catalogue.ts'
import { FILTER_LENGTH_MAX } from '../limits.ts'
import { Quote, QuoteRequest } from '../quote.ts'
import { Cents, Count, closed } from '../shapes.ts'
import { roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export const ITEMS_LIMIT_MAX = 200
export const ITEMS_LIMIT_DEFAULT = 50
export const ITEMS_OFFSET_MAX = 1_000_000

const filterText = Type.Optional(Type.String({ maxLength: FILTER_LENGTH_MAX }))

export const catalogueRoutes = [
  {
    name: 'listItems',
    method: 'GET',
    path: '/api/catalogue',
    access: roles,
    query: closed({
      search: filterText,
      /** The whole name of a collection. */
      collection: filterText,
      type: Type.Optional(Type.Enum(itemTypes, { type: 'string' })),
      sellable: Type.Optional(Type.Enum(['yes', 'no'], { type: 'string' })),
      price_min: Type.Optional(Cents),
      price_max: Type.Optional(Cents),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: ITEMS_OFFSET_MAX })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ITEMS_LIMIT_MAX })),
    }),
    reply: closed({ items: Type.Array(Item), total: Count, revision: Count }),
  },
  {
    name: 'catalogueSummary',
    method: 'GET',
    path: '/api/catalogue-summary',
    access: roles,
    reply: closed({
      revision: Count,
      items: Count,
      sellable: Count,
      /** The largest first; at most two hundred. */
      collections: Type.Array(closed({ name: Type.String(), items: Count })),
      collections_total: Count,
      types: Type.Array(closed({ type: Type.Enum(itemTypes, { type: 'string' }), items: Count })),
    }),
  },
  {
    name: 'getItem',
    method: 'GET',
    path: '/api/catalogue/{id}',
    access: roles,
    reply: closed({ item: Item, revision: Count }),
  },
  {
    name: 'quoteCart',
    method: 'POST',
    path: '/api/catalogue/quote',
    access: roles,
    body: QuoteRequest,
    reply: Quote,
  },
] as const satisfies readonly DashboardRoute[]
