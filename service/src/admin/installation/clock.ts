import { Argument, type Command } from 'commander'
import { REMOVALS, type Removal, type RemovalState } from '../../platform/jobs/removal-limit.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseText } from '../terminal/parse.ts'
import { day, print, table } from '../terminal/print.ts'

export function clockCommands(program: Command, context: CommandContext): void {
  const clock = program.command('clock').description('the time that the store goes by: that of its database')

  clock
    .command('accept')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('the clock of the database jumped and is right now: continue periodic and irreversible work')
    .action(async ({ reason }: { reason: string }, command: Command) => {
      const { now } = await context.operator().acceptClock(reason)
      print(
        command,
        context,
        { now },
        () => `Accepted: it is ${now.toISOString()}. The workers continue within seconds.`,
      )
    })

  const removals = program
    .command('removals')
    .description('permanent removal of old data: links, events, evidence, files of the journal')

  removals
    .command('show')
    .description('how much was removed in this hour, and what has stopped')
    .action(async (_options, command: Command) => {
      const rows = await context.reads().readRemovals()
      print(command, context, { removals: rows }, () =>
        table(
          ['WHAT', 'THIS HOUR', 'AT MOST', 'STATE'],
          rows.map((row) => [row.kind, String(row.removed), String(row.per_hour_max), stateOf(row)]),
          'Nothing is removed.',
        ),
      )
    })

  removals
    .command('release')
    .addArgument(new Argument('<what>').choices(REMOVALS))
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('removal has stopped and the old data may go: remove all of it, then apply the limit again')
    .action(async (kind: Removal, { reason }: { reason: string }, command: Command) => {
      const { held_at } = await context.operator().releaseRemoval(kind, reason)
      print(command, context, { kind, held_at }, () =>
        held_at === null
          ? `Released: the next removal of ${kind} continues without a limit until nothing is left. It had not stopped.`
          : `Released: the removal of ${kind}, which had stopped on ${day(held_at)} UTC, continues within a minute, until nothing is left.`,
      )
    })
}

const stateOf = ({ held_at, is_released }: RemovalState) =>
  held_at !== null ? `STOPPED since ${day(held_at)} UTC` : is_released ? 'released' : 'ok'
