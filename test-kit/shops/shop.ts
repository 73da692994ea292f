import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { checkInvariants, Journal } from '../invariants/index.ts'
import { type Buyer, createBuyer } from '../people/buyer.ts'
import { LIMITLESS, newItem, newLinks, type System } from '../systems/index.ts'

/** Goods, stock and customers of one system without rate limits, and a journal of every request and answer. */
export interface Shop {
  /** One item for each price, delivered by hand as long as it has no stock. Returns their ids. */
  sell(...pricesCents: number[]): Promise<string[]>
  /** Loads fresh links into the pool of an item. */
  stock(item_id: string, count: number): Promise<void>
  /** An account with exactly so much money, and a key of it. */
  openBuyer(balanceCents: number): Promise<Buyer>
  revokeKey(buyer: Buyer): Promise<void>
  /** A file that close() removes, such as a list of links. */
  writeLines(lines: readonly string[]): Promise<string>
  /** Checks every invariant on the database and the journal: nothing lost, nothing twice, every cent accounted for. */
  expectCleanBooks(): Promise<void>
  close(): Promise<void>
}

export async function openShop(system: System): Promise<Shop> {
  const journal = new Journal({ requestsMax: LIMITLESS, ordersMax: LIMITLESS })
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-shop-'))
  return {
    async writeLines(lines) {
      const path = join(folder, randomBytes(8).toString('hex'))
      await writeFile(path, lines.map((line) => `${line}\n`).join(''))
      return path
    },
    async sell(...pricesCents) {
      const items = pricesCents.map(newItem)
      await system.importItems(items)
      return items.map(({ id }) => id)
    },
    stock: (item_id, count) => system.loadPool(item_id, newLinks(count)),
    async openBuyer(balanceCents) {
      const { account_id, key } = await system.createAccount({ balanceCents })
      return createBuyer(account_id, key, journal)
    },
    async revokeKey({ key }) {
      await system.admin('keys', 'revoke', key.id)
      journal.revoked(key.id)
    },
    async expectCleanBooks() {
      expect(await checkInvariants(system.superuserUrl, journal)).toEqual([])
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
