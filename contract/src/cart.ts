import Type, { type Static } from 'typebox'
import {
  CART_LINES_MAX,
  CART_LINES_MIN,
  EXPECTED_PRICE_CENTS_MAX,
  EXPECTED_PRICE_CENTS_MIN,
  ITEM_ID_LENGTH_MAX,
  ITEM_ID_LENGTH_MIN,
  QTY_DEFAULT,
  QTY_MAX,
  QTY_MIN,
} from './limits.ts'
import { closed } from './shapes.ts'

export const CartItem = closed({
  id: Type.String({ pattern: `^[0-9]{${ITEM_ID_LENGTH_MIN},${ITEM_ID_LENGTH_MAX}}$` }),
  qty: Type.Optional(Type.Integer({ minimum: QTY_MIN, maximum: QTY_MAX, default: QTY_DEFAULT })),
  /** The unit price the caller showed its customer. Left out, the current price is charged. */
  expected_price_cents: Type.Optional(
    Type.Integer({ minimum: EXPECTED_PRICE_CENTS_MIN, maximum: EXPECTED_PRICE_CENTS_MAX }),
  ),
})
export type CartItem = Static<typeof CartItem>

/** A cart also needs distinct ids, which JSON Schema cannot say: check `repeatedItemId` after the schema. */
export const CartItems = Type.Array(CartItem, { minItems: CART_LINES_MIN, maxItems: CART_LINES_MAX })

/** The first id that appears twice, or null. Ids are compared as text: a leading zero makes another item. */
export function repeatedItemId(items: readonly Pick<CartItem, 'id'>[]): string | null {
  const seen = new Set<string>()
  for (const { id } of items) {
    if (seen.has(id)) return id
    seen.add(id)
  }
  return null
}
