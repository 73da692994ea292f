import type { CatalogueQuery, Item } from '@shopwire/sdk'
import type { Command } from 'commander'
import { Option } from 'commander'
import { examples, work } from '../command.ts'
import type { Context } from '../context.ts'
import { wholeNumber } from '../terminal/numbers.ts'
import { printable } from '../terminal/paint.ts'
import { facts, table } from '../terminal/table.ts'
import { count, moment, money } from '../terminal/words.ts'

interface ListOptions {
  readonly category?: string
  readonly type?: string
  readonly search?: string
  readonly limit?: number
  readonly offset?: number
  readonly all?: true
  readonly sellable?: true
}

const TYPES = ['decoration', 'effect', 'nameplate', 'frame', 'bundle']

export function define(command: Command): void {
  command.addHelpText(
    'after',
    examples(
      'shopwire catalogue',
      'shopwire catalogue search hat --sellable',
      'shopwire catalogue list --type bundle --all --json',
      'shopwire catalogue get 1144058340327047001',
    ),
  )
  const list = command.command('list', { isDefault: true }).description('a page of items, by number')
  list.option('--search <text>', 'name contains this')
  work<ListOptions>(filters(list), (context, options) => show(context, options))
  const search = command.command('search <text>').description('items whose name contains the text')
  work<ListOptions>(filters(search), (context, options, text = '') =>
    show(context, { ...options, search: text }),
  )
  work(command.command('get <id>').description('one item'), async ({ out, shop }, _options, id = '') => {
    const item = await (await shop()).catalogue.get(id)
    out.show(item, () =>
      facts(
        [
          ['Item', item.id],
          ['Name', out.paint.bold(printable(item.name))],
          ['Type', item.type],
          ['Collection', printable(item.collection)],
          ['Price', money(item.price_cents)],
          ['Sellable', item.sellable ? out.paint.green('yes') : out.paint.red('no')],
          item.available_until ? ['Until', moment(item.available_until)] : undefined,
          item.image ? ['Image', printable(item.image)] : undefined,
        ],
        out.paint,
      ),
    )
  })
}

function filters(command: Command): Command {
  return command
    .option('--category <text>', 'collection contains this')
    .addOption(new Option('--type <type>', 'only this type').choices(TYPES))
    .option('--sellable', 'leave out items that cannot be bought now')
    .option('--limit <n>', 'items per page, 1 to 2000', wholeNumber)
    .option('--offset <n>', 'skip this many', wholeNumber)
    .option('--all', 'every page')
}

async function show({ out, shop, pacedShop }: Context, options: ListOptions): Promise<void> {
  const { all, sellable, ...query } = options
  const page = all
    ? await everything(await pacedShop(), query as CatalogueQuery)
    : await (await shop()).catalogue.list({ limit: 50, ...(query as CatalogueQuery) })
  const items = sellable ? page.items.filter((item) => item.sellable) : page.items
  out.show({ ...page, items, ...(sellable && { count: items.length }) }, () => {
    if (items.length === 0) return 'Nothing matches.'
    const rows = table<Item>(
      items,
      [
        { title: 'ID', cell: ({ id }) => id },
        { title: 'NAME', cell: ({ name }) => name, widthMax: 40 },
        { title: 'TYPE', cell: ({ type }) => type },
        { title: 'COLLECTION', cell: ({ collection }) => collection, widthMax: 24 },
        { title: 'PRICE', align: 'right', cell: ({ price_cents }) => money(price_cents) },
        {
          title: 'SELLABLE',
          cell: (item) => (item.sellable ? 'yes' : 'no'),
          paint: (text, item) => (item.sellable ? out.paint.green(text) : out.paint.dim(text)),
        },
      ],
      out.paint,
    )
    const shown = page.items.length
    const rest = page.total - page.offset - shown
    const more =
      rest > 0 ? `; ${rest.toLocaleString('en-US')} more with --offset ${page.offset + shown} or --all` : ''
    return `${rows}\n\n${out.paint.dim(`${count(items.length, 'item')} of ${page.total.toLocaleString('en-US')}${more}`)}`
  })
}

async function everything({ shop, pacer }: Awaited<ReturnType<Context['pacedShop']>>, query: CatalogueQuery) {
  const items: Item[] = []
  for await (const item of shop.catalogue.iterate(query)) {
    items.push(item)
    await pacer.breathe()
  }
  return { items, count: items.length, total: items.length, limit: items.length, offset: 0 }
}
