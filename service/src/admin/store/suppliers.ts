import type { Command } from 'commander'
import { SUPPLIER_TIMEOUT_MS_DEFAULT } from '../../operations/actions/supplier-actions.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseCount, parseDuration, parseLimit, parseText } from '../terminal/parse.ts'
import { day, dollars, NotDoneError, print, table } from '../terminal/print.ts'
import { statementCsv, statementText } from './supplier-statement.ts'

/** The servers that make links, the requests to them, and what they are owed. */
export function supplierCommands(program: Command, context: CommandContext): void {
  const suppliers = program
    .command('suppliers')
    .description('servers that make links when an order needs them')

  suppliers
    .command('create')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .argument('<url>', 'where requests for links are sent; see "Suppliers" in the documentation')
    .option('--timeout <duration>', 'longest wait for an answer', parseDuration, SUPPLIER_TIMEOUT_MS_DEFAULT)
    .option('--hourly-limit <cents>', 'what requests of any hour may cost together', parseCount)
    .description('add a supplier; prints the secret that signs our requests, once')
    .action(async (name: string, url: string, options: CreateOptions, command: Command) => {
      const made = await context.operator().createSupplier({
        name,
        url,
        timeout_ms: options.timeout,
        hourly_limit_cents: options.hourlyLimit,
        allowHttp: context.isDevelopment(),
      })
      print(command, context, made, () =>
        [
          `Created supplier "${name}".`,
          `Secret  ${made.secret}`,
          'Give it to the supplier now: it is not shown again.',
          `Next: shopwire-admin supply set <item> --supplier ${name}`,
        ].join('\n'),
      )
    })

  suppliers
    .command('list')
    .description('all suppliers')
    .action(async (_options, command: Command) => {
      const rows = await context.reads().listSuppliers()
      print(command, context, { suppliers: rows }, () =>
        table(
          ['SUPPLIER', 'STATE', 'TIMEOUT', 'HOURLY LIMIT', 'URL'],
          rows.map((row) => [
            row.name,
            row.is_paused ? 'paused' : 'asked',
            `${row.timeout_ms} ms`,
            row.hourly_limit_cents === null ? 'none' : dollars(row.hourly_limit_cents),
            row.url,
          ]),
          'No suppliers. Add one: shopwire-admin suppliers create <name> <url>',
        ),
      )
    })

  suppliers
    .command('set')
    .argument('<name>')
    .requiredOption(
      '--hourly-limit <cents>',
      'what requests of any hour may cost together; "none" for no limit',
    )
    .description('change how much may be requested of a supplier within an hour')
    .action(async (name: string, { hourlyLimit }: { hourlyLimit: string }, command: Command) => {
      const limit = hourlyLimit === 'none' ? null : parseCount(hourlyLimit)
      const row = await context.operator().limitSupplier(name, limit)
      print(command, context, row, () =>
        limit === null
          ? `Supplier "${name}" has no hourly limit.`
          : `Requests to "${name}" may cost ${dollars(limit)} an hour together; at the limit, orders wait.`,
      )
    })

  for (const [name, isPaused, description] of [
    ['pause', true, 'send it no new requests for now; its fallback takes over'],
    ['resume', false, 'send it requests again'],
  ] as const) {
    suppliers
      .command(name)
      .argument('<name>')
      .description(description)
      .action(async (supplier: string, _options, command: Command) => {
        const row = await context.operator().pauseSupplier(supplier, isPaused)
        print(
          command,
          context,
          row,
          () => `Supplier "${row.name}" is ${isPaused ? 'paused' : 'asked again'}.`,
        )
      })
  }

  suppliers
    .command('unsettled')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('requests that were sent and whose links never came: compare them with the supplier’s bill')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const rows = await context.reads().listOpenRequests(limit)
      print(command, context, { requests: rows }, () =>
        table(
          ['REQUEST', 'SUPPLIER', 'QTY', 'STATE', 'ASKED', 'LAST (UTC)', 'ERROR'],
          rows.map((r) => [
            r.id,
            r.supplier,
            String(r.qty),
            r.stage,
            `${r.attempts}×`,
            day(r.last_at),
            r.error ?? '',
          ]),
          'Every request was answered with links or refused.',
        ),
      )
    })

  suppliers
    .command('give-up')
    .argument('<order>')
    .argument('<line>', 'of the order, from 1', parseCount)
    .description('stop waiting for a supplier that will never answer; then the other one may be asked')
    .action(async (order: string, line: number, _options, command: Command) => {
      const requests = await context.operator().giveUpRequests(order, line)
      print(command, context, { requests }, () =>
        [
          ...requests.map(({ id, supplier, qty }) => `Gave up ${id} at "${supplier}" (${qty} links).`),
          'If the supplier made the links after all, it may ask for its money: "suppliers owed" keeps the amount apart.',
          `To request them once more: shopwire-admin suppliers collect ${requests[0]?.id}`,
        ].join('\n'),
      )
    })

  suppliers
    .command('collect')
    .argument('<request>', 'its id, as "suppliers statement" and the supplier know it')
    .description('repeat a request that was given up; links that come go to the item’s pool')
    .action(async (request: string, _options, command: Command) => {
      const done = await context.operator().collectRequest(request)
      print(command, context, done, () => describeCollected(done))
      if (done.outcome === 'not yet') {
        throw new NotDoneError(
          `"${done.supplier}" gave no links for ${request} (${done.error}). It stays written off; try again later, or ask the supplier.`,
        )
      }
    })

  moneyCommands(suppliers, context)
}

