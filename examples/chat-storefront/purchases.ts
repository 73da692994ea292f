import { DatabaseSync } from 'node:sqlite'

export interface Purchase {
  /** Our idempotency key: the chat and the message that asked for it. */
  readonly key: string
  readonly user: string
  readonly item_id: string
  readonly item_name: string
  readonly price_cents: number
  readonly state: State
  readonly order_id: string | null
}

/**
 * offered → buying → paid → handing → handed, or → refunding → refunded. `refused` and `expired` end it before
 * anything was bought. `handing` and `refunding` are claims: only the process that moves a purchase there performs
 * the action.
 */
export type State =
  | 'offered'
  | 'expired'
  | 'buying'
  | 'refused'
  | 'paid'
  | 'handing'
  | 'handed'
  | 'refunding'
  | 'refunded'

/**
 * Every step is stored before it is done, so the program can continue after a crash. Links are never stored: the
 * store has them.
 */
export class Purchases {
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 5_000 })
    this.#db.exec(`
      pragma journal_mode = wal;
      create table if not exists messages (id text primary key) strict;
      create table if not exists purchases (
        key text primary key,
        user text not null,
        item_id text not null,
        item_name text not null,
        price_cents integer not null,
        state text not null default 'offered',
        order_id text unique
      ) strict`)
  }

  /** False when this message was seen before. */
  isNew(messageId: string): boolean {
    return this.#db.prepare('insert or ignore into messages (id) values (?)').run(messageId).changes === 1
  }

  /** An offer replaces the previous one: `/yes` refers to the last price that was shown. */
  offer(purchase: Omit<Purchase, 'state' | 'order_id'>) {
    this.#db
      .prepare(`update purchases set state = 'expired' where user = ? and state = 'offered'`)
      .run(purchase.user)
    this.#db
      .prepare(`
        insert into purchases (key, user, item_id, item_name, price_cents)
        values (:key, :user, :item_id, :item_name, :price_cents)`)
      .run({ ...purchase })
  }

  /** The offer of this user, now to be bought; undefined when there is none. */
  confirm(user: string): Purchase | undefined {
    return this.#db
      .prepare(`update purchases set state = 'buying' where user = ? and state = 'offered' returning *`)
      .get(user) as Purchase | undefined
  }

  bought(key: string, orderId: string) {
    this.#db
      .prepare(`update purchases set state = 'paid', order_id = ? where key = ? and state = 'buying'`)
      .run(orderId, key)
  }

  /** True for exactly one caller. */
  move(key: string, from: State, to: State): boolean {
    const moved = this.#db
      .prepare('update purchases set state = ? where key = ? and state = ?')
      .run(to, key, from)
    return moved.changes === 1
  }

  ofOrder(orderId: string): Purchase | undefined {
    return this.#db.prepare('select * from purchases where order_id = ?').get(orderId) as Purchase | undefined
  }

  ofUser(user: string): Purchase[] {
    return this.#db
      .prepare(
        `select * from purchases where user = ? and state not in ('offered', 'expired') order by rowid`,
      )
      .all(user) as unknown as Purchase[]
  }

  inState(state: State): Purchase[] {
    return this.#db.prepare('select * from purchases where state = ?').all(state) as unknown as Purchase[]
  }
}
