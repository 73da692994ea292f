import { selectItem } from '../catalogue/queries.ts'
import { markSupply } from '../catalogue/supply-mark.ts'
import type { Tx } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'
import { refuse } from '../platform/trouble.ts'
import type { LinkVault } from './gift-link.ts'
import {
  addToPoolLeft,
  ensureItemSupply,
  type ItemSupply,
  insertFingerprints,
  insertPoolLinks,
  lockItemSupply,
  type PoolLinkRow,
  takePoolLinks,
} from './queries.ts'

const INSERT_BATCH = 1_000

export interface Loaded {
  readonly loaded: number
  /** Positions, from 1, of links this store has held before or that stood in the list twice. */
  readonly known: readonly number[]
  readonly pool_left: number
}

/** Puts links where orders of the item are filled from. A link this store has ever held is left out. */
export async function loadPool(
  tx: Tx,
  vault: LinkVault,
  item_id: string,
  links: readonly string[],
  nowMs: number,
  progress?: (done: number) => void,
): Promise<Loaded> {
  if (!(await selectItem(tx, item_id)))
    throw refuse('not_found', `There is no item ${item_id}. Import it first.`)
  await ensureItemSupply(tx, item_id, 'pool')
  await lockItemSupply(tx, [item_id])
  const known: number[] = []
  for (let from = 0; from < links.length; from += INSERT_BATCH) {
    const batch = links.slice(from, from + INSERT_BATCH)
    const fresh = await withoutKnown(tx, vault, batch, nowMs)
    await putIntoPool(
      tx,
      vault,
      item_id,
      [...fresh].map((n) => batch[n] as string),
      nowMs,
    )
    for (const n of batch.keys()) if (!fresh.has(n)) known.push(from + n + 1)
    progress?.(Math.min(links.length, from + INSERT_BATCH))
  }
  const pool_left = await countChange(tx, item_id, links.length - known.length, nowMs)
  return { loaded: links.length - known.length, known, pool_left }
}

/** Links that an order gave up, or got one too many of. They are on record already. */
export async function returnToPool(
  tx: Tx,
  vault: LinkVault,
  item_id: string,
  links: readonly string[],
  nowMs: number,
): Promise<void> {
  if (links.length === 0) return
  await ensureItemSupply(tx, item_id, 'hand')
  await lockItemSupply(tx, [item_id])
  await putIntoPool(tx, vault, item_id, links, nowMs)
  await countChange(tx, item_id, links.length, nowMs)
}

export interface Taken {
  readonly links: readonly string[]
  /** Set when this taking brought the pool below its warning mark. */
  readonly isLow: boolean
  readonly pool_left: number
}

/** Up to `wanted` links of an item whose supply row is locked. */
export async function takeFromPool(
  tx: Tx,
  vault: LinkVault,
  supply: ItemSupply,
  wanted: number,
  nowMs: number,
): Promise<Taken> {
  const { item_id, warn_below, pool_left } = supply
  if (pool_left === 0) return { links: [], isLow: false, pool_left }
  const rows = await takePoolLinks(tx, item_id, wanted)
  const left = await countChange(tx, item_id, -rows.length, nowMs)
  rows.sort((a, b) => (a.id < b.id ? -1 : 1))
  const links = await Promise.all(rows.map((row) => vault.openFromPool(row.link_sealed, row)))
  return { links, isLow: pool_left >= warn_below && left < warn_below, pool_left: left }
}

/** Remembers each link; answers with the positions of those that are new. */
async function withoutKnown(
  tx: Tx,
  vault: LinkVault,
  links: readonly string[],
  nowMs: number,
): Promise<Set<number>> {
  const hashes = await Promise.all(links.map((link) => vault.fingerprint(link)))
  const inserted = await insertFingerprints(tx, hashes, new Date(nowMs))
  const unseen = new Set(inserted.map(({ hash }) => hash.toString('hex')))
  // Deleting as we go makes the second of two equal links a known one.
  return new Set([...hashes.keys()].filter((n) => unseen.delete((hashes[n] as Buffer).toString('hex'))))
}

async function putIntoPool(
  tx: Tx,
  vault: LinkVault,
  item_id: string,
  links: readonly string[],
  nowMs: number,
) {
  // Sold in the order they were loaded: by batch, then by position in it.
  const batch = newId('pl', nowMs)
  const rows: PoolLinkRow[] = await Promise.all(
    links.map(async (link, n) => {
      const place = { item_id, id: `${batch}-${String(n).padStart(4, '0')}` }
      return { ...place, ...(await vault.sealForPool(link, place)) }
    }),
  )
  if (rows.length > 0) await insertPoolLinks(tx, rows, new Date(nowMs))
}

/** An item that is filled from an empty pool cannot be bought, from the same commit on. */
async function countChange(tx: Tx, item_id: string, change: number, nowMs: number): Promise<number> {
  const { pool_left, source } = await addToPoolLeft(tx, item_id, change)
  await markSupply(tx, item_id, source !== 'pool' || pool_left > 0, nowMs)
  return pool_left
}
