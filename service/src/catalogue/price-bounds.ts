import { dollars } from '../platform/text/format.ts'

/** How much prices may change at once before an operator has to confirm that it is intended. */
export interface PriceBounds {
  /** One price, up or down: 3 allows $3.00 to become $9.00 or $1.00. */
  readonly factorMax: number
  /** The share of all items, from 0 to 1, whose price one import changes. */
  readonly shareMax: number
}

/** The defaults of the commands. */
export const PRICE_BOUNDS: PriceBounds = { factorMax: 3, shareMax: 0.5 }
/** In a small catalogue a few items are a large share. */
const CHANGES_MIN = 10

interface PricedChange {
  readonly id: string
  readonly name: string
  readonly changes: readonly { readonly field: string; readonly old: unknown; readonly new: unknown }[]
}

/** Why these changes of prices are refused, with the flag that allows them; undefined when they are not. */
export function objectionToPrices(
  changed: readonly PricedChange[],
  { factorMax, shareMax = 1 }: Pick<PriceBounds, 'factorMax'> & Partial<PriceBounds>,
  /** How many items there were; undefined for a change of one. */
  items?: number,
): string | undefined {
  const prices = changed.flatMap(({ id, name, changes }) =>
    changes
      .filter(({ field }) => field === 'price_cents')
      .map((change) => ({ id, name, old: Number(change.old), now: Number(change.new) })),
  )
  const worst = prices
    .map((price) => ({ ...price, factor: factorOf(price.old, price.now) }))
    .filter(({ factor }) => factor > factorMax)
    .sort((a, b) => b.factor - a.factor)
  if (worst[0]) {
    const { id, name, old, now, factor } = worst[0]
    return (
      `This would change ${worst.length === 1 ? 'a price' : `${worst.length} prices`} more than ${factorMax} times: ${id} ${name} from ` +
      `${dollars(old)} to ${dollars(now)}${worst.length === 1 ? '' : ' and others'}. Nothing was changed. ` +
      `If this is intended, add --price-factor-max ${Math.ceil(factor)}.`
    )
  }
  if (items === undefined || prices.length < CHANGES_MIN || prices.length <= items * shareMax)
    return undefined
  return (
    `This would change the prices of ${prices.length} of ${items} items. Nothing was changed. ` +
    `If this is intended, add --price-share-max ${Math.ceil((prices.length / items) * 100)}.`
  )
}

/** A price of zero counts as a cent, or every price would be infinitely far from it. */
const factorOf = (old: number, now: number) =>
  Math.max(Math.max(old, 1) / Math.max(now, 1), Math.max(now, 1) / Math.max(old, 1))
