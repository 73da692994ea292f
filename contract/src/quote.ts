import Type, { type Static } from 'typebox'
import { CartItems } from './cart.ts'
import { QTY_MAX, QTY_MIN } from './limits.ts'
import { Cents, Currency, closed } from './shapes.ts'

export const quoteLineStatuses = ['ok', 'price_changed', 'sold_out'] as const

export type QuoteLineStatus = (typeof quoteLineStatuses)[number]

export const QuoteRequest = closed({ items: CartItems })
export type QuoteRequest = Static<typeof QuoteRequest>

export const QuoteLine = closed({
  id: Type.String(),
  qty: Type.Integer({ minimum: QTY_MIN, maximum: QTY_MAX }),
  status: Type.Enum(quoteLineStatuses, { type: 'string' }),
  // Absent together when the store has never known the id: there is nothing to show.
  name: Type.Optional(Type.String()),
  unit_price_cents: Type.Optional(Cents),
  // Absent from every `sold_out` line, so that the line totals add up to the total.
  line_total_cents: Type.Optional(Cents),
})
export type QuoteLine = Static<typeof QuoteLine>

export const Quote = closed({
  /** True only when every line is `ok`: the same cart would pass as an order now, the balance aside. */
  ok: Type.Boolean(),
  currency: Currency,
  /** What can be bought, at current prices: a `sold_out` line adds nothing. */
  total_cents: Cents,
  lines: Type.Array(QuoteLine),
})
export type Quote = Static<typeof Quote>
