import { randomBytes, randomInt } from 'node:crypto'

/** An item as `catalogue import` reads it. */
export interface Item {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly collection: string
  readonly price_cents: number
  readonly image?: string
  readonly for_sale?: boolean
  readonly available_until?: string
}

export function newItem(price_cents: number): Item {
  const id = `1${String(randomInt(10 ** 9)).padStart(9, '0')}${String(randomInt(10 ** 8)).padStart(8, '0')}`
  return { id, name: `Thing for ${price_cents}`, type: 'decoration', collection: 'E2E', price_cents }
}

export function newLinks(count: number): string[] {
  return Array.from({ length: count }, () => `https://gift.example/${randomBytes(12).toString('hex')}`)
}
