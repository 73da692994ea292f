import type { CartItem, Quote } from '@shopwire/sdk'
import type { Paint } from '../terminal/paint.ts'
import { table } from '../terminal/table.ts'
import { money } from '../terminal/words.ts'
import { UsageError } from '../trouble.ts'

const ITEM_FORM = /^(\d{17,20})(?::(\d{1,3}))?(?:@(\d{1,9}))?$/
/** The same pattern as the store's. */
export const IDEMPOTENCY_KEY_FORM = /^[A-Za-z0-9._:-]{8,100}$/

/** `ID`, `ID:2`, `ID:2@499`, `ID@499`. */
export function parseCart(texts: readonly string[] | undefined): CartItem[] {
  if (!texts || texts.length === 0) {
    throw new UsageError(
      'The cart is empty.',
      'Add --item ID[:QTY[@CENTS]], for example --item 1144058340327047001:2@499',
    )
  }
  const items = texts.map(parseItem)
  const twice = items.find(({ id }, at) => items.findIndex((one) => one.id === id) !== at)
  if (twice)
    throw new UsageError(
      `Item ${twice.id} is in the cart twice.`,
      'Name it once, with its quantity: --item ID:QTY',
    )
  return items
}

function parseItem(text: string): CartItem {
  const [, id, qty, cents] = ITEM_FORM.exec(text) ?? []
  if (id === undefined) {
    throw new UsageError(
      `${JSON.stringify(text)} is not an item.`,
      'Write ID[:QTY[@CENTS]]: an id of 17 to 20 digits, the quantity, and the expected unit price in cents.',
    )
  }
  return {
    id,
    qty: qty === undefined ? 1 : Number(qty),
    ...(cents !== undefined && { expected_price_cents: Number(cents) }),
  }
}

/** The command-line form of the cart, with prices. */
export function writeItem({ id, qty = 1, expected_price_cents }: CartItem): string {
  return `${id}:${qty}${expected_price_cents === undefined ? '' : `@${expected_price_cents}`}`
}

export function quoteTable({ lines, total_cents }: Quote, paint: Paint): string {
  const marks = { ok: paint.green, price_changed: paint.yellow, sold_out: paint.red }
  const rows = table(
    lines,
    [
      { title: 'ID', cell: ({ id }) => id },
      { title: 'NAME', cell: ({ name }) => name ?? '–', widthMax: 40 },
      { title: 'QTY', align: 'right', cell: ({ qty }) => String(qty) },
      {
        title: 'EACH',
        align: 'right',
        cell: (line) => (line.unit_price_cents === undefined ? '–' : money(line.unit_price_cents)),
      },
      {
        title: 'TOGETHER',
        align: 'right',
        cell: (line) => (line.line_total_cents === undefined ? '–' : money(line.line_total_cents)),
      },
      {
        title: 'STATUS',
        cell: ({ status }) => status.replace('_', ' '),
        paint: (text, { status }) => marks[status](text),
      },
    ],
    paint,
  )
  return `${rows}\n\n${paint.dim('Total')}    ${paint.bold(money(total_cents))}`
}
