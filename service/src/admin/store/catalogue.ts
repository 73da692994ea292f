import { type ItemType, itemTypes } from '@shopwire/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Difference, ImportOptions } from '../../catalogue/import.ts'
import {
  columns,
  type FileFormat,
  fileFormats,
  type ItemTexts,
  readCatalogueFile,
  writeCatalogueFile,
} from '../../catalogue/import-file.ts'
import type { FieldChange, ItemRow } from '../../catalogue/item.ts'
import { PRICE_BOUNDS } from '../../operations/actions/catalogue-actions.ts'
import { servedWithinMs } from '../../operations/reads/catalogue-reads.ts'
import { refuse } from '../../platform/trouble.ts'
import { agree, yesOption } from '../terminal/ask-first.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseDollars, parseLimit } from '../terminal/parse.ts'
import { day, dollars, print, printableLines, table } from '../terminal/print.ts'
import { progressOf } from '../terminal/progress.ts'
import { readInput } from '../terminal/read-input.ts'

const LINES_PER_KIND_MAX = 20

export function catalogueCommands(program: Command, context: CommandContext): void {
  const catalogue = program.command('catalogue').description('what is for sale, and for how much')
  importCommand(catalogue, context)
  exportCommand(catalogue, context)
  listCommand(catalogue, context)
  showCommand(catalogue, context)
  setCommand(catalogue, context)
}

interface ImportFlags {
  readonly format?: FileFormat
  readonly partial?: true
  readonly dryRun?: true
  readonly yes?: true
  readonly all?: true
  readonly allowRemovals?: true
  readonly priceFactorMax: number
  readonly priceShareMax: number
}

function importCommand(catalogue: Command, context: CommandContext): void {
  yesOption(catalogue.command('import'))
    .argument('<file>', 'JSON or CSV; "-" reads from standard input')
    .addOption(formatOption('format of the file; detected by default'))
    .option('--partial', 'the file is not the whole catalogue: leave items alone that it does not name')
    .option('--dry-run', 'show what would change and change nothing')
    .option('--all', `show every line, not the first ${LINES_PER_KIND_MAX} of a kind`)
    .option('--allow-removals', 'even if most of what is for sale goes from sale')
    .addOption(priceFactorOption())
    .option(
      '--price-share-max <percent>',
      'refuse to change the prices of more of the items than that',
      parsePercent,
      PRICE_BOUNDS.shareMax * 100,
    )
    .description('make the catalogue match a file, completely or not at all')
    .addHelpText(
      'after',
      [
        '',
        `CSV begins with the line ${columns.join(',')}; JSON is an array of objects with these names.`,
        'image, available_until and for_sale may be left out and then mean none, never and true.',
        'Items that the file does not name are taken from sale; none is ever deleted.',
      ].join('\n'),
    )
    .action(async (file: string, flags: ImportFlags, command: Command) => {
      const isJson = Boolean(command.optsWithGlobals().json)
      const { items, warnings } = readCatalogueFile(await readInput(file), flags.format)
      for (const warning of warnings) context.err(`Warning: ${warning}\n`)
      const compared = progressOf(command, context, 'items compared')
      const written = progressOf(command, context, 'items written')
      const options: ImportOptions = {
        ...importOptions(flags),
        progress(done) {
          if ('compared' in done) compared.at(done.compared, Math.max(done.compared, items.size))
          else written.at(done.written, done.toWrite)
        },
      }
      const { difference, refused } = await context.reads().compareCatalogue(items, options)
      compared.end()
      if (!isJson) context.out(`${printableLines(describeDifference(difference, Boolean(flags.all)))}\n`)

      if (flags.dryRun) {
        const revision = await context.reads().readRevision()
        const json = { applied: false, dry_run: true, revision, ...jsonOf(difference), refused, warnings }
        return print(command, context, json, () =>
          [...(refused ? [`It would be refused: ${refused}`] : []), 'Dry run: nothing was changed.'].join(
            '\n',
          ),
        )
      }
      if (refused) throw refuse('invalid_request', refused)
      if (!flags.yes && !isJson && file !== '-' && changesAnything(difference))
        await agree(context, 'All of this is applied, and callers see it within seconds.')
      const done = await context.operator().importCatalogue(items, file, options)
      written.end()
      const counts = countsOf(done.difference)
      const isChanged = changesAnything(done.difference)
      const isServed = await untilServed(context, changesIn(done.difference))
      const json = {
        ...{ applied: isChanged, dry_run: false, revision: done.revision },
        ...jsonOf(done.difference),
        ...{ refused, warnings },
      }
      return print(command, context, json, () =>
        [
          ...(JSON.stringify(counts) === JSON.stringify(countsOf(difference))
            ? []
            : [
                'Somebody else changed the catalogue meanwhile. What was done:',
                describeDifference(done.difference, Boolean(flags.all)),
              ]),
          isChanged
            ? `Done; the catalogue is at revision ${done.revision}.${isServed ? '' : ' API servers are reading it; until they have, callers see the one before.'}`
            : `Nothing to change; the catalogue stays at revision ${done.revision}.`,
        ].join('\n'),
      )
    })
}

