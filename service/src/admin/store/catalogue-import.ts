import type { Command } from 'commander'
import { readCatalogueFile } from '../../catalogue/file/catalogue-file.ts'
import { columns } from '../../catalogue/file/columns.ts'
import type { FileFormat } from '../../catalogue/file/file-items.ts'
import type { Difference, ImportOptions } from '../../catalogue/import.ts'
import type { FieldChange } from '../../catalogue/item.ts'
import { PRICE_BOUNDS } from '../../operations/actions/catalogue-actions.ts'
import { refuse } from '../../platform/trouble.ts'
import { agree, yesOption } from '../terminal/ask-first.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { dollars, print, printableLines } from '../terminal/print.ts'
import { progressOf } from '../terminal/progress.ts'
import { readInput } from '../terminal/read-input.ts'
import { formatOption, parsePercent, priceFactorOption, untilServed } from './catalogue-options.ts'

const LINES_PER_KIND_MAX = 20

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

export function importCommand(catalogue: Command, context: CommandContext): void {
  yesOption(catalogue.command('import'))
    .argument('<file>', 'JSON or CSV; "-" reads from standard input')
    .addOption(formatOption('format of the file; detected by default'))
    .option('--partial', 'the file is not the whole catalogue: leave items that it does not list unchanged')
    .option('--dry-run', 'show what would change and change nothing')
    .option('--all', `show every line, not the first ${LINES_PER_KIND_MAX} of a kind`)
    .option('--allow-removals', 'even if most of the items for sale are taken from sale')
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
        'Items that the file does not list are taken from sale; none is ever deleted.',
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
            ? `Done; the catalogue is at revision ${done.revision}.${isServed ? '' : ' API servers are reading it; until they have, callers see the previous one.'}`
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

export function describeChanges(changes: readonly FieldChange[]): string {
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
