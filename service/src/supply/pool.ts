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
  insertPoolLinks,
  lockItemSupply,
  type PoolLinkRow,
  takePoolLinks,
} from './queries.ts'
import { rememberLinks } from './remember-links.ts'

const BATCH = 1_000
const POSITION_DIGITS = 7

export interface Loaded {
  readonly loaded: number
  /** Positions, from 1, of links this store has held before or that stood in the list twice. */
  readonly known: readonly number[]
  readonly pool_left: number
}

/** Links sealed and ready to go in. Made before the transaction: sealing takes its time, and orders wait for the lock. */
export async function preparePool(
  vault: LinkVault,
  item_id: string,
  links: readonly string[],
  nowMs: number,
  progress?: (done: number) => void,
): Promise<PoolLinkRow[]> {
  // Sold in the order they were loaded: by load, then by position in it.
  const load = newId('pl', nowMs)
  const rows: PoolLinkRow[] = []
  for (const [n, link] of links.entries()) {
    const place = { item_id, id: `${load}-${String(n).padStart(POSITION_DIGITS, '0')}` }
    rows.push({ ...place, ...(await vault.sealForPool(link, place)) })
    if (rows.length % BATCH === 0) progress?.(rows.length)
  }
  return rows
}

/** Puts links where orders of the item are filled from. A link this store has ever held is left out. */
export async function loadPool(
  tx: Tx,
  item_id: string,
  rows: readonly PoolLinkRow[],
  nowMs: number,
): Promise<Loaded> {
  if (!(await selectItem(tx, item_id)))
    throw refuse('not_found', `There is no item ${item_id}. Import it first.`)
  await ensureItemSupply(tx, item_id, 'pool')
  await lockItemSupply(tx, [item_id])
  const known: number[] = []
  for (let from = 0; from < rows.length; from += BATCH) {
    const batch = rows.slice(from, from + BATCH)
    const hashes = batch.map(({ link_hash }) => link_hash)
    const isNew = await rememberLinks(tx, hashes, nowMs)
    const fresh = batch.filter((_, n) => isNew[n])
    if (fresh.length > 0) await insertPoolLinks(tx, fresh, new Date(nowMs))
    for (const [n, wasNew] of isNew.entries()) if (!wasNew) known.push(from + n + 1)
  }
  const pool_left = await countChange(tx, item_id, rows.length - known.length, nowMs)
  return { loaded: rows.length - known.length, known, pool_left }
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
  await insertPoolLinks(tx, await preparePool(vault, item_id, links, nowMs), new Date(nowMs))
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

/** An item that is filled from an empty pool cannot be bought, from the same commit on. */
async function countChange(tx: Tx, item_id: string, change: number, nowMs: number): Promise<number> {
  const { pool_left, source } = await addToPoolLeft(tx, item_id, change)
  await markSupply(tx, item_id, source !== 'pool' || pool_left > 0, nowMs)
  return pool_left
}
