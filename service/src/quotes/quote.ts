import { type CartItem, ORDER_TOTAL_CENTS_MAX, type Quote, type QuoteLine } from '@shopwire/contract'
import type { Queryable } from '../platform/database/db.ts'
import { type Refusal, refuse } from '../platform/trouble.ts'
import { type PricedLine, priceCart } from './price-cart.ts'

/** What the cart would cost now. Spends nothing and does not look at the balance. */
export async function quoteCart(db: Queryable, items: readonly CartItem[]): Promise<Quote> {
  const lines = await priceCart(db, items)
  const total_cents = lines
    .filter(({ status }) => status !== 'sold_out')
    .reduce((sum, { qty, unit_price_cents }) => sum + qty * (unit_price_cents ?? 0), 0)
  if (total_cents > ORDER_TOTAL_CENTS_MAX) throw totalExceeded(total_cents)
  return {
    ok: lines.every(({ status }) => status === 'ok'),
    currency: 'USD',
    total_cents,
    lines: lines.map(present),
  }
}

export function totalExceeded(total_cents: number): Refusal {
  return refuse(
    'order_total_exceeded',
    `The cart costs ${total_cents} cents; one order may cost ${ORDER_TOTAL_CENTS_MAX}. Split it into several orders.`,
  )
}

/** Only lines that count have a line total, so that the totals shown add up. */
function present({ id, qty, status, name, unit_price_cents }: PricedLine): QuoteLine {
  if (name === null || unit_price_cents === null) return { id, qty, status }
  if (status === 'sold_out') return { id, qty, status, name, unit_price_cents }
  return { id, qty, status, name, unit_price_cents, line_total_cents: qty * unit_price_cents }
}
