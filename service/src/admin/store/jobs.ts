import type { Command } from 'commander'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseLimit, parseText } from '../terminal/parse.ts'
import { day, print, table } from '../terminal/print.ts'

export function jobCommands(program: Command, context: CommandContext): void {
  const jobs = program
    .command('jobs')
    .description('jobs that failed too often and are not tried again (dead letters)')

  jobs
    .command('dead')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('lists them, oldest first, with the reason; the log has the whole error')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const dead = await context.reads().listDeadLetters(limit)
      print(command, context, { dead }, () =>
        table(
          ['ABOUT', 'QUEUE', 'ACCOUNT', 'DEAD SINCE', 'FAILURES', 'WHY'],
          dead.map((one) => [
            one.subject,
            one.queue,
            one.account_id,
            day(one.dead_at),
            String(one.failures),
            one.note ?? '',
          ]),
          'There are no dead letters.',
        ),
      )
    })

  jobs
    .command('retry')
    .argument('[id]', 'the order, endpoint or mail that the job is about, from "jobs dead"')
    .option('--all', 'all of them')
    .description('make dead letters due again, once their cause is fixed')
    .action(async (id: string | undefined, { all = false }: { all?: boolean }, command: Command) => {
      if ((id === undefined) === !all)
        throw refuse('invalid_request', 'Give the id of one dead letter, or --all.')
      const retried = await context.operator().retryDeadLetters(id ?? null)
      print(
        command,
        context,
        retried,
        () =>
          `Due again: ${retried.orders} orders, ${retried.endpoints} endpoints, ${retried.mails} mails. Workers take them in turn.`,
      )
    })

  jobs
    .command('drop')
    .argument('<id>', 'the order, endpoint or mail that the job is about, from "jobs dead"')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('remove a dead letter permanently; what it had to send, events or a mail, is given up')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const dropped = await context.operator().dropDeadLetter(id, reason)
      print(command, context, dropped, () =>
        [
          `Dropped the job about ${id}.`,
          ...(dropped.events_given_up > 0
            ? [
                `${dropped.events_given_up} events were given up; "shopwire-admin webhooks recover ${dropped.account_id}" sends them again.`,
              ]
            : []),
        ].join('\n'),
      )
    })
}
