import type { Command } from 'commander'
import { Option } from 'commander'
import { collect, examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { csvWriter } from '../csv/write-csv.ts'
import { orderSource } from '../orders/known-order.ts'
import {
  type CompareOptions,
  type Comparison,
  compare,
  type Difference,
  KINDS,
  type Kind,
} from '../reconcile/compare.ts'
import { openExport } from '../reconcile/export-file.ts'
import { type OwnFile, readOwnFile } from '../reconcile/own-file.ts'
import { progressOn } from '../terminal/progress.ts'
import { table } from '../terminal/table.ts'
import { count, durationMs, money, span } from '../terminal/words.ts'
import { EXIT, UsageError } from '../trouble.ts'

interface Options {
  readonly export?: string
  readonly map?: string[]
  readonly mapStatus?: string[]
  readonly amounts: 'cents' | 'dollars'
  readonly paidTooLong: string
  readonly since?: string
  readonly until?: string
  readonly out?: string
}

const ROWS_SHOWN_MAX = 10

export function define(command: Command): void {
  command
    .argument(
      '<mine.csv>',
      'your list: order_id and/or idempotency_key, and if you have them total_cents, status, created_at',
    )
    .option('--export <file>', 'compare with this export instead of asking the store')
    .option('--map <column=yours>', 'your name for a column, such as order_id=shop_ref; repeatable', collect)
    .option(
      '--map-status <yours=status>',
      'your name for a status, such as done=delivered; repeatable',
      collect,
    )
    .addOption(
      new Option('--amounts <unit>', 'unit of your amounts').choices(['cents', 'dollars']).default('cents'),
    )
    .option('--paid-too-long <time>', 'report orders that wait for delivery longer than this', '1h')
    .option('--since <time>', 'ignore orders of the store before this time')
    .option('--until <time>', 'ignore orders of the store from this time on')
    .option('--out <file>', 'write every difference to this file, as CSV')
    .addHelpText(
      'after',
      `
The API does not return idempotency keys of orders, so with a store your list needs order ids; an export that has
keys is matched by them too. Exits with 1 when anything differs. Scope orders:read, or none with --export.
${examples(
  'shopwire reconcile mine.csv',
  'shopwire reconcile mine.csv --export orders.csv --out differences.csv',
  'shopwire reconcile ledger.csv --map order_id=shop_ref --map total_cents=paid --amounts dollars',
  'shopwire reconcile october.csv --since 2026-10-01 --until 2026-11-01 --json',
)}`,
    )
  work<Options>(command, reconcile)
}

async function reconcile(context: Context, options: Options, path = ''): Promise<Outcome> {
  const { out } = context
  const windows = readWindows(options)
  const own = await readOwnFile(path, {
    map: pairs(options.map, '--map'),
    statusMap: pairs(
      options.mapStatus?.map((pair) => pair.toLowerCase()),
      '--map-status',
    ),
    amounts: options.amounts,
  })
  const progress = progressOn(out, 'Orders')
  const theirs = await openTheirs(context, options, own, progress)
  const result = await compare(own, theirs.orders, { ...windows, asOfMs: theirs.asOfMs }).finally(() =>
    progress.end(),
  )
  if (options.out !== undefined) await writeDifferences(options.out, result.differences)
  const counts = Object.fromEntries(
    KINDS.map((kind) => [kind, result.differences.filter((one) => one.kind === kind).length]),
  ) as Record<Kind, number>
  const ok = result.differences.length === 0
  out.show({ ok, ...result, counts, differences: result.differences }, () =>
    report(context, result, counts, windows, options.out),
  )
  return ok ? EXIT.ok : EXIT.failed
}

async function openTheirs(
  context: Context,
  options: Options,
  own: OwnFile,
  progress: ReturnType<typeof progressOn>,
) {
  if (options.export !== undefined) {
    const { asOfMs, orders } = await openExport(options.export)
    return { asOfMs, orders: orders() }
  }
  const source = await orderSource(context)
  if (!own.hasIds && !source.columns.includes('idempotency_key')) {
    throw new UsageError(
      'Your list has only idempotency keys, which the API does not return: no order could be matched.',
      'Add the order ids that the store answered with, or compare with an export that has the keys (--export FILE).',
    )
  }
  return { asOfMs: Date.now(), orders: source.orders(progress) }
}

function readWindows({ paidTooLong, since, until }: Options): Omit<CompareOptions, 'asOfMs'> {
  const paidTooLongMs = durationMs(paidTooLong)
  if (paidTooLongMs === undefined)
    throw new UsageError(`${JSON.stringify(paidTooLong)} is not a duration.`, 'Such as 90s, 30m, 1h, 2d.')
  return {
    paidTooLongMs,
    sinceMs: readMoment('--since', since) ?? Number.NEGATIVE_INFINITY,
    untilMs: readMoment('--until', until) ?? Number.POSITIVE_INFINITY,
  }
}

/** A date without a time is its start in UTC; all times of the store are in UTC. */
function readMoment(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text)
  const hasZone = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text)
  const ms = isDate || hasZone ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms))
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} is not a date or time.`,
      'Such as 2026-10-01 or 2026-10-01T12:00:00Z.',
    )
  return ms
}

const PAIR_EXAMPLES = {
  '--map': '--map order_id=shop_ref',
  '--map-status': '--map-status done=delivered',
} as const

function pairs(
  texts: readonly string[] | undefined,
  option: keyof typeof PAIR_EXAMPLES,
): ReadonlyMap<string, string> {
  return new Map(
    (texts ?? []).map((text): [string, string] => {
      const at = text.indexOf('=')
      if (at < 1)
        throw new UsageError(
          `${option} ${text} is not a NAME=NAME pair.`,
          `Such as ${PAIR_EXAMPLES[option]}.`,
        )
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}

async function writeDifferences(path: string, differences: readonly Difference[]): Promise<void> {
  const file = csvWriter(path)
  await file.row(['kind', 'order_id', 'idempotency_key', 'line', 'mine', 'store'])
  for (const { kind, order_id, idempotency_key, line, mine, store } of differences) {
    await file.row([kind, order_id, idempotency_key, line, mine, store])
  }
  await file.end()
}

const meanings: Readonly<Record<Kind, string>> = {
  missing_in_mine: 'bought at the store, not in your list',
  missing_at_store: 'in your list, not at the store',
  amount_differs: 'with another amount',
  status_differs: 'with another status',
  refunded_unnoticed: 'cancelled and refunded, but not in your list',
  paid_too_long: 'paid and still not delivered',
  duplicate_in_mine: 'in your list more than once',
  ids_disagree: 'whose order id and idempotency key name two different orders',
}

function report(
  { out: { paint } }: Context,
  result: Comparison,
  counts: Readonly<Record<Kind, number>>,
  { paidTooLongMs }: { paidTooLongMs: number },
  outFile: string | undefined,
): string {
  const { mine, store, matched, mine_total_cents, store_total_cents, differences } = result
  const summary = `${count(mine, 'row')} of yours (${money(mine_total_cents)}), ${count(store, 'order')} at the store (${money(store_total_cents)}), ${matched.toLocaleString('en-US')} matched`
  if (differences.length === 0) return `${paint.green('✔')} ${paint.bold('No differences.')} ${summary}.`
  const sections = KINDS.filter((kind) => counts[kind] > 0).map((kind) => {
    const found = differences.filter((one) => one.kind === kind)
    const shown = found.slice(0, ROWS_SHOWN_MAX)
    const title = `${paint.red('✖')} ${paint.bold(counts[kind].toLocaleString('en-US'))} ${meanings[kind]}${kind === 'paid_too_long' ? ` after ${span(paidTooLongMs)}` : ''}`
    const more = found.length > shown.length ? [paint.dim(`  … and ${found.length - shown.length} more`)] : []
    return [title, ...indent(rows(shown, kind, paint)), ...more].join('\n')
  })
  const hint = outFile ? `All differences are in ${outFile}.` : 'For all of them use --out FILE or --json.'
  return [...sections, `${summary}.\n${paint.dim(hint)}`].join('\n\n')
}

function rows(shown: readonly Difference[], kind: Kind, paint: Context['out']['paint']): string {
  const isMoney = kind === 'amount_differs' || kind === 'missing_in_mine' || kind === 'missing_at_store'
  const value = (one: string | number | null) =>
    one === null ? '–' : isMoney && typeof one === 'number' ? money(one) : String(one)
  return table(
    shown,
    [
      {
        title: 'ORDER',
        cell: ({ order_id, idempotency_key }) => order_id ?? idempotency_key ?? '–',
        widthMax: 40,
      },
      { title: 'LINE', align: 'right', cell: ({ line }) => String(line ?? '–') },
      { title: 'YOURS', align: 'right', cell: ({ mine }) => value(mine) },
      { title: 'STORE', align: 'right', cell: ({ store }) => value(store) },
    ],
    paint,
  )
}

function indent(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`)
}
