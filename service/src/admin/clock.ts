import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { parseText } from './parse.ts'
import { print } from './print.ts'

export function clockCommands(program: Command, context: CommandContext): void {
  const clock = program.command('clock').description('the time that the store goes by: that of its database')

  clock
    .command('accept')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description(
      'the clock of the database jumped and is right now: go on with periodic and irreversible work',
    )
    .action(async ({ reason }: { reason: string }, command: Command) => {
      const { now } = await context.operator().acceptClock(reason)
      print(
        command,
        context,
        { now },
        () => `Accepted: it is ${now.toISOString()}. The workers go on within seconds.`,
      )
    })
}
