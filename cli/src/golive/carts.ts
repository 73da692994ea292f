import { QTY_MAX } from '@shopwire/contract/limits'

/** A cart line as sent to the integrator's buy endpoint. */
export interface Line {
  readonly id: string
  readonly qty: number
  /** The unit price that the customer was shown. */
  readonly price_cents: number
}

export interface Priced {
  readonly id: string
  readonly price_cents: number
}

/**
 * Every purchase of a run has a different cart, so that requests and orders can be assigned to a purchase whatever
 * idempotency key they have. Small carts first.
 */
export function* distinctCarts(items: readonly Priced[]): Generator<readonly Line[], void> {
  for (let units = 1; units <= QTY_MAX; units++) {
    for (const quantities of splits(units, items.length)) {
      yield items.flatMap(({ id, price_cents }, at) => {
        const qty = quantities[at] ?? 0
        return qty > 0 ? [{ id, qty, price_cents }] : []
      })
    }
  }
}

/** Equal for equal carts, whatever the order of lines; undefined when the value is not a cart. */
export function cartKey(lines: unknown): string | undefined {
  if (!Array.isArray(lines)) return undefined
  const texts = lines.map((line: { id?: unknown; qty?: unknown } | null) => `${line?.id}×${line?.qty ?? 1}`)
  return texts.sort().join(' ')
}

/** The cart in the body of an order request, if it can be parsed. */
export function itemsIn(body: string): unknown {
  try {
    return (JSON.parse(body) as { items?: unknown } | null)?.items
  } catch {
    return undefined
  }
}

export function totalOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { qty, price_cents }) => sum + qty * price_cents, 0)
}

export function unitsOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { qty }) => sum + qty, 0)
}

/** All ways to distribute the units among that many items. */
function* splits(units: number, items: number): Generator<readonly number[], void> {
  if (items === 1) yield [units]
  else
    for (let first = units; first >= 0; first--) {
      for (const rest of splits(units - first, items - 1)) yield [first, ...rest]
    }
}
