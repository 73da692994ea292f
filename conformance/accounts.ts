import { setTimeout as sleep } from 'node:timers/promises'
import type { Key } from './fixtures.ts'

/** The interface allows 120 and 20 in a minute; a margin is left because the two clocks differ. */
const WINDOW_MS = 61_000
const REQUESTS_MAX = 118
const ORDERS_MAX = 19
const LOOK_EVERY_MS = 20

/** Lends accounts to checks, one check at a time each, and keeps every account under the limits of the interface. */
export class Accounts {
  readonly #buyers: readonly Key[]
  readonly #lent = new Set<string>()
  readonly #sent = new Map<string, { atMs: number; isOrder: boolean }[]>()

  constructor(buyers: readonly Key[]) {
    this.#buyers = buyers
  }

  /** The least used of those that are free. `fresh`: nothing was sent in its name for a whole window. */
  async lend(wanted: number, isFresh = false): Promise<Key[]> {
    for (;;) {
      const free = this.#buyers
        .filter(({ account }) => !this.#lent.has(account) && !(isFresh && this.#recent(account).length > 0))
        .sort((a, b) => this.#weight(a) - this.#weight(b))
      if (free.length >= wanted) {
        const keys = free.slice(0, wanted)
        for (const { account } of keys) this.#lent.add(account)
        return keys
      }
      await sleep(LOOK_EVERY_MS)
    }
  }

  giveBack(keys: readonly Key[]) {
    for (const { account } of keys) this.#lent.delete(account)
  }

  /** Waits until one more request fits into the window of its account. */
  async waitForCapacity({ account }: Key, isOrder: boolean): Promise<void> {
    for (;;) {
      const recent = this.#recent(account)
      const orders = recent.filter((one) => one.isOrder).length
      if (recent.length < REQUESTS_MAX && !(isOrder && orders >= ORDERS_MAX)) break
      await sleep(LOOK_EVERY_MS)
    }
    this.note(account, isOrder)
  }

  /** Counts a request that does not wait for its turn. */
  note(account: string, isOrder: boolean) {
    this.#sent.set(account, [...this.#recent(account), { atMs: performance.now(), isOrder }])
  }

  #weight({ account }: Key): number {
    const recent = this.#recent(account)
    return recent.length + 6 * recent.filter(({ isOrder }) => isOrder).length
  }

  #recent(account: string) {
    const since = performance.now() - WINDOW_MS
    const recent = (this.#sent.get(account) ?? []).filter(({ atMs }) => atMs > since)
    this.#sent.set(account, recent)
    return recent
  }
}
