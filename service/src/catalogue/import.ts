import type { Queryable, Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'
import { changesBetween, everyItem, type FieldChange } from './item.ts'
import { objectionToPrices, type PriceBounds } from './price-bounds.ts'
import {
  type ItemFacts,
  type ItemRow,
  lockCatalogue,
  nextRevision,
  selectItemsById,
  takeFromSale,
  upsertItems,
} from './queries.ts'

export interface ImportOptions {
  /** The file is not the whole catalogue: items that it does not list stay unchanged. */
  readonly isPartial: boolean
  /** The operator has confirmed that most of the store's items are to be taken from sale. */
  readonly allowRemovals: boolean
  /** Without them prices may change by any amount. */
  readonly prices?: PriceBounds
  readonly progress?: (done: { compared: number } | { written: number; toWrite: number }) => void
}

/** The differences between a file and the store. One item can count as changed and as back on sale. */
export interface Difference {
  readonly added: ItemFacts[]
  readonly changed: ChangedItem[]
  readonly taken_from_sale: (NamedItem & { is_in_file: boolean })[]
  readonly back_on_sale: NamedItem[]
  /** Items that are the same in the file and in the store. */
  unchanged: number
  for_sale_before: number
  /** Whether for sale or not; with a partial file, those that it lists. */
  items_before: number
}

export interface NamedItem {
  readonly id: string
  readonly name: string
}

export interface ChangedItem extends NamedItem {
  readonly changes: FieldChange[]
}

export interface Imported {
  readonly difference: Difference
  /** The catalogue's current revision; unchanged when there was nothing to change. */
  readonly revision: number
}

/** Rows per statement: a statement has a time limit of seconds. */
const BATCH = 5_000

/** A truncated file must not empty the store: taking half of the items from sale, if at least this many, needs confirmation. */
const REMOVALS_MIN = 10

/** Read-only. */
export async function compareCatalogue(
  db: Queryable,
  items: ReadonlyMap<string, ItemFacts>,
  options: ImportOptions,
): Promise<Difference> {
  const { difference } = await compare(db, items, options)
  return difference
}

/**
 * Brings the store to the state of the file, in one revision or not at all. The comparison is repeated under the lock that every
 * change takes: the one shown to the operator may be minutes old.
 */
export async function importCatalogue(
  tx: Tx,
  items: ReadonlyMap<string, ItemFacts>,
  options: ImportOptions,
  nowMs: number,
): Promise<Imported> {
  const before = await lockCatalogue(tx)
  const { difference, toWrite, toTake } = await compare(tx, items, options)
  const objection = objectionTo(difference, options)
  if (objection) throw refuse('invalid_request', objection)
  const rows = toWrite.length + toTake.length
  if (rows === 0) return { difference, revision: before.revision }

  const { revision } = await nextRevision(tx, new Date(nowMs))
  let written = 0
  const report = (batch: readonly unknown[]) => {
    written += batch.length
    options.progress?.({ written, toWrite: rows })
  }
  for (const batch of batchesOf(toWrite)) {
    await upsertItems(tx, batch, revision)
    report(batch)
  }
  for (const batch of batchesOf(toTake)) {
    await takeFromSale(tx, batch, revision)
    report(batch)
  }
  return { difference, revision }
}

/** Why this import would be refused, as far as the difference shows. */
export function objectionTo(difference: Difference, options: ImportOptions): string | undefined {
  const taken = difference.taken_from_sale.length
  const isMuch = taken >= REMOVALS_MIN && taken * 2 > difference.for_sale_before
  if (options.isPartial || options.allowRemovals || !isMuch)
    return options.prices && objectionToPrices(difference.changed, options.prices, difference.items_before)
  return (
    `This would take ${taken} of the ${difference.for_sale_before} items for sale from sale; nothing was changed. ` +
    'If the file is not the whole catalogue, add --partial. If it was cut off, write it again. ' +
    'If this is intended, add --allow-removals.'
  )
}

async function compare(db: Queryable, items: ReadonlyMap<string, ItemFacts>, options: ImportOptions) {
  const difference: Difference = {
    added: [],
    changed: [],
    taken_from_sale: [],
    back_on_sale: [],
    unchanged: 0,
    for_sale_before: 0,
    items_before: 0,
  }
  const toWrite: ItemFacts[] = []
  const toTake: string[] = []
  const unseen = new Set(items.keys())
  let compared = 0
  for await (const rows of options.isPartial ? itemsById(db, items) : everyItem(db)) {
    for (const row of rows) {
      const item = items.get(row.id)
      difference.items_before += 1
      if (row.is_for_sale) difference.for_sale_before += 1
      if (item) {
        unseen.delete(row.id)
        if (noteChanges(difference, row, item)) toWrite.push(item)
      } else if (row.is_for_sale) {
        difference.taken_from_sale.push({ id: row.id, name: row.name, is_in_file: false })
        toTake.push(row.id)
      }
    }
    compared += rows.length
    options.progress?.({ compared })
  }
  for (const id of unseen) {
    const item = items.get(id) as ItemFacts
    difference.added.push(item)
    toWrite.push(item)
  }
  return { difference, toWrite, toTake }
}

/** Counts what changed; returns whether anything did. */
function noteChanges(difference: Difference, row: ItemRow, item: ItemFacts): boolean {
  const all = changesBetween(row, item)
  if (all.length === 0) {
    difference.unchanged += 1
    return false
  }
  const { id, name } = item
  const changes = all.filter(({ field }) => field !== 'is_for_sale')
  if (changes.length > 0) difference.changed.push({ id, name, changes })
  if (row.is_for_sale && !item.is_for_sale) difference.taken_from_sale.push({ id, name, is_in_file: true })
  if (!row.is_for_sale && item.is_for_sale) difference.back_on_sale.push({ id, name })
  return true
}

async function* itemsById(db: Queryable, items: ReadonlyMap<string, ItemFacts>): AsyncGenerator<ItemRow[]> {
  for (const ids of batchesOf([...items.keys()])) yield await selectItemsById(db, ids)
}

function* batchesOf<Thing>(things: readonly Thing[]): Generator<Thing[]> {
  for (let at = 0; at < things.length; at += BATCH) yield things.slice(at, at + BATCH)
}
