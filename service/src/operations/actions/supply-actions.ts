import { setTimeout as sleep } from 'node:timers/promises'
import { wakeRetrying } from '../../orders/fulfilment/waiting-lines.ts'
import type { Clock } from '../../platform/clock.ts'
import { type Db, isRolledBack } from '../../platform/database/db.ts'
import { Unavailable } from '../../platform/trouble.ts'
import { checkLink, type LinkVault } from '../../supply/gift-link.ts'
import { type Choice, type Chosen, chooseSource } from '../../supply/item-supply.ts'
import {
  examinePool,
  type Loaded,
  loadPool,
  type PoolChange,
  preparePool,
  setAside,
  type Withdrawn,
  withdraw,
} from '../../supply/pool.ts'
import { type Found, findLink } from '../find.ts'
import type { Act } from './act.ts'

/** Links of one transaction. Smaller ones wait for their turn among the item's deliveries more often than they gain. */
const LOAD_PART = 10_000
/** On a busy machine a part may wait longer than the database lets it: for its turn, or for its own statement. */
const PART_TRIES = 4
const PART_PAUSE_MS = 500

/** What an operator may do to pools and to the source of an item's links. */
export function supplyActions(db: Db, vault: LinkVault, clock: Clock, act: Act) {
  return {
    /**
     * In parts, each a transaction with its audit row: a transaction of minutes would exceed the timeout on a busy machine, and
     * deliveries of the item wait for it. When it is interrupted and repeated, it skips the links it has already loaded. Reports
     * what is committed.
     */
    async loadPool(
      item_id: string,
      links: readonly string[],
      progress?: (committed: number) => void,
    ): Promise<Loaded> {
      const checked = links.map((link, n) => checkLink(link, `Line ${n + 1}`))
      await vault.open()
      let [loaded, pool_left] = [0, 0]
      const known: number[] = []
      for (let from = 0; from < checked.length; from += LOAD_PART) {
        const part = checked.slice(from, from + LOAD_PART)
        // Sealed before the transaction, because deliveries of this item wait for it.
        const rows = await preparePool(vault, item_id, part, clock.nowMs())
        const done = await again(() =>
          act('pool.load', async (tx, nowMs) => {
            const result = await loadPool(tx, item_id, rows, nowMs)
            return { result, target: item_id, details: { loaded: result.loaded, known: result.known.length } }
          }),
        )
        loaded += done.loaded
        pool_left = done.pool_left
        known.push(...done.known.map((position) => from + position))
        progress?.(from + part.length)
      }
      return { loaded, known, pool_left }
    },

    /** Puts links back on sale that were set aside and can be decrypted again. */
    async restorePool(
      item_id: string,
      progress?: (examined: number) => void,
    ): Promise<PoolChange & { still_unreadable: number; sold: number }> {
      const { readable, unreadable } = await examinePool(db, vault, item_id, true, progress)
      return act('pool.restore', async (tx, nowMs) => {
        const change = await setAside(tx, item_id, readable, false, nowMs)
        await wakeRetrying(tx, item_id)
        // Links that were sold in a time lost by a restore stay set aside.
        const sold = readable.length - change.changed
        const result = { ...change, still_unreadable: unreadable.length, sold }
        return { result, target: item_id, details: { restored: change.changed } }
      })
    },

    /** Sets aside every link of a pool that cannot be decrypted, however many there are. */
    async checkPool(
      item_id: string,
      progress?: (examined: number) => void,
    ): Promise<PoolChange & { readable: number }> {
      const { readable, unreadable } = await examinePool(db, vault, item_id, false, progress)
      return act('pool.check', async (tx, nowMs) => {
        const change = await setAside(tx, item_id, unreadable, true, nowMs)
        await wakeRetrying(tx, item_id)
        const result = { ...change, readable: readable.length }
        return { result, target: item_id, details: { set_aside: change.changed } }
      })
    },

    /** Takes links off sale that must not be sold, such as leaked ones, and reports where the others are. */
    async withdrawLinks(item_id: string, links: readonly string[], reason: string): Promise<Withdrawn> {
      const checked = links.map((link, n) => checkLink(link, `Line ${n + 1}`))
      await vault.open()
      const unique = new Set(checked.map((link) => vault.fingerprint(link).toString('hex')))
      const hashes = [...unique].map((hash) => Buffer.from(hash, 'hex'))
      return act('pool.withdraw', async (tx, nowMs) => {
        const result = await withdraw(tx, item_id, hashes, nowMs)
        const details = { withdrawn: result.changed, sold_to: result.sold_to, reason }
        return { result, target: item_id, details }
      })
    },

    /** Where a link is. The link is only fingerprinted: no part of it is stored or printed. */
    async findLink(link: string): Promise<Found[]> {
      const checked = checkLink(link, 'What was given')
      await vault.open()
      return findLink(db, vault.fingerprint(checked))
    },

    chooseSource: (item_id: string, choice: Choice): Promise<Chosen> =>
      act('supply.set', async (tx, nowMs) => {
        const result = await chooseSource(tx, item_id, choice, nowMs)
        return { result, target: item_id, details: { ...choice } }
      }),
  }
}

/** Only what certainly had no effect: the command reports how many links it has loaded. */
async function again<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable && isRolledBack(error)) || tries === PART_TRIES) throw error
      await sleep(PART_PAUSE_MS * tries)
    }
  }
}
