import { type Command, Option } from 'commander'
import type { FailoverPolicy } from '../../platform/database/database-identity.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseInstant } from '../terminal/parse.ts'
import { NotDoneError, print } from '../terminal/print.ts'
import { describeComparison, describePolicy, describeRecovery, ordersOf } from './recover-text.ts'

/** Recovery of a store whose database was restored, failed over or upgraded: what is missing, and opening it again. */
export function recoverCommands(program: Command, context: CommandContext): void {
  const recover = program
    .command('recover')
    .description(
      'after a restore or a failover: what is missing, and opening the store again; see "Restores and failover" in the documentation',
    )
  const journalOption = [
    '--journal <folder>',
    'the journal of sold links; SHOPWIRE_JOURNAL by default',
  ] as const

  recover
    .command('status')
    .option(...journalOption)
    .description(
      'whether the store runs on the database it last ran on, which time may be missing, and what to do next',
    )
    .action(async ({ journal }: { journal?: string }, command: Command) => {
      const state = await context.reads().showRecovery(context.journal(journal))
      print(command, context, state, () => describeRecovery(state))
    })

  recover
    .command('compare')
    .option(...journalOption)
    .option('--from <time>', 'compare from here on instead of from the last moment this database has')
    .option(
      '--apply',
      'set links aside that were sold, give orders their own links back, and record the comparison',
    )
    .description('what was sold in the missing time according to the journal, and what to compare by hand')
    .action(async (options: { journal?: string; from?: string; apply?: true }, command: Command) => {
      const from = options.from === undefined ? undefined : new Date(parseInstant(options.from))
      const apply = options.apply === true
      const comparison = await context
        .operator()
        .compareWithJournal(context.journal(options.journal), { from, apply })
      const recovery = await context.reads().showRecovery(context.journal(options.journal))
      const suppliers = await context.reads().listSupplierBalances()
      const { lost, damaged, ...rest } = comparison
      const json = {
        ...rest,
        lost: lost.length,
        damaged_lines: [...damaged.values()].reduce((sum, lines) => sum + lines, 0),
        orders: ordersOf(lost),
        suppliers,
      }
      print(command, context, json, () => describeComparison(comparison, recovery, suppliers))
      if (damaged.size > 0) {
        throw new NotDoneError(
          `The journal has damaged lines (${[...damaged].map(([file, lines]) => `${file}: ${lines}`).join(', ')}): links in them are not known. ` +
            'The rest was compared as shown. Restore these files from a copy if there is one, and compare again.',
        )
      }
    })

  recover
    .command('open')
    .requiredOption('--identity <identity>', 'of the present database, as "recover status" prints it')
    .option(...journalOption)
    .option(
      '--without-journal',
      'open although no journal shows which links were sold in the missing time; a new journal may be started',
    )
    .description('let the store sell, deliver, send and buy again on this database')
    .action(
      async (options: { identity: string; journal?: string; withoutJournal?: true }, command: Command) => {
        const { identity, withoutJournal = false } = options
        const opened = await context
          .operator()
          .openStore(context.journal(options.journal), { identity, withoutJournal })
        print(command, context, opened, () =>
          [
            `The store is open on ${opened.identity}, generation ${opened.generation}. Workers and API continue within seconds.`,
            ...(withoutJournal
              ? ['No journal was compared: a link that was sold in the missing time may be sold again.']
              : []),
            'Next: shopwire-admin verify',
          ].join('\n'),
        )
      },
    )

  recover
    .command('policy')
    .addOption(
      new Option('--failover <policy>', 'who opens the store after a failover').choices([
        'ask',
        'synchronous',
      ]),
    )
    .description(
      'show or set whether a worker may open the store by itself on a synchronous standby that was promoted and lacks nothing',
    )
    .action(async ({ failover }: { failover?: FailoverPolicy }, command: Command) => {
      if (failover !== undefined) await context.operator().setFailover(failover)
      const state = await context.reads().showRecovery(context.journal(undefined))
      print(
        command,
        context,
        { failover: state.database.failover },
        () => `Failover: ${describePolicy(state)}`,
      )
    })
}
