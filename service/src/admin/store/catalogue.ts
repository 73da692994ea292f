import { type ItemType, itemTypes } from '@shopwire/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { writeCatalogueFile } from '../../catalogue/file/catalogue-file.ts'
import type { ItemTexts } from '../../catalogue/file/columns.ts'
import type { FileFormat } from '../../catalogue/file/file-items.ts'
import type { ItemRow } from '../../catalogue/item.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseDollars, parseLimit } from '../terminal/parse.ts'
import { day, dollars, print, table } from '../terminal/print.ts'
import { describeChanges, importCommand } from './catalogue-import.ts'
import { formatOption, priceFactorOption, untilServed } from './catalogue-options.ts'

export function catalogueCommands(program: Command, context: CommandContext): void {
  const catalogue = program.command('catalogue').description('what is for sale, and for how much')
  importCommand(catalogue, context)
  exportCommand(catalogue, context)
  listCommand(catalogue, context)
  showCommand(catalogue, context)
  setCommand(catalogue, context)
}

function exportCommand(catalogue: Command, context: CommandContext): void {
  catalogue
    .command('export')
    .addOption(formatOption('what to write').default('json'))
    .description('write the whole catalogue in a form that import reads back; --json is the same as JSON')
    .action(async ({ format }: { format: FileFormat }, command: Command) => {
      const reads = context.reads()
      const before = await reads.readRevision()
      const isJson = Boolean(command.optsWithGlobals().json)
      let count = 0
      async function* counted() {
        for await (const items of reads.everyItem()) {
          count += items.length
          yield items
        }
      }
      for await (const piece of writeCatalogueFile(counted(), isJson ? 'json' : format)) context.out(piece)
      const after = await reads.readRevision()
      if (count === 0) context.err(`${NO_ITEMS}\n`)
      if (after !== before) {
        context.err(
          `Warning: the catalogue changed while it was written (revision ${before} → ${after}); export it again for a consistent copy.\n`,
        )
      }
    })
}

const NO_ITEMS =
  'No items yet. See what a file would change: shopwire-admin catalogue import <file> --dry-run'

function listCommand(catalogue: Command, context: CommandContext): void {
  interface Flags {
    readonly search?: string
    readonly type?: ItemType
    readonly notForSale?: true
    readonly limit: number
    readonly after: string
  }
  catalogue
    .command('list')
    .option('--search <text>', 'part of the name, in any case')
    .addOption(new Option('--type <type>').choices(itemTypes))
    .option('--not-for-sale', 'only what is not for sale')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .option('--after <id>', 'continue after this item', '')
    .description('items in the order of their ids')
    .action(async ({ search, type, notForSale, limit, after }: Flags, command: Command) => {
      const filter = { search: search?.normalize('NFC'), type, is_for_sale: notForSale ? false : undefined }
      const items = await context.reads().listItems(filter, limit, after)
      const next = items.length === limit ? items.at(-1)?.id : undefined
      const isNarrowed = search !== undefined || type !== undefined || notForSale || after !== ''
      print(command, context, { items, next: next ?? null }, () => {
        const text = table(
          ['ITEM', 'TYPE', 'PRICE', 'FOR SALE', 'UNTIL (UTC)', 'COLLECTION', 'NAME'],
          items.map((item) => [
            item.id,
            item.type,
            dollars(item.price_cents),
            forSaleOf(item),
            item.available_until ? day(item.available_until) : '',
            item.collection,
            item.name,
          ]),
          isNarrowed ? 'No item matches. Leave options out to see more.' : NO_ITEMS,
        )
        return next ? `${text}\nMore: --after ${next}` : text
      })
    })
}

function forSaleOf({ is_for_sale, has_supply }: ItemRow): string {
  if (!is_for_sale) return 'no'
  return has_supply ? 'yes' : 'no supply'
}

function showCommand(catalogue: Command, context: CommandContext): void {
  catalogue
    .command('show')
    .argument('<item>')
    .description('every field of an item, and whether it can be bought now')
    .action(async (id: string, _options, command: Command) => {
      const { item, obstacles } = await context.reads().showItem(id)
      const sellable = obstacles.length === 0
      print(command, context, { item, sellable, obstacles }, () =>
        [
          `${item.id} ${item.name}`,
          `Type        ${item.type}`,
          `Collection  ${item.collection}`,
          `Price       ${dollars(item.price_cents)}`,
          `Image       ${item.image ?? 'none'}`,
          `For sale    ${item.is_for_sale ? 'yes' : 'no'}`,
          `Supply      ${item.has_supply ? 'yes' : 'no'}`,
          `Until       ${item.available_until?.toISOString() ?? 'no end'}`,
          `Sellable    ${sellable ? 'yes, now' : `no: ${obstacles.join(', ')}`}`,
        ].join('\n'),
      )
    })
}

function setCommand(catalogue: Command, context: CommandContext): void {
  interface Flags {
    readonly price?: number
    readonly name?: string
    readonly collection?: string
    readonly until?: string
    readonly forSale?: string
    readonly priceFactorMax: number
  }
  catalogue
    .command('set')
    .argument('<item>')
    .option('--price <amount>', 'dollars and cents, such as 1.99', parseDollars)
    .option('--name <text>')
    .option('--collection <text>')
    .option('--until <time>', 'when its sale ends, such as 2026-12-31T23:59:59Z, or "never"')
    .option('--for-sale <yes|no>', 'whether it is offered', parseYesNo)
    .addOption(priceFactorOption())
    .description('change one item, and wait until callers see it; the next import of a file overwrites it')
    .action(async (id: string, flags: Flags, command: Command) => {
      const { price, name, collection, until, forSale, priceFactorMax } = flags
      const wanted: ItemTexts = {
        ...(price !== undefined && { price_cents: String(price) }),
        ...(name !== undefined && { name: name.trim() }),
        ...(collection !== undefined && { collection: collection.trim() }),
        ...(until !== undefined && { available_until: parseUntil(until) }),
        ...(forSale !== undefined && { for_sale: forSale }),
      }
      if (Object.keys(wanted).length === 0) {
        throw refuse(
          'invalid_request',
          'There is nothing to change. Say what: --price, --name, --collection, --until or --for-sale.',
        )
      }
      const done = await context.operator().setItem(id, wanted, { factorMax: priceFactorMax })
      await untilServed(context, done.changes.length)
      print(command, context, done, () =>
        done.changes.length === 0
          ? `${id} ${done.item.name} already has these values; the catalogue stays at revision ${done.revision}.`
          : `${id} ${done.item.name}: ${describeChanges(done.changes)}\nThe catalogue is at revision ${done.revision}.`,
      )
    })
}

/** Returns the spelling of a catalogue file. */
function parseYesNo(text: string): string {
  if (text !== 'yes' && text !== 'no') throw new InvalidArgumentError('must be yes or no.')
  return text === 'yes' ? 'true' : 'false'
}

/** In a file an empty field means no end; on a command line an empty text is a variable that was not set. */
function parseUntil(text: string): string {
  if (text === '') throw refuse('invalid_request', '--until is empty. Give a time, or "never".')
  return text === 'never' ? '' : text
}
