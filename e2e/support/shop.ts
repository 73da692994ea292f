import { randomBytes, randomInt } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkInvariants, Journal } from '@shopwire/proof/invariants'
import { expect } from 'vitest'
import { type Buyer, createBuyer } from './buyer.ts'
import type { System } from './system.ts'

/** Goods, stock and customers of one system, arranged with the admin command; and a journal of all that was sent. */
export interface Shop {
  /** One item for each price, delivered by hand as long as it has no stock. Answers with their ids. */
  sell(...pricesCents: number[]): Promise<string[]>
  /** Loads fresh links into the pool of an item. */
  stock(item_id: string, count: number): Promise<void>
  /** An account with exactly so much money, and a key of it. */
  openBuyer(balanceCents: number): Promise<Buyer>
  revokeKey(buyer: Buyer): Promise<void>
  /** A file that is gone with the shop, such as a list of links. */
  writeLines(lines: readonly string[]): Promise<string>
  /** Holds the database against the journal: nothing lost, nothing twice, every cent accounted for. */
  expectCleanBooks(): Promise<void>
  close(): Promise<void>
}

/** Races would spend their time waiting: these systems are set to let a caller do as much as it likes. */
export const LIMITLESS = 1_000_000
export const limitless = {
  SHOPWIRE_REQUESTS_PER_MINUTE: String(LIMITLESS),
  SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: String(LIMITLESS),
}

export async function openShop(system: System): Promise<Shop> {
  const journal = new Journal({ requestsMax: LIMITLESS, ordersMax: LIMITLESS })
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-shop-'))
  const write = async (content: string) => {
    const path = join(folder, randomBytes(8).toString('hex'))
    await writeFile(path, content)
    return path
  }
  const writeLines = (lines: readonly string[]) => write(lines.map((line) => `${line}\n`).join(''))
  return {
    writeLines,
    async sell(...pricesCents) {
      const items = pricesCents.map((price_cents) => ({
        id: newItemId(),
        name: `Thing for ${price_cents}`,
        type: 'decoration',
        collection: 'E2E',
        price_cents,
      }))
      await system.admin('catalogue', 'import', await write(JSON.stringify(items)), '--partial', '--yes')
      return items.map(({ id }) => id)
    },
    async stock(item_id, count) {
      await system.admin('pool', 'load', item_id, await writeLines(newLinks(count)))
    },
    async openBuyer(balanceCents) {
      const { account_id, key } = await system.createAccount()
      if (balanceCents > 0) {
        const dollars = (balanceCents / 100).toFixed(2)
        await system.admin('accounts', 'fund', account_id, dollars, '--reference', `e2e-${account_id}`)
      }
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

export function newLinks(count: number): string[] {
  return Array.from({ length: count }, () => `https://gift.example/${randomBytes(12).toString('hex')}`)
}

function newItemId(): string {
  return `1${String(randomInt(10 ** 9)).padStart(9, '0')}${String(randomInt(10 ** 8)).padStart(8, '0')}`
}
