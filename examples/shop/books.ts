import { DatabaseSync } from 'node:sqlite'
import { type CartItem, type Order, type WebhookEvent, webhooks } from '@shopwire/sdk'

export interface Purchase {
  readonly id: string
  readonly idempotencyKey: string
  readonly items: CartItem[]
}

/** The shop's database. A purchase gets its order id with the store's answer; an event may arrive earlier. */
export class Books {
  readonly #db: DatabaseSync

  constructor(file: string) {
    this.#db = new DatabaseSync(file)
    this.#db.exec(`
      create table if not exists purchases (id text primary key, idempotency_key text not null unique, items text not null,
        order_id text, refusal text);
      create table if not exists orders (id text primary key, status text not null, links text not null);
      create table if not exists events (id text primary key, order_id text);
    `)
  }

  /** Stores the idempotency key before the first attempt. A second, even simultaneous, request gets the key of the first. */
  open(id: string, items: CartItem[]): Purchase {
    this.#db
      .prepare('insert into purchases (id, idempotency_key, items) values (?, ?, ?) on conflict do nothing')
      .run(id, `purchase-${id}`, JSON.stringify(items))
    return readPurchase(this.#db.prepare('select * from purchases where id = ?').get(id))
  }

  /** Neither bought nor refused: to be retried with the same key. */
  unsettled(): Purchase[] {
    return this.#db
      .prepare('select * from purchases where order_id is null and refusal is null')
      .all()
      .map(readPurchase)
  }

  bought(purchase: Purchase, order: Order): void {
    this.#db
      .prepare('update purchases set order_id = ?, refusal = null where id = ?')
      .run(order.id, purchase.id)
    this.keep(order)
  }

  refused(purchase: Purchase, refusal: string): void {
    this.#db
      .prepare('update purchases set refusal = ? where id = ? and order_id is null')
      .run(refusal, purchase.id)
  }

  /** States arrive in any order; one that is older than the stored state is ignored. */
  keep(order: Order): void {
    const row = this.#db.prepare('select status, links from orders where id = ?').get(order.id)
    const known = row && {
      id: order.id,
      status: row.status as Order['status'],
      links: JSON.parse(String(row.links)),
    }
    if (known && !webhooks.isNewer(order, known)) return
    this.#db
      .prepare('insert or replace into orders (id, status, links) values (?, ?, ?)')
      .run(order.id, order.status, JSON.stringify(order.links))
  }

  paidOrders(): string[] {
    return this.#db
      .prepare("select id from orders where status = 'paid'")
      .all()
      .map(({ id }) => String(id))
  }

  /** The event's id and its effect are stored in one transaction: a duplicate finds the id and has no effect. */
  take(event: WebhookEvent): void {
    const order = 'order' in event.data ? event.data.order : undefined
    this.#db.exec('begin immediate')
    try {
      const { changes } = this.#db
        .prepare('insert into events (id, order_id) values (?, ?) on conflict do nothing')
        .run(event.id, order?.id ?? null)
      if (changes === 1 && order) this.keep(order)
      this.#db.exec('commit')
    } catch (error) {
      this.#db.exec('rollback')
      throw error
    }
  }

  state(id: string): { status: string; links: number; handled: number } | undefined {
    const row = this.#db
      .prepare(`
        select refusal, status, links, (select count(*) from events where events.order_id = purchases.order_id) as handled
          from purchases
          left join orders on orders.id = purchases.order_id
         where purchases.id = ?`)
      .get(id)
    if (!row) return undefined
    const status = String(row.status ?? (row.refusal ? 'failed' : 'pending'))
    return { status, links: JSON.parse(String(row.links ?? '[]')).length, handled: Number(row.handled) }
  }
}

function readPurchase(row: Record<string, unknown> | undefined): Purchase {
  if (!row) throw new Error('There is no such purchase.')
  return {
    id: String(row.id),
    idempotencyKey: String(row.idempotency_key),
    items: JSON.parse(String(row.items)) as CartItem[],
  }
}