function importOptions(flags: ImportFlags): ImportOptions {
  return {
    isPartial: Boolean(flags.partial),
    allowRemovals: Boolean(flags.allowRemovals),
    prices: {
      factorMax: flags.priceFactorMax,
      shareMax: flags.priceShareMax / 100,
    },
  }
}

function countsOf({ added, changed, taken_from_sale, back_on_sale, unchanged }: Difference) {
  return {
    added: added.length,
    changed: changed.length,
    taken_from_sale: taken_from_sale.length,
    back_on_sale: back_on_sale.length,
    unchanged,
  }
}

function changesAnything(difference: Difference): boolean {
  return changesIn(difference) > 0
}

function changesIn(difference: Difference): number {
  const { unchanged, ...changes } = countsOf(difference)
  return Object.values(changes).reduce((sum, count) => sum + count, 0)
}

/** Waits until every API process serves the change. Returns false without waiting when that may take long. */
async function untilServed({ pause }: CommandContext, changes: number): Promise<boolean> {
  const ms = servedWithinMs(changes)
  if (ms) await pause(ms)
  return ms !== undefined
}

function jsonOf(difference: Difference) {
  const { added, changed, taken_from_sale, back_on_sale } = difference
  return { counts: countsOf(difference), added, changed, taken_from_sale, back_on_sale }
}

function describeDifference(difference: Difference, isWhole: boolean): string {
  const { added, changed, taken_from_sale, back_on_sale, unchanged } = difference
  const kind = <Entry>(title: string, entries: readonly Entry[], line: (entry: Entry) => string) => {
    const shown = isWhole ? entries : entries.slice(0, LINES_PER_KIND_MAX)
    const more = entries.length - shown.length
    return [
      `${title}: ${entries.length}`,
      ...shown.map((entry) => `  ${line(entry)}`),
      ...(more > 0 ? [`  and ${more} more (--all shows them)`] : []),
    ]
  }
  return [
    ...kind(
      'Added',
      added,
      ({ id, name, price_cents, is_for_sale }) =>
        `${id} ${name}, ${dollars(price_cents)}${is_for_sale ? '' : ', not for sale'}`,
    ),
    ...kind('Changed', changed, ({ id, name, changes }) => `${id} ${name}: ${describeChanges(changes)}`),
    ...kind(
      'Taken from sale',
      taken_from_sale,
      ({ id, name, is_in_file }) => `${id} ${name}${is_in_file ? '' : ' (not in the file)'}`,
    ),
    ...kind('Back on sale', back_on_sale, ({ id, name }) => `${id} ${name}`),
    `Unchanged: ${unchanged}`,
  ].join('\n')
}

function describeChanges(changes: readonly FieldChange[]): string {
  return changes
    .map(({ field, old, new: now }) => `${titleOf(field)} ${spelled(field, old)} → ${spelled(field, now)}`)
    .join(', ')
}

function titleOf(field: FieldChange['field']): string {
  if (field === 'price_cents') return 'price'
  return field === 'is_for_sale' ? 'for_sale' : field
}

function spelled(field: FieldChange['field'], value: unknown): string {
  if (value === null) return field === 'available_until' ? 'never' : 'none'
  if (field === 'price_cents') return dollars(value as number)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return value instanceof Date ? value.toISOString() : JSON.stringify(value)
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

const NO_ITEMS = 'No items yet. See what a file would bring: shopwire-admin catalogue import <file> --dry-run'

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
          ? `${id} ${done.item.name} is so already; the catalogue stays at revision ${done.revision}.`
          : `${id} ${done.item.name}: ${describeChanges(done.changes)}\nThe catalogue is at revision ${done.revision}.`,
      )
    })
}

/** For scripts too: a price with a digit too few is sold within seconds. */
const priceFactorOption = () =>
  new Option('--price-factor-max <n>', 'refuse a price that changes more than so many times, up or down')
    .argParser(parseFactor)
    .default(PRICE_BOUNDS.factorMax)

function parseFactor(text: string): number {
  if (!/^[1-9]\d{0,6}(\.\d{1,2})?$/.test(text))
    throw new InvalidArgumentError('must be a number from 1, such as 12.')
  return Number(text)
}

function parsePercent(text: string): number {
  const percent = Number(text)
  if (!/^\d{1,3}$/.test(text) || percent > 100) throw new InvalidArgumentError('must be 0 to 100.')
  return percent
}

/** Returns the spelling of a catalogue file. */
function parseYesNo(text: string): string {
  if (text !== 'yes' && text !== 'no') throw new InvalidArgumentError('must be yes or no.')
  return text === 'yes' ? 'true' : 'false'
}

/** In a file, no end is an empty field; on a command line, an empty text is a variable that was not set. */
function parseUntil(text: string): string {
  if (text === '') throw refuse('invalid_request', '--until is empty. Give a time, or "never".')
  return text === 'never' ? '' : text
}

function formatOption(description: string): Option {
  return new Option('--format <format>', description).choices(fileFormats)
}
