import { selectItem } from '../catalogue/queries.ts'
import { markSupply } from '../catalogue/supply-mark.ts'
import type { Queryable, Tx } from '../platform/database/db.ts'
import { KekMissing } from '../platform/encryption/encryption.ts'
import { newId } from '../platform/text/ids.ts'
import { refuse } from '../platform/trouble.ts'
import type { LinkVault, PoolPlace } from './gift-link.ts'
import {
  changePoolLeft,
  ensureItemSupply,
  insertPoolLinks,
  insertSetAside,
  type LockedSupply,
  lockItemSupply,
  type PoolLinkRow,
  type SealedPoolLink,
  selectPoolLinks,
  selectWhereabouts,
  selectWronglyMarked,
  takePoolLinks,
  updateSetAside,
} from './queries.ts'
import { recordLinks } from './record-links.ts'
import { markRestocked } from './restocked.ts'

const BATCH = 1_000
const POSITION_DIGITS = 7

export interface Loaded {
  readonly loaded: number
  /** Positions, from 1, of links that this store has held before or that are duplicates within the list. */
  readonly known: readonly number[]
  readonly pool_left: number
}

/** Seals links before the transaction: sealing is slow, and orders wait for the lock. */
export async function preparePool(
  vault: LinkVault,
  item_id: string,
  links: readonly string[],
  nowMs: number,
): Promise<PoolLinkRow[]> {
  // Sold in the order they were loaded: by load, then by position in it.
  const load = newId('pl', nowMs)
  const rows: PoolLinkRow[] = []
  for (const [n, link] of links.entries()) {
    const place = { item_id, id: `${load}-${String(n).padStart(POSITION_DIGITS, '0')}` }
    rows.push({ ...place, ...(await vault.sealForPool(link, place)) })
  }
  return rows
}

/** Adds links to an item's pool. Links that this store has ever held are left out. */
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
  const isNew = await recordLinks(
    tx,
    rows.map(({ link_hash }) => link_hash),
    nowMs,
  )
  const fresh = rows.filter((_, n) => isNew[n])
  let forSale = 0
  for (let from = 0; from < fresh.length; from += BATCH)
    forSale += (await insertPoolLinks(tx, fresh.slice(from, from + BATCH), new Date(nowMs))).for_sale
  const { pool_left } = await changePoolLeft(tx, item_id, forSale)
  await markRestocked(tx, [item_id])
  await markPools(tx, [item_id], nowMs)
  const known = isNew.flatMap((wasNew, n) => (wasNew ? [] : [n + 1]))
  return { loaded: fresh.length, known, pool_left }
}

/** Returns links of a cancelled order, or surplus ones, to the pool. They are on record already. The supply row must be locked. */
export async function returnToPool(
  tx: Tx,
  vault: LinkVault,
  item_id: string,
  links: readonly string[],
  nowMs: number,
): Promise<void> {
  if (links.length === 0) return
  const rows = await preparePool(vault, item_id, links, nowMs)
  const { for_sale } = await insertPoolLinks(tx, rows, new Date(nowMs))
  await changePoolLeft(tx, item_id, for_sale)
  await markRestocked(tx, [item_id])
}

export interface Taken {
  readonly links: readonly string[]
  /** Links that could not be decrypted and are no longer for sale. */
  readonly setAside: readonly PoolPlace[]
  /** Whether this brought the pool below its warning level. */
  readonly isLow: boolean
  readonly pool_left: number
}

/** Up to this many unreadable links in a row are set aside. More mean that the key is wrong, and good links would be set aside. */
const UNREADABLE_IN_A_ROW_MAX = 3

/** A pool that cannot be decrypted. Nothing was taken or set aside: the links may be intact and the key wrong. */
export class PoolUnreadable extends Error {
  override readonly name = 'PoolUnreadable'
  readonly item_id: string
  constructor(item_id: string, why: string) {
    super(
      `the pool of item ${item_id} cannot be decrypted: ${why}; check SHOPWIRE_ENCRYPTION_KEYS. If the links are damaged, ` +
        `"shopwire-admin pool check ${item_id}" sets all such links aside`,
    )
    this.item_id = item_id
  }
}

