import type { CartItem, QuoteLineStatus } from '@shopwire/contract'
import { QTY_DEFAULT } from '@shopwire/contract'
import { type Queryable, sql } from '../platform/database/db.ts'

export interface PricedLine {
  readonly id: string
  readonly qty: number
  readonly status: QuoteLineStatus
  /** Null, like the price, when the id never existed in the store. */
  readonly name: string | null
  readonly unit_price_cents: number | null
}

/** A cart in the form the database takes: one array per column, all defaults filled in. */
export interface CartColumns {
  readonly ids: readonly string[]
  readonly qtys: readonly number[]
  readonly expected: readonly (number | null)[]
}

export function cartColumns(items: readonly CartItem[]): CartColumns {
  return {
    ids: items.map(({ id }) => id),
    qtys: items.map(({ qty = QTY_DEFAULT }) => qty),
    expected: items.map(({ expected_price_cents = null }) => expected_price_cents),
  }
}

/** The current price of each line and whether it can be bought. The rule is functions/catalogue/price_cart.sql, which orders use too. */
export function priceCart(db: Queryable, items: readonly CartItem[]): Promise<PricedLine[]> {
  const { ids, qtys, expected } = cartColumns(items)
  return db.many<PricedLine>(sql`
    select id, qty, status, name, unit_price_cents
      from price_cart(${ids}, ${qtys}, ${expected})`)
}
