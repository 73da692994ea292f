import type { Queryable, Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'
import type { ItemTexts } from './file/columns.ts'
import { readItem, textsOf } from './file/item-facts.ts'
import { objectionToPrices, type PriceBounds } from './price-bounds.ts'
import {
  type ItemFacts,
  type ItemFilter,
  type ItemRow,
  lockCatalogue,
  nextRevision,
  selectItem,
  selectItemsAfter,
  selectRevision,
  upsertItems,
} from './queries.ts'

export { type ItemFacts, type ItemRow, selectRevision as readRevision } from './queries.ts'

export interface FieldChange {
  readonly field: keyof ItemFacts
  readonly old: unknown
  readonly new: unknown
}

export interface ChangedOne {
  readonly item: ItemRow
  /** Empty when nothing changed. */
  readonly changes: FieldChange[]
  /** The catalogue's current revision. */
  readonly revision: number
}

/** In text order of the ids. `after` continues a list: the last id of the previous page. */
export function listItems(db: Queryable, filter: ItemFilter, limit: number, after = ''): Promise<ItemRow[]> {
  return selectItemsAfter(db, filter, after, limit)
}

const BATCH = 10_000

/** All items, in batches: a statement has a time limit of seconds. */
export async function* everyItem(db: Queryable): AsyncGenerator<ItemRow[]> {
  for (let after = ''; ; ) {
    const batch = await selectItemsAfter(db, {}, after, BATCH)
    if (batch.length > 0) yield batch
    const last = batch.at(-1)
    if (!last || batch.length < BATCH) return
    after = last.id
  }
}

/** The item and the reasons why it cannot be bought at this moment; no reasons means that it can. */
export async function showItem(db: Queryable, id: string): Promise<{ item: ItemRow; obstacles: string[] }> {
  const item = await getItem(db, id)
  const { now } = await selectRevision(db)
  return { item, obstacles: obstaclesTo(item, now) }
}

/** Takes the new values in the form of a catalogue file, so that the same rules apply to both. */
export async function setItem(
  tx: Tx,
  id: string,
  wanted: ItemTexts,
  nowMs: number,
  prices?: Pick<PriceBounds, 'factorMax'>,
): Promise<ChangedOne> {
  const before = await lockCatalogue(tx)
  const old = await getItem(tx, id)
  const facts = readItem({ ...textsOf(old), ...wanted, id })
  const changes = changesBetween(old, facts)
  const objection = prices && objectionToPrices([{ id, name: old.name, changes }], prices)
  if (objection) throw refuse('invalid_request', objection)
  const item = { ...facts, has_supply: old.has_supply }
  if (changes.length === 0) return { item, changes, revision: before.revision }
  const { revision } = await nextRevision(tx, new Date(nowMs))
  await upsertItems(tx, [facts], revision)
  return { item, changes, revision }
}

export function changesBetween(old: ItemFacts, item: ItemFacts): FieldChange[] {
  return FIELDS.filter((field) => comparable(old[field]) !== comparable(item[field])).map((field) => ({
    field,
    old: old[field],
    new: item[field],
  }))
}

const FIELDS = [
  'name',
  'type',
  'collection',
  'price_cents',
  'image',
  'available_until',
  'is_for_sale',
] as const satisfies (keyof ItemFacts)[]

function comparable(value: string | number | boolean | Date | null) {
  return value instanceof Date ? value.getTime() : value
}

export async function getItem(db: Queryable, id: string): Promise<ItemRow> {
  const item = await selectItem(db, id)
  if (!item) throw refuse('not_found', `There is no item ${id}. To find it: shopwire-admin catalogue list`)
  return item
}

function obstaclesTo({ is_for_sale, has_supply, available_until }: ItemRow, now: Date): string[] {
  return [
    ...(is_for_sale ? [] : ['not for sale']),
    ...(has_supply ? [] : ['no supply']),
    ...(available_until && available_until <= now ? [`sale ended ${available_until.toISOString()}`] : []),
  ]
}
