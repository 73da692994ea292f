import { findOrder } from '../orders/find-order.ts'
import { lockOrder } from '../orders/queries.ts'
import { retryOrder, wakeOrdersOf } from '../orders/waiting.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Keyring } from '../platform/encryption.ts'
import { refuse } from '../platform/trouble.ts'
import { checkLink, type LinkVault } from '../supply/gift-link.ts'
import { type Choice, chooseSource } from '../supply/item-supply.ts'
import { examinePool, type Loaded, loadPool, type PoolChange, preparePool, setAside } from '../supply/pool.ts'
import { giveUpRequests, type ItemSupply, requestId } from '../supply/queries.ts'
import { createSupplier, pauseSupplier, type Supplier } from '../supply/suppliers.ts'
import type { Act } from './act.ts'

export { SUPPLIER_TIMEOUT_MS_DEFAULT } from '../supply/suppliers.ts'

/** What an operator may do to pools, suppliers and the source of an item's links. */
export function supplyActions(db: Db, keyring: Keyring, vault: LinkVault, clock: Clock, act: Act) {
  return {
    async loadPool(
      item_id: string,
      links: readonly string[],
      progress?: (done: number) => void,
    ): Promise<Loaded> {
      const checked = links.map((link, n) => checkLink(link, `Line ${n + 1}`))
      await vault.open()
      const rows = await preparePool(vault, item_id, checked, clock.nowMs(), progress)
      return act('pool.load', async (tx, nowMs) => {
        const result = await loadPool(tx, item_id, rows, nowMs)
        await wakeOrdersOf(tx, [item_id])
        return { result, target: item_id, details: { loaded: result.loaded, known: result.known.length } }
      })
    },

    /** Puts back on sale what was set aside and can be decrypted again. */
    async restorePool(item_id: string): Promise<PoolChange & { still_unreadable: number }> {
      const { readable, unreadable } = await examinePool(db, vault, item_id, true)
      return act('pool.restore', async (tx, nowMs) => {
        const change = await setAside(tx, item_id, readable, false, nowMs)
        await wakeOrdersOf(tx, [item_id])
        const result = { ...change, still_unreadable: unreadable.length }
        return { result, target: item_id, details: { restored: change.changed } }
      })
    },

    /** Sets every link of a pool aside that cannot be decrypted, however many there are. */
    async checkPool(item_id: string): Promise<PoolChange & { readable: number }> {
      const { readable, unreadable } = await examinePool(db, vault, item_id, false)
      return act('pool.check', async (tx, nowMs) => {
        const change = await setAside(tx, item_id, unreadable, true, nowMs)
        await wakeOrdersOf(tx, [item_id])
        const result = { ...change, readable: readable.length }
        return { result, target: item_id, details: { set_aside: change.changed } }
      })
    },

    chooseSource: (item_id: string, choice: Choice): Promise<ItemSupply> =>
      act('supply.set', async (tx, nowMs) => {
        const result = await chooseSource(tx, item_id, choice, nowMs)
        await wakeOrdersOf(tx, [item_id])
        return { result, target: item_id, details: { ...choice } }
      }),

    createSupplier: (wanted: {
      name: string
      url: string
      timeout_ms: number
      allowHttp: boolean
    }): Promise<{ supplier: Supplier; secret: string }> =>
      act('supplier.create', async (tx, nowMs) => {
        const result = await createSupplier(tx, keyring, wanted, nowMs)
        return { result, target: wanted.name, details: { url: result.supplier.url } }
      }),

    pauseSupplier: (name: string, is_paused: boolean): Promise<Supplier> =>
      act(is_paused ? 'supplier.pause' : 'supplier.resume', async (tx) => ({
        result: await pauseSupplier(tx, name, is_paused),
        target: name,
      })),

    /** Ends a line's open requests: their suppliers are not waited for any more, and others may be asked. */
    giveUpRequests: (order_id: string, line: number) =>
      act('supplier.give_up', async (tx) => {
        const { account_id } = await findOrder(tx, order_id)
        await lockOrder(tx, account_id, order_id)
        const given = await giveUpRequests(tx, account_id, order_id, line)
        if (given.length === 0) {
          throw refuse(
            'not_found',
            `Order ${order_id} has no open request for line ${line}. "suppliers unsettled" lists all there are.`,
          )
        }
        await retryOrder(tx, account_id, order_id)
        const result = given.map((request) => ({
          id: requestId(request),
          supplier: request.supplier,
          qty: request.qty,
        }))
        return { result, target: order_id, details: { account_id, line, requests: result } }
      }),
  }
}
