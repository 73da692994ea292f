import { selectItem } from '../catalogue/queries.ts'
import { markSupply } from '../catalogue/supply-mark.ts'
import type { Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'
import {
  ensureItemSupply,
  type ItemSupply,
  type LockedSupply,
  lockItemSupply,
  type Source,
  updateItemSupply,
} from './queries.ts'
import { type OpenAt, selectOpenOfItem } from './request-queries.ts'
import { markSourceChanged } from './restocked.ts'
import { getSupplier } from './suppliers.ts'

/** Where an item's links are to come from; omitted members stay unchanged. */
export interface Choice {
  readonly source?: Source | undefined
  readonly supplier?: string | undefined
  readonly fallback?: string | null | undefined
  readonly sku?: string | null | undefined
  readonly warn_below?: number | undefined
  /** What one link costs at the supplier, and at the fallback. */
  readonly cost_cents?: number | undefined
  readonly fallback_cost_cents?: number | undefined
}

/** An item's source after a change, with the requests that its orders made before and that have no final answer. */
export interface Chosen extends ItemSupply {
  /** They are settled first, with their own suppliers; until then no new requests are made for their lines. */
  readonly open_requests: readonly OpenAt[]
}

export async function chooseSource(tx: Tx, item_id: string, choice: Choice, nowMs: number): Promise<Chosen> {
  if (!(await selectItem(tx, item_id))) throw refuse('not_found', `There is no item ${item_id}.`)
  await ensureItemSupply(tx, item_id, 'hand')
  const [before] = (await lockItemSupply(tx, [item_id])) as [LockedSupply]
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
  const cost_cents = choice.cost_cents ?? costAt(before, supplier)
  const fallback_cost_cents = choice.fallback_cost_cents ?? costAt(before, fallback)
  for (const [name, cost, option] of [
    [supplier, cost_cents, '--cost'],
    [fallback, fallback_cost_cents, '--fallback-cost'],
  ] as const) {
    if (name === null) continue
    const { hourly_limit_cents } = await getSupplier(tx, name)
    if (hourly_limit_cents !== null && cost === null) {
      throw refuse(
        'invalid_request',
        `Supplier "${name}" has an hourly limit, so the cost of a link has to be known: give ${option} <cents>.`,
      )
    }
  }
  const after = await updateItemSupply(tx, {
    item_id,
    source,
    supplier,
    fallback,
    sku: choice.sku === undefined ? before.sku : choice.sku,
    warn_below: choice.warn_below ?? before.warn_below,
    cost_cents: supplier === null ? null : cost_cents,
    fallback_cost_cents: fallback === null ? null : fallback_cost_cents,
  })
  await markSourceChanged(tx, item_id)
  await markSupply(tx, item_id, source !== 'pool' || after.pool_left > 0, nowMs)
  return { ...after, open_requests: await selectOpenOfItem(tx, item_id) }
}

/** A cost stays with its supplier, also when first and fallback change places. */
function costAt({ supplier, fallback, cost_cents, fallback_cost_cents }: ItemSupply, name: string | null) {
  if (name === null) return null
  if (name === supplier) return cost_cents
  return name === fallback ? fallback_cost_cents : null
}
