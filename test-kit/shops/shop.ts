import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { checkInvariants, Journal } from '../invariants/index.ts'
import { type Buyer, createBuyer } from '../people/buyer.ts'
import type { Key } from '../requests/signed-request.ts'
import { makeTemporaryFolder } from '../servers/index.ts'
import { LIMITLESS, newItem, newLinks, type System } from '../systems/index.ts'

/** Goods, stock and customers of one system without rate limits, and a journal of every request and answer. */
export interface Shop {
  readonly journal: Journal
  /** One item for each price, delivered by hand as long as it has no stock. Returns their ids. */
  sell(...pricesCents: number[]): Promise<string[]>
  /** Loads fresh links into the pool of an item. */
  stock(item_id: string, count: number): Promise<void>
  /** An account with exactly so much money, and a key of it. */
  openBuyer(balanceCents: number): Promise<Buyer>
  /** The same for an account that is there. */
  buyerOf(account_id: string, key: Key): Buyer
  revokeKey(buyer: Buyer): Promise<void>
  /** A file that is there until this process ends, such as a list of links. */
  writeLines(lines: readonly string[]): Promise<string>
  /** Checks every invariant on the database and the journal: nothing lost, nothing twice, every cent accounted for. */
  expectCleanBooks(): Promise<void>
}

export function openShop(system: System): Shop {
  const journal = new Journal({ requestsMax: LIMITLESS, ordersMax: LIMITLESS })
  let folder: Promise<string> | undefined
  const buyerOf = (account_id: string, key: Key) => createBuyer(account_id, key, journal)
  return {
    journal,
    async writeLines(lines) {
      folder ??= makeTemporaryFolder(tmpdir(), 'shop')
      const path = join(await folder, randomBytes(8).toString('hex'))
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
      return buyerOf(account_id, key)
    },
    buyerOf,
    async revokeKey({ key }) {
      await system.admin('keys', 'revoke', key.id)
      journal.revoked(key.id)
    },
    async expectCleanBooks() {
      expect(await checkInvariants(system.superuserUrl, journal)).toEqual([])
    },
  }
}
