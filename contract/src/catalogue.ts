import Type, { type Static } from 'typebox'
import {
  CATALOGUE_LIMIT_DEFAULT,
  CATALOGUE_LIMIT_MAX,
  CATALOGUE_LIMIT_MIN,
  CATALOGUE_OFFSET_DEFAULT,
  CATALOGUE_OFFSET_MAX,
  CATALOGUE_OFFSET_MIN,
  FILTER_LENGTH_MAX,
} from './limits.ts'
import { AbsoluteUri, Cents, Count, Currency, closed, DateTime, nullable } from './shapes.ts'

export const itemTypes = ['decoration', 'effect', 'nameplate', 'frame', 'bundle'] as const

export type ItemType = (typeof itemTypes)[number]

export const Item = closed({
  id: Type.String(),
  name: Type.String(),
  type: Type.Enum(itemTypes, { type: 'string' }),
  collection: Type.String(),
  price_cents: Cents,
  currency: Currency,
  // Always null for a frame, whose preview is put together from layers.
  image: nullable(AbsoluteUri),
  // Always null: availability is `sellable`. The interface has the field for callers that expect a unit count.
  stock: Type.Null(),
  sellable: Type.Boolean(),
  available_until: nullable(DateTime),
})
export type Item = Static<typeof Item>

export const CataloguePage = closed({
  items: Type.Array(Item),
  /** Items on this page. */
  count: Count,
  /** Items that match, on all pages. */
  total: Count,
  limit: Count,
  offset: Count,
})
export type CataloguePage = Static<typeof CataloguePage>

/**
 * The decoded query, with numbers as numbers. The object is closed because the decoder copies only the parameters it
 * knows; unknown parameters in the URL are dropped before validation.
 */
export const CatalogueQuery = closed({
  limit: Type.Optional(
    Type.Integer({
      minimum: CATALOGUE_LIMIT_MIN,
      maximum: CATALOGUE_LIMIT_MAX,
      default: CATALOGUE_LIMIT_DEFAULT,
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: CATALOGUE_OFFSET_MIN,
      maximum: CATALOGUE_OFFSET_MAX,
      default: CATALOGUE_OFFSET_DEFAULT,
    }),
  ),
  search: Type.Optional(Type.String({ maxLength: FILTER_LENGTH_MAX })),
  category: Type.Optional(Type.String({ maxLength: FILTER_LENGTH_MAX })),
  type: Type.Optional(Type.Enum(itemTypes, { type: 'string', maxLength: FILTER_LENGTH_MAX })),
})
export type CatalogueQuery = Static<typeof CatalogueQuery>
