import type { Order, OrderSummary } from '@shopwire/sdk'
import { type Paint, printable } from '../terminal/paint.ts'
import { facts, table } from '../terminal/table.ts'
import { count, moment, money } from '../terminal/words.ts'

/** Whoever holds a link can redeem it, so links are printed only with --links. */
export function withoutLinks<Some extends Order>({ links, ...order }: Some) {
  return { ...order, links_hidden: links.length }
}

/** An unknown status is shown as it is: the order may just have been paid, and must be reported. */
export function statusWord(status: Order['status'], paint: Paint, text: string = printable(status)): string {
  if (status === 'paid') return paint.yellow(text)
  if (status === 'delivered') return paint.green(text)
  return status === 'cancelled' ? paint.red(text) : text
}

export function orderText(order: Order, areLinksShown: boolean, paint: Paint): string {
  const { id, status, total_cents, created_at, delivered_at, lines, links } = order
  const head = facts(
    [
      ['Order', paint.bold(printable(id))],
      ['Status', statusWord(status, paint)],
      ['Total', money(total_cents)],
      ['Bought', moment(created_at)],
      status === 'delivered' ? ['Delivered', moment(delivered_at)] : undefined,
    ],
    paint,
  )
  const rows = table(
    lines,
    [
      { title: 'ID', cell: (line) => line.id },
      { title: 'NAME', cell: ({ name }) => name, widthMax: 40 },
      { title: 'QTY', align: 'right', cell: ({ qty }) => String(qty) },
      { title: 'EACH', align: 'right', cell: ({ unit_price_cents }) => money(unit_price_cents) },
    ],
    paint,
  )
  return [head, rows, ...linkLines(links, status, areLinksShown, paint)].join('\n\n')
}

function linkLines(
  links: readonly string[],
  status: Order['status'],
  areShown: boolean,
  paint: Paint,
): string[] {
  if (status === 'cancelled') return [paint.dim('Cancelled and refunded in full; there are no links.')]
  if (links.length === 0) {
    return [
      paint.dim(
        'No links yet; they are available once the order is delivered. `shopwire orders wait ID` waits for it.',
      ),
    ]
  }
  if (areShown) return [links.map((link) => printable(link)).join('\n')]
  return [
    paint.dim(
      `${count(links.length, 'gift link')}, hidden: whoever holds one can redeem it. Show with --links.`,
    ),
  ]
}

export function summaryTable(orders: readonly OrderSummary[], paint: Paint): string {
  return table(
    orders,
    [
      { title: 'ORDER', cell: ({ id }) => id },
      {
        title: 'STATUS',
        cell: ({ status }) => status,
        paint: (text, { status }) => statusWord(status, paint, text),
      },
      { title: 'TOTAL', align: 'right', cell: ({ total_cents }) => money(total_cents) },
      { title: 'BOUGHT', cell: ({ created_at }) => moment(created_at) },
    ],
    paint,
  )
}
