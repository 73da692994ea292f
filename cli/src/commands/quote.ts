import type { Command } from 'commander'
import { collect, examples, work } from '../command.ts'
import { parseCart, quoteTable } from '../orders/cart.ts'
import { EXIT } from '../trouble.ts'

export function define(command: Command): void {
  command
    .option('--item <ID[:QTY[@CENTS]]>', 'item id, quantity, expected unit price; repeatable', collect)
    .addHelpText(
      'after',
      `\nSpends nothing. Exits with 1 when the cart could not be bought as it is. Scope catalogue:read.${examples(
        'shopwire quote --item 1144058340327047001',
        'shopwire quote --item 1144058340327047001:2@499 --item 1144058340327047002',
      )}`,
    )
  work<{ item?: string[] }>(command, async ({ out, shop }, { item }) => {
    const items = parseCart(item)
    const quote = await (await shop()).quote({ items })
    out.show(quote, () => quoteTable(quote, out.paint))
    if (!quote.ok) out.note(`${out.paintError.yellow('!')} The store would refuse this cart now.`)
    return quote.ok ? EXIT.ok : EXIT.failed
  })
}
