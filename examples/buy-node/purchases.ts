import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { CartItem } from '@shopwire/sdk'

export interface Purchase {
  /** The idempotency key: one per purchase, for ever. */
  readonly key: string
  readonly items: CartItem[]
}

/** The purchase is stored before the first attempt, so that a crash cannot make us buy it twice or lose it. */
export class Purchases {
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 5_000 })
    this.#db.exec(`
      create table if not exists purchases (
        key text primary key,
        items text not null,
        order_id text,
        outcome text
      ) strict`)
  }

  add(items: CartItem[]): Purchase {
    const key = `purchase-${randomUUID()}`
    this.#db.prepare('insert into purchases (key, items) values (?, ?)').run(key, JSON.stringify(items))
    return { key, items }
  }

  /** Unfinished purchases, to be sent again unchanged. */
  unfinished(): Purchase[] {
    const rows = this.#db.prepare('select key, items from purchases where outcome is null').all()
    return rows.map(({ key, items }) => ({ key: String(key), items: JSON.parse(String(items)) }))
  }

  bought(key: string, orderId: string) {
    this.#db.prepare('update purchases set order_id = ? where key = ?').run(orderId, key)
  }

  finish(key: string, outcome: string) {
    this.#db.prepare('update purchases set outcome = ? where key = ?').run(outcome, key)
  }
}
