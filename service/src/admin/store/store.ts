import type { Command } from 'commander'
import type { StoreState, StoreWindow } from '../../catalogue/store-state.ts'
import type { OperatorReads } from '../../operations/reads/index.ts'
import { printable } from '../../platform/text/plain-text.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseDuration, parseInstant, parseText } from '../terminal/parse.ts'
import { day, NotDoneError, print, table } from '../terminal/print.ts'

export function storeCommands(program: Command, context: CommandContext): void {
  const store = program.command('store').description('whether the store takes new orders')

  store
    .command('show')
    .description('open or closed, since when and why')
    .action(async (_options, command: Command) => {
      const { state, windows, journal_id } = await context.reads().showStore()
      const warning = journal_id === null && !context.isDevelopment() ? [NO_JOURNAL] : []
      print(command, context, { ...state, windows, journal_id }, () =>
        [describeStore(state), ...whyClosedNow(state), windowTable(windows), ...warning].join('\n'),
      )
    })

  store
    .command('open')
    .description('accept orders; a planned window that has begun still keeps the store closed (store unplan)')
    .action(async (_options, command: Command) => {
      await context.operator().setStore(true, null)
      const { state, windows, closed_until } = await context.reads().showStore()
      const closing = windows.filter(({ closes_at }) => closes_at <= state.now)
      print(command, context, { ...state, windows: closing }, () =>
        state.is_open_now ? describeStore(state) : 'The store opens when what keeps it closed has ended.',
      )
      if (!state.is_database_confirmed) throw new NotDoneError(whyClosedNow(state).join('\n'))
      if (closing.length > 0) throw new NotDoneError(describeClosing(closing, closed_until))
    })

  store
    .command('close')
    .requiredOption('--reason <text>', 'shown to customers, and kept in the audit log', parseText)
    .description('refuse new orders with 503 until "store open"; reads, quotes and replays continue')
    .action(async ({ reason }: { reason: string }, command: Command) => {
      const state = await context.operator().setStore(false, reason)
      print(command, context, state, () => describeStore(state))
    })

  store
    .command('plan')
    .option('--from <time>', 'when it closes, as 2026-12-24T22:00:00Z; now by default')
    .option('--until <time>', 'when it opens again')
    .option('--for <duration>', 'how long, such as 90m or 2h, instead of --until', parseDuration)
    .requiredOption('--reason <text>', 'shown to customers, and kept in the audit log', parseText)
    .description('close for a while, ahead of time; it opens again automatically')
    .action(
      async (options: { from?: string; until?: string; for?: number; reason: string }, command: Command) => {
        const times = readWindow(options, context.nowMs())
        const window = await context.operator().planWindow({ ...times, reason: options.reason })
        print(
          command,
          context,
          window,
          () =>
            `Planned ${window.id}: closed from ${day(window.closes_at)} to ${day(window.opens_at)} UTC.\n` +
            `Call it off: shopwire-admin store unplan ${window.id}`,
        )
      },
    )

  store
    .command('unplan')
    .argument('<window>')
    .description('cancel a planned window, even one that has begun')
    .action(async (id: string, _options, command: Command) => {
      const window = await context.operator().cancelWindow(id)
      print(command, context, window, () => `Called off ${window.id}.`)
    })
}

const NO_JOURNAL =
  'Warning: it keeps no journal of sold links. After a restore of its database it is unknown which links it had sold: set SHOPWIRE_JOURNAL for the workers.'

function describeClosing(closing: readonly StoreWindow[], until: Date): string {
  const names = closing.map(({ id, reason }) => `${id} (${printable(reason)})`).join(', ')
  return [
    `The store is still CLOSED until ${day(until)} UTC: planned window ${names}. It opens automatically then. To open it now:`,
    ...closing.map(({ id }) => `  shopwire-admin store unplan ${id}`),
  ].join('\n')
}

/** A window begins now or at a given time, and has an end or a length. */
function readWindow(options: { from?: string; until?: string; for?: number }, nowMs: number) {
  const closesMs = options.from === undefined ? nowMs : parseInstant(options.from)
  if (options.for !== undefined)
    return { closes_at: new Date(closesMs), opens_at: new Date(closesMs + options.for) }
  if (options.until !== undefined)
    return { closes_at: new Date(closesMs), opens_at: new Date(parseInstant(options.until)) }
  throw refuse('invalid_request', 'Say when it ends: --until <time> or --for <duration>.')
}

type StoreNow = Awaited<ReturnType<OperatorReads['showStore']>>['state']

function whyClosedNow(state: StoreNow): string[] {
  if (!state.is_database_confirmed)
    return [
      'It takes no orders: the database was restored or failed over, or was not compared since its start. See "shopwire-admin recover status".',
    ]
  return state.is_open && !state.is_open_now ? ['A planned window keeps it closed right now.'] : []
}

function windowTable(windows: readonly StoreWindow[]): string {
  return table(
    ['WINDOW', 'CLOSES (UTC)', 'OPENS (UTC)', 'REASON'],
    windows.map(({ id, closes_at, opens_at, reason }) => [id, day(closes_at), day(opens_at), reason]),
    'No closing is planned.',
  )
}

function describeStore({ is_open, reason, changed_at }: StoreState): string {
  return `The store is ${is_open ? 'open' : 'closed'} since ${day(changed_at)} UTC${reason ? `: ${printable(reason)}` : ''}.`
}