interface CreateOptions {
  readonly timeout: number
  readonly hourlyLimit?: number
}

type CollectedNow = Awaited<ReturnType<ReturnType<CommandContext['operator']>['collectRequest']>>

function describeCollected({
  id,
  supplier,
  outcome,
  links,
  item_id,
  cost_cents,
  error,
}: CollectedNow): string {
  if (outcome === 'refused') return `"${supplier}" has no links for ${id} (${error}). Nothing is owed for it.`
  if (outcome === 'not yet') return `Asked "${supplier}" for ${id}.`
  const cost = cost_cents === null ? 'Their cost is not known' : `${dollars(cost_cents)} was booked`
  return `Collected ${links} links of ${id} from "${supplier}" into the pool of ${item_id}. ${cost}.`
}

function moneyCommands(suppliers: Command, context: CommandContext): void {
  suppliers
    .command('owed')
    .description('what we owe to each supplier, and what may come on top: open requests and those given up')
    .action(async (_options, command: Command) => {
      const rows = await context.longRunningReads().listSupplierBalances()
      print(command, context, { suppliers: rows }, () =>
        table(
          ['SUPPLIER', 'BOOKED', 'PAID', 'OWED', 'OPEN', 'GIVEN UP', 'COST UNKNOWN'],
          rows.map((r) => [
            r.supplier,
            dollars(r.booked_cents),
            dollars(r.paid_cents),
            dollars(r.owed_cents),
            `${dollars(r.open_cents)} (${r.open_requests})`,
            `${dollars(r.written_off_cents)} (${r.written_off_requests})`,
            String(r.without_cost),
          ]),
          'No suppliers. Add one: shopwire-admin suppliers create <name> <url>',
        ),
      )
    })

  suppliers
    .command('pay')
    .argument('<name>')
    .requiredOption('--cents <n>', 'how much was paid', parseCount)
    .requiredOption('--reference <text>', 'of the payment; the same one twice is booked once', parseText)
    .option('--note <text>', 'kept with the payment', parseText)
    .description('record a payment to a supplier')
    .action(
      async (
        name: string,
        options: { cents: number; reference: string; note?: string },
        command: Command,
      ) => {
        const { cents, reference, note } = options
        if (cents === 0) throw refuse('invalid_request', 'A payment is at least 1 cent.')
        const { payment, isNew } = await context.operator().paySupplier(name, { cents, reference, note })
        print(command, context, { payment, is_new: isNew }, () =>
          isNew
            ? `Recorded a payment of ${dollars(cents)} to "${name}" (${reference}).`
            : `This payment of ${dollars(cents)} to "${name}" (${reference}) was recorded before; nothing was booked again.`,
        )
      },
    )

  suppliers
    .command('statement')
    .argument('<name>')
    .requiredOption('--month <month>', 'in UTC, such as 2026-11', parseText)
    .option('--csv', 'the requests as CSV')
    .description('a month of a supplier, to compare with its invoice: every request with its cost and state')
    .action(async (name: string, { month, csv }: { month: string; csv?: true }, command: Command) => {
      const statement = await context.longRunningReads().readSupplierStatement(name, month)
      if (csv) context.out(statementCsv(statement))
      else print(command, context, statement, () => statementText(statement))
    })
}
