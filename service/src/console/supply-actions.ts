import { wakeOrdersOf } from '../orders/waiting.ts'
import type { Clock } from '../platform/clock.ts'
import type { Keyring } from '../platform/encryption.ts'
import { checkLink, type LinkVault } from '../supply/gift-link.ts'
import { type Choice, chooseSource } from '../supply/item-supply.ts'
import { type Loaded, loadPool, preparePool } from '../supply/pool.ts'
import type { ItemSupply } from '../supply/queries.ts'
import { createSupplier, pauseSupplier, type Supplier } from '../supply/suppliers.ts'
import type { Act } from './act.ts'

/** Where links come from, as an operator arranges it. */
export function supplyActions(keyring: Keyring, vault: LinkVault, clock: Clock, act: Act) {
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
  }
}
