import type { Command } from 'commander'
import { refuse } from '../../platform/trouble.ts'
import type { Chosen } from '../../supply/item-supply.ts'
import type { Loaded } from '../../supply/pool.ts'
import type { ItemSupply } from '../../supply/queries.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseCount, parseLimit, parseText } from '../terminal/parse.ts'
import { day, dollars, NotDoneError, print, table } from '../terminal/print.ts'
import { progressOf } from '../terminal/progress.ts'
import { readLines } from '../terminal/read-input.ts'
import { supplierCommands } from './suppliers.ts'

export function supplyCommands(program: Command, context: CommandContext): void {
  poolCommands(program, context)
  supplierCommands(program, context)

  const supply = program.command('supply').description('where the links of each item come from')

  supply
    .command('list')
    .option('--limit <n>', 'how many', parseLimit, 200)
    .option('--after <item>', 'continue after this item', '')
    .description('items with an automatic source; all others are delivered by hand')
    .action(async ({ limit, after }: { limit: number; after: string }, command: Command) => {
      const rows = await context.reads().listSupplies(limit, after)
      print(command, context, { items: rows }, () => levels(rows))
    })

  supply
    .command('set')
    .argument('<item>')
    .option('--source <source>', 'pool, supplier or hand')
    .option('--supplier <name>', 'the supplier asked first')
    .option(
      '--fallback <name>',
      'asked when the first refuses, is paused or cannot be reached; "none" for no fallback',
    )
    .option('--sku <text>', 'what the suppliers call the item; its id by default', parseText)
    .option('--warn-below <n>', 'warn when fewer links are left in the pool', parseCount)
    .option('--cost <cents>', 'what one link costs at the supplier', parseCount)
    .option('--fallback-cost <cents>', 'what one link costs at the fallback', parseCount)
    .description('choose where the links of an item come from')
    .action(
      async (
        item: string,
        options: {
          source?: string
          supplier?: string
          fallback?: string
          sku?: string
          warnBelow?: number
          cost?: number
          fallbackCost?: number
        },
        command: Command,
      ) => {
        const after = await context.operator().chooseSource(item, {
          source: parseSource(options.source),
          supplier: options.supplier,
          fallback: options.fallback === 'none' ? null : options.fallback,
          sku: options.sku,
          warn_below: options.warnBelow,
          cost_cents: options.cost,
          fallback_cost_cents: options.fallbackCost,
        })
        print(command, context, after, () =>
          [`${item} comes from ${describeSource(after)}.`, ...after.open_requests.map(describeOpen)].join(
            '\n',
          ),
        )
      },
    )
}

