import { selectItem } from '../catalogue/queries.ts'
import { markSupply } from '../catalogue/supply-mark.ts'
import type { Tx } from '../platform/db.ts'
import { refuse } from '../platform/trouble.ts'
import {
  ensureItemSupply,
  type ItemSupply,
  lockItemSupply,
  type Source,
  updateItemSupply,
} from './queries.ts'
import { getSupplier } from './suppliers.ts'

/** Where an item's links are to come from; omitted members stay unchanged. */
export interface Choice {
  readonly source?: Source | undefined
  readonly supplier?: string | undefined
  readonly fallback?: string | null | undefined
  readonly sku?: string | null | undefined
  readonly warn_below?: number | undefined
}

export async function chooseSource(
  tx: Tx,
  item_id: string,
  choice: Choice,
  nowMs: number,
): Promise<ItemSupply> {
  if (!(await selectItem(tx, item_id))) throw refuse('not_found', `There is no item ${item_id}.`)
  await ensureItemSupply(tx, item_id, 'hand')
  const [before] = (await lockItemSupply(tx, [item_id])) as [ItemSupply]
  const source = choice.source ?? (choice.supplier ? 'supplier' : before.source)
  const isSupplied = source === 'supplier'
  const supplier = isSupplied ? (choice.supplier ?? before.supplier) : null
  const fallback = isSupplied ? (choice.fallback === undefined ? before.fallback : choice.fallback) : null
  if (isSupplied && supplier === null) {
    throw refuse(
      'invalid_request',
      'Say which supplier: --supplier <name>. "suppliers list" shows all there are.',
    )
  }
  if (supplier !== null && supplier === fallback) {
    throw refuse('invalid_request', 'The fallback has to be another supplier than the first.')
  }
  for (const name of [supplier, fallback]) if (name !== null) await getSupplier(tx, name)
  const after = await updateItemSupply(tx, {
    item_id,
    source,
    supplier,
    fallback,
    sku: choice.sku === undefined ? before.sku : choice.sku,
    warn_below: choice.warn_below ?? before.warn_below,
  })
  await markSupply(tx, item_id, source !== 'pool' || after.pool_left > 0, nowMs)
  return after
}
