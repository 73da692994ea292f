import { compareCatalogue, type ImportOptions, objectionTo } from '../../catalogue/import.ts'
import { everyItem, type ItemFacts, listItems, readRevision, showItem } from '../../catalogue/item.ts'
import { SERVED_AT_ONCE_MAX, SERVED_WITHIN_MS } from '../../catalogue/live-catalogue.ts'
import type { Db } from '../../platform/database/db.ts'

/** What is for sale. */
export function catalogueReads(db: Db) {
  return {
    /** What an import would change, and why it would be refused. */
    async compareCatalogue(items: ReadonlyMap<string, ItemFacts>, options: ImportOptions) {
      const difference = await compareCatalogue(db, items, options)
      return { difference, refused: objectionTo(difference, options) ?? null }
    },

    readRevision: async () => (await readRevision(db)).revision,

    everyItem: () => everyItem(db),

    listItems: (filter: Parameters<typeof listItems>[1], limit: number, after: string) =>
      listItems(db, filter, limit, after),

    showItem: (item_id: string) => showItem(db, item_id),
  }
}

/** How long it takes until every API process serves a change of this many items. Undefined: too long for a command to wait. */
export function servedWithinMs(changes: number): number | undefined {
  if (changes >= SERVED_AT_ONCE_MAX) return undefined
  return changes > 0 ? SERVED_WITHIN_MS : 0
}