/** Takes up to `wanted` links of an item whose supply row is locked. Links that cannot be decrypted are set aside and skipped. */
export async function takeFromPool(
  tx: Tx,
  vault: LinkVault,
  supply: LockedSupply,
  wanted: number,
  nowMs: number,
): Promise<Taken> {
  const { item_id, warn_below, pool_left } = supply
  let { pool_from } = supply
  if (pool_left === 0) return { links: [], setAside: [], isLow: false, pool_left }
  const links: string[] = []
  const setAside: PoolPlace[] = []
  let inARow = 0
  for (;;) {
    const lacking = Math.min(wanted, pool_left - setAside.length) - links.length
    const rows = await takePoolLinks(tx, item_id, pool_from, lacking)
    // A worker of another release may have added links without saying so.
    if (rows.length < lacking && pool_from !== '')
      rows.push(...(await takePoolLinks(tx, item_id, '', lacking - rows.length)))
    rows.sort((a, b) => (a.id < b.id ? -1 : 1))
    pool_from = rows.at(-1)?.id ?? pool_from
    const opened = await Promise.all(rows.map((row) => openOrUndefined(vault, row)))
    const unreadable = rows.filter((_, n) => opened[n] === undefined)
    links.push(...opened.filter((link) => link !== undefined))
    setAside.push(...unreadable.map(({ id }) => ({ item_id, id })))
    for (const link of opened) {
      inARow = link === undefined ? inARow + 1 : 0
      if (inARow > UNREADABLE_IN_A_ROW_MAX)
        throw new PoolUnreadable(item_id, `${inARow} links in a row do not open`)
    }
    for (const row of unreadable) await insertSetAside(tx, row, new Date(nowMs))
    if (unreadable.length === 0) break
  }
  const { pool_left: left } = await changePoolLeft(tx, item_id, -(links.length + setAside.length), pool_from)
  return { links, setAside, isLow: pool_left >= warn_below && left < warn_below, pool_left: left }
}

/**
 * Which links of a pool can be decrypted, of those for sale or of those set aside. Call it outside transactions: a large pool
 * takes a while, and orders wait for the lock.
 */
export async function examinePool(
  db: Queryable,
  vault: LinkVault,
  item_id: string,
  isSetAside: boolean,
  progress?: (examined: number) => void,
): Promise<{ readable: string[]; unreadable: string[] }> {
  const found: { readable: string[]; unreadable: string[] } = { readable: [], unreadable: [] }
  for (let after = ''; ; ) {
    const rows = await selectPoolLinks(db, { item_id, id: after }, isSetAside, BATCH)
    for (const row of rows) {
      const isReadable = (await openOrUndefined(vault, row)) !== undefined
      found[isReadable ? 'readable' : 'unreadable'].push(row.id)
    }
    progress?.(found.readable.length + found.unreadable.length)
    const last = rows.at(-1)
    if (!last || rows.length < BATCH) return found
    after = last.id
  }
}

export interface PoolChange {
  readonly changed: number
  readonly pool_left: number
}

/** Takes links off sale until an operator has checked them, or puts them back. */
export async function setAside(
  tx: Tx,
  item_id: string,
  ids: readonly string[],
  isSetAside: boolean,
  nowMs: number,
): Promise<PoolChange> {
  const [supply] = await lockItemSupply(tx, [item_id])
  if (!supply) throw refuse('not_found', `Item ${item_id} has no pool.`)
  const changed = await updateSetAside(tx, item_id, ids, isSetAside ? new Date(nowMs) : null)
  const { pool_left } = await changePoolLeft(tx, item_id, isSetAside ? -changed : changed)
  await markRestocked(tx, [item_id])
  await markPools(tx, [item_id], nowMs)
  return { changed, pool_left }
}

export interface Withdrawn extends PoolChange {
  /** That have some of the links. */
  readonly sold_to: readonly string[]
  /** Neither in the pool of this item nor sold. */
  readonly unknown: number
}

/** Takes these links off sale, such as links that leaked. */
export async function withdraw(
  tx: Tx,
  item_id: string,
  hashes: readonly Buffer[],
  nowMs: number,
): Promise<Withdrawn> {
  await lockItemSupply(tx, [item_id])
  const { ids, order_ids, sold } = await selectWhereabouts(tx, item_id, hashes)
  const change = await setAside(tx, item_id, ids, true, nowMs)
  return { ...change, sold_to: order_ids, unknown: hashes.length - ids.length - sold }
}

async function openOrUndefined(vault: LinkVault, row: SealedPoolLink): Promise<string | undefined> {
  try {
    return await vault.openFromPool(row.link_sealed, row)
  } catch (error) {
    // The row names the same key as the sealed bytes, so the key is missing in the configuration.
    if (error instanceof KekMissing && error.kekId === row.link_kek_id)
      throw new PoolUnreadable(row.item_id, `encryption key "${error.kekId}" is not configured`)
    return undefined
  }
}

/**
 * Marks items with an empty pool as unavailable in the same commit. Call it after all changes of pools: it locks the catalogue's
 * revision, for which every store-wide change waits.
 */
export async function markPools(tx: Tx, item_ids: readonly string[], nowMs: number): Promise<void> {
  if (item_ids.length === 0) return
  for (const { item_id, has_supply } of await selectWronglyMarked(tx, item_ids))
    await markSupply(tx, item_id, has_supply, nowMs)
}
