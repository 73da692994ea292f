import { setTimeout as sleep } from 'node:timers/promises'
import type { LiveCatalogue } from '../src/catalogue/live-catalogue.ts'
import { type ItemFacts, nextRevision, upsertItems } from '../src/catalogue/queries.ts'
import type { Db } from '../src/platform/database/db.ts'

/** An item for sale at a dollar, with the given facts changed. */
export function itemOf(id: string, facts: Partial<ItemFacts> = {}): ItemFacts {
  return {
    id,
    name: `Item ${id}`,
    type: 'decoration',
    collection: 'Basics',
    price_cents: 100,
    image: null,
    is_for_sale: true,
    available_until: null,
    ...facts,
  }
}

/** Stores items and returns the new revision. */
export function putItems(db: Db, items: readonly ItemFacts[]): Promise<number> {
  return db.transaction(async (tx) => {
    const { revision } = await nextRevision(tx, new Date())
    await upsertItems(tx, items, revision)
    return revision
  })
}

export async function untilFollowed(catalogue: LiveCatalogue, revision: number): Promise<void> {
  while (catalogue.snapshot.revision < revision) await sleep(10)
}
