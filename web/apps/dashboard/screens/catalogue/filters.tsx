import { choiceFilter, type Filter } from '#kit/components/lists/filter-bar.tsx'
import { amountFilter } from '#kit/components/lists/range-filters.tsx'
import { formatCount } from '#lib/money.ts'
import type { Reply } from '../../api/client.ts'
import { catalogue } from '../../strings/catalogue.ts'

const { filters, types } = catalogue
/** More would be a list to search in, not one to choose from. */
const COLLECTIONS_MAX = 30

export function filtersOf(summary: Reply<'catalogueSummary'> | undefined): readonly Filter[] {
  return [
    choiceFilter(
      filters.type,
      'type',
      (summary?.types ?? []).map(({ type, items }) => [type, `${types[type]} (${formatCount(items)})`]),
    ),
    choiceFilter(
      filters.collection,
      'collection',
      (summary?.collections ?? [])
        .slice(0, COLLECTIONS_MAX)
        .map(({ name, items }) => [name, `${name} (${formatCount(items)})`]),
    ),
    choiceFilter(filters.sellable, 'sellable', filters.sellables),
    amountFilter(filters.price, ['least', 'most']),
  ]
}
