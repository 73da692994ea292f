import type { OrdersQuery } from '@shopwire/sdk'
import type { Command } from 'commander'
import { collect, examples, work } from '../command.ts'
import { type CreateOptions, createOrder } from '../orders/create.ts'
import { exportOrders } from '../orders/export.ts'
import { orderText, summaryTable, withoutLinks } from '../orders/present.ts'
import { proveOrder } from '../orders/prove.ts'
import { type WaitOptions, waitForOrder } from '../orders/wait.ts'
import { wholeNumber } from '../terminal/numbers.ts'
import { count } from '../terminal/words.ts'

export function define(command: Command): void {
  command.addHelpText(
    'after',
    examples(
      'shopwire orders',
      'shopwire orders get ord_01k9… --links',
      'shopwire orders create --item 1144058340327047001:2@499 --key purchase-1042',
      'shopwire orders wait ord_01k9… --links',
      'shopwire orders export --out orders.csv',
      'shopwire orders prove purchase-1042',
    ),
  )
  defineList(command.command('list', { isDefault: true }).description('a page of orders, newest first'))
  defineGet(command.command('get <id>').description('one order, with its lines'))
  defineCreate(command.command('create').description('buy a cart: all of it or nothing. Spends real balance'))
  defineWait(
    command.command('wait <id>').description('wait until an order is delivered, or cancelled and refunded'),
  )
  defineExport(command.command('export').description('every order as CSV'))
  defineProve(
    command.command('prove <key-or-id>').description('show that an idempotency key bought once; never buys'),
  )
}

function defineList(command: Command): void {
  command
    .option('--limit <n>', 'orders per page, 1 to 100', wholeNumber)
    .option('--offset <n>', 'skip this many', wholeNumber)
    .addHelpText(
      'after',
      `\nScope orders:read.${examples('shopwire orders list --limit 5', 'shopwire orders list --json')}`,
    )
  work<OrdersQuery>(command, async ({ out, shop }, options) => {
    const page = await (await shop()).orders.list(options)
    out.show(page, () => {
      if (page.total === 0) return 'No orders yet.'
      const shown = page.orders.length
      const rest = page.total - page.offset - shown
      const more =
        rest > 0 ? `; ${rest.toLocaleString('en-US')} more with --offset ${page.offset + shown}` : ''
      const foot = out.paint.dim(`${count(shown, 'order')} of ${page.total.toLocaleString('en-US')}${more}`)
      return `${summaryTable(page.orders, out.paint)}\n\n${foot}`
    })
  })
}

function defineGet(command: Command): void {
  command
    .option('--links', 'show the gift links; whoever holds one can redeem it')
    .addHelpText(
      'after',
      `\nScope orders:read.${examples('shopwire orders get ord_01k9…', 'shopwire orders get ord_01k9… --links --json')}`,
    )
  work<{ links?: true }>(command, async ({ out, shop }, { links }, id = '') => {
    const order = await (await shop()).orders.get(id)
    out.show(links ? order : withoutLinks(order), () => orderText(order, links === true, out.paint))
  })
}

function defineCreate(command: Command): void {
  command
    .option('--item <ID[:QTY[@CENTS]]>', 'item id, quantity, expected unit price; repeatable', collect)
    .option(
      '--key <key>',
      'idempotency key: your id for this purchase, stored before, the same for every retry',
    )
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--links', 'show the gift links of a replayed order')
    .addHelpText(
      'after',
      `
Shows the quote and the balance, and asks for confirmation. An item without @CENTS is ordered at the price of the
quote: when it changes meanwhile, nothing is bought. The same key never buys twice, so after an unclear result run
the same command again. Scope orders:write; with account:read and catalogue:read it can show balance and prices
first.
${examples(
  'shopwire orders create --item 1144058340327047001 --key purchase-1042',
  'shopwire orders create --item 1144058340327047001:2@499 --key purchase-1042 --yes --json',
)}`,
    )
  work<CreateOptions>(command, createOrder)
}

function defineWait(command: Command): void {
  command
    .option('--within <seconds>', 'stop waiting after this time', wholeNumber, 60)
    .option('--links', 'show the gift links; whoever holds one can redeem it')
    .addHelpText(
      'after',
      `
Polls with growing pauses; never buys. Exits with 0 when the order is delivered, 1 when it was cancelled and
refunded, 7 when the time is up: the order is then still paid and will be delivered or refunded. A server should use
webhooks instead. Scope orders:read.
${examples(
  'shopwire orders wait ord_01k9… --links',
  "shopwire orders wait ord_01k9… --within 600 --links --json | jq -r '.links[]'",
)}`,
    )
  work<WaitOptions>(command, (context, options, id = '') => waitForOrder(context, id, options))
}

function defineExport(command: Command): void {
  command.requiredOption('--out <file>', 'output file; - is stdout').addHelpText(
    'after',
    `
Reads 100 orders per request and leaves part of the rate limit to your other servers: about 8,000 orders at once,
then about 6,000 a minute. The columns are those the API has: id, status, total_cents, currency, created_at.
An emulator also gives idempotency_key, delivered_at and refunded_at. Scope orders:read.
${examples('shopwire orders export --out orders.csv', 'shopwire orders export --out - | wc -l')}`,
  )
  work<{ out: string }>(command, exportOrders)
}

function defineProve(command: Command): void {
  command.addHelpText(
    'after',
    `
Every attempt with its time, key, hash and answer, the order, and its one debit: from an emulator, or from a store with a
personal access token (shopwire login). From a store without one: the order by its id. Exits with 1 when it finds anything
but one purchase or none.
${examples('shopwire orders prove purchase-1042', 'shopwire orders prove ord_01k9… --json')}`,
  )
  work(command, (context, _options, named = '') => proveOrder(context, named))
}