function poolCommands(program: Command, context: CommandContext) {
  const pool = program.command('pool').description('links loaded ahead, ready to be sold')

  async function examined<Result>(
    command: Command,
    item: string,
    isSetAside: boolean,
    examine: (progress: (done: number) => void) => Promise<Result>,
  ): Promise<Result> {
    const total = await context.reads().countPoolLinks(item, isSetAside)
    const progress = progressOf(command, context, 'links opened')
    progress.at(0, total)
    return examine((done) => progress.at(done, Math.max(done, total))).finally(() => progress.end())
  }

  pool
    .command('load')
    .argument('<item>')
    .argument('<file>', 'one link a line; "-" reads standard input')
    .description('add links to an item’s pool; a link that was ever in this store is skipped')
    .action(async (item: string, file: string, _options, command: Command) => {
      const links = await readLines(file)
      if (links.length === 0) throw refuse('invalid_request', `"${file}" has no links. Put one on each line.`)
      const progress = progressOf(command, context, 'links loaded')
      progress.at(0, links.length)
      let committed = 0
      const loaded = await context
        .operator()
        .loadPool(item, links, (done) => {
          committed = done
          progress.at(done, links.length)
        })
        .catch((error) => {
          if (committed > 0)
            context.err(
              `The first ${committed} of ${links.length} links are in the pool and stay there. Run the same command again: it skips them and continues.\n`,
            )
          throw error
        })
        .finally(() => progress.end())
      print(command, context, loaded, () => describeLoaded(item, loaded))
      if (loaded.loaded === 0) {
        throw new NotDoneError(
          `None of the ${links.length} links was loaded: all of them were in this store before. Each link is sold once; load new ones.`,
        )
      }
    })

  pool
    .command('withdraw')
    .argument('<item>')
    .argument('<file>', 'one link a line; "-" reads standard input')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description(
      'set links aside that must not be sold, such as leaked ones, and say which were sold already',
    )
    .action(async (item: string, file: string, { reason }: { reason: string }, command: Command) => {
      const links = await readLines(file)
      if (links.length === 0) throw refuse('invalid_request', `"${file}" has no links. Put one on each line.`)
      const done = await context.operator().withdrawLinks(item, links, reason)
      print(command, context, done, () =>
        [
          `Set ${done.changed} links aside; the pool of ${item} holds ${done.pool_left}.`,
          ...(done.sold_to.length > 0 ? [`Sold already, to: ${done.sold_to.join(', ')}.`] : []),
          ...(done.unknown > 0 ? [`${done.unknown} are neither in this pool nor sold.`] : []),
        ].join('\n'),
      )
    })

  pool
    .command('levels')
    .option('--low', 'only pools below their warning mark or empty')
    .option('--limit <n>', 'how many', parseLimit, 200)
    .option('--after <item>', 'continue after this item', '')
    .description('how many links are left per item')
    .action(async ({ low, limit, after }: { low?: true; limit: number; after: string }, command: Command) => {
      const rows = await context.reads().listSupplies(limit, after)
      const pools = rows.filter((row) => row.source === 'pool' || row.pool_left > 0)
      const shown = low ? pools.filter((row) => stateOf(row) !== 'ok') : pools
      print(command, context, { pools: shown }, () => levels(shown))
    })

  pool
    .command('set-aside')
    .option('--limit <n>', 'how many', parseLimit, 200)
    .description(
      'links that are not sold: they were withdrawn, could not be decrypted, or were sold in a time that a restore lost',
    )
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const rows = await context.reads().listSetAside(limit)
      print(command, context, { links: rows }, () =>
        table(
          ['ITEM', 'POOL LINK', 'ENCRYPTION KEY', 'LOADED (UTC)', 'SET ASIDE (UTC)', 'WHY'],
          rows.map((r) => [
            r.item_id,
            r.id,
            r.link_kek_id,
            day(r.loaded_at),
            day(r.set_aside_at),
            r.is_lost
              ? `sold to ${r.sold_to ?? 'one of several orders'}, then lost`
              : 'withdrawn, or cannot be decrypted',
          ]),
          'No link is set aside.',
        ),
      )
    })

  pool
    .command('restore')
    .argument('<item>')
    .description('put an item’s links that were set aside back on sale, once they can be decrypted')
    .action(async (item: string, _options, command: Command) => {
      const done = await examined(command, item, true, (progress) =>
        context.operator().restorePool(item, progress),
      )
      print(
        command,
        context,
        done,
        () =>
          `Put ${done.changed} links back; the pool of ${item} holds ${done.pool_left}.` +
          (done.sold > 0
            ? ` ${done.sold} stay set aside: they were sold in a time that a restore lost.`
            : ''),
      )
      if (done.still_unreadable > 0) {
        throw new NotDoneError(
          `${done.still_unreadable} links still cannot be decrypted and stay set aside; "pool set-aside" lists them.`,
        )
      }
    })

  pool
    .command('check')
    .argument('<item>')
    .description('open every link of a pool and set aside those that cannot be decrypted')
    .action(async (item: string, _options, command: Command) => {
      const done = await examined(command, item, false, (progress) =>
        context.operator().checkPool(item, progress),
      )
      print(
        command,
        context,
        done,
        () =>
          `${done.readable} links can be decrypted, ${done.changed} were set aside; the pool of ${item} holds ${done.pool_left}.`,
      )
    })
}

function parseSource(text: string | undefined): ItemSupply['source'] | undefined {
  if (text === undefined || text === 'pool' || text === 'supplier' || text === 'hand') return text
  throw refuse('invalid_request', `"${text}" is not a source: choose pool, supplier or hand.`)
}

function describeLoaded(item: string, { loaded, known, pool_left }: Loaded): string {
  const lines = [`Loaded ${loaded} links; the pool of ${item} holds ${pool_left}.`]
  if (known.length > 0) {
    const shown = known.slice(0, 20).join(', ')
    lines.push(
      `Skipped ${known.length}, in this store before or twice in the list: line ${shown}${known.length > 20 ? ' …' : ''}.`,
    )
  }
  return lines.join('\n')
}

const costing = (cents: number | null) => (cents === null ? '' : ` at ${dollars(cents)} a link`)

function describeSource(supply: ItemSupply): string {
  const { source, supplier, fallback, cost_cents, fallback_cost_cents, pool_left } = supply
  if (source === 'hand') return 'no automatic source: an operator delivers it'
  if (source === 'pool') return `its pool (${pool_left} links left)`
  const first = `supplier "${supplier}"${costing(cost_cents)}`
  return fallback ? `${first}, then "${fallback}"${costing(fallback_cost_cents)}` : first
}

function describeOpen({ supplier, requests, links }: Chosen['open_requests'][number]): string {
  return (
    `${requests} requests for ${links} links are open at "${supplier}": they are settled with it first, and nothing new is requested for ` +
    'their orders until then. "suppliers unsettled" lists them.'
  )
}

function stateOf({ source, pool_left, warn_below }: ItemSupply): string {
  if (source !== 'pool') return 'ok'
  if (pool_left === 0) return 'EMPTY: not sellable'
  return pool_left < warn_below ? 'LOW' : 'ok'
}

function levels(rows: readonly (ItemSupply & { name: string | null })[]): string {
  return table(
    ['ITEM', 'SOURCE', 'LEFT', 'WARN BELOW', 'STATE', 'NAME'],
    rows.map((row) => [
      row.item_id,
      row.source === 'supplier' ? [row.supplier, row.fallback].filter(Boolean).join(' → ') : row.source,
      String(row.pool_left),
      String(row.warn_below),
      stateOf(row),
      row.name ?? '',
    ]),
    'Nothing here. Load links: shopwire-admin pool load <item> <file>',
  )
}
