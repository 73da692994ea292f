import type { ItemTexts } from '../../catalogue/file/columns.ts'
import { type Imported, type ImportOptions, importCatalogue } from '../../catalogue/import.ts'
import { type ChangedOne, type ItemFacts, setItem } from '../../catalogue/item.ts'
import { objectionToPrices, PRICE_BOUNDS, type PriceBounds } from '../../catalogue/price-bounds.ts'
import {
  cancelStoreWindow,
  planStoreWindow,
  type StoreState,
  type StoreWindow,
  setStoreState,
} from '../../catalogue/store-state.ts'
import type { Act } from './act.ts'

export { PRICE_BOUNDS }

/**
 * In the details of an action whose prices changed further than the command allows without a flag; an alert asks whether it was
 * intended.
 */
export const BEYOND_BOUNDS = { prices_beyond_bounds: true } as const

/** What an operator may change about what is for sale, and about whether the store takes orders. */
export function catalogueActions(act: Act) {
  return {
    importCatalogue: (
      items: ReadonlyMap<string, ItemFacts>,
      source: string,
      options: ImportOptions,
    ): Promise<Imported> =>
      act('catalogue.import', async (tx, nowMs) => {
        const result = await importCatalogue(tx, items, options, nowMs)
        const { added, changed, taken_from_sale, back_on_sale, unchanged, items_before } = result.difference
        return {
          result,
          target: 'catalogue',
          details: {
            source,
            is_partial: options.isPartial,
            revision: result.revision,
            added: added.length,
            changed: changed.length,
            taken_from_sale: taken_from_sale.length,
            back_on_sale: back_on_sale.length,
            unchanged,
            ...(objectionToPrices(changed, PRICE_BOUNDS, items_before) && BEYOND_BOUNDS),
          },
        }
      }),

    setItem: (
      item_id: string,
      wanted: ItemTexts,
      prices?: Pick<PriceBounds, 'factorMax'>,
    ): Promise<ChangedOne> =>
      act('catalogue.set', async (tx, nowMs) => {
        const result = await setItem(tx, item_id, wanted, nowMs, prices)
        const { changes, revision, item } = result
        const isFar = objectionToPrices([{ ...item, changes }], PRICE_BOUNDS) !== undefined
        return { result, target: item_id, details: { changes, revision, ...(isFar && BEYOND_BOUNDS) } }
      }),

    setStore: (is_open: boolean, reason: string | null): Promise<StoreState> =>
      act(is_open ? 'store.open' : 'store.close', async (tx, nowMs) => {
        const result = await setStoreState(tx, is_open, reason, new Date(nowMs))
        return { result, target: 'store', details: { reason } }
      }),

    planWindow: (window: Omit<StoreWindow, 'id'>): Promise<StoreWindow> =>
      act('store.plan', async (tx, nowMs) => {
        const result = await planStoreWindow(tx, window, nowMs)
        return { result, target: 'store', details: { ...result } }
      }),

    cancelWindow: (id: string): Promise<StoreWindow> =>
      act('store.cancel_window', async (tx, nowMs) => {
        const result = await cancelStoreWindow(tx, id, nowMs)
        return { result, target: 'store', details: { id } }
      }),
  }
}
