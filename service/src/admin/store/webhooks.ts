import type { Command } from 'commander'
import type { LoggedDelivery } from '../../webhooks/delivery-log.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseInstant, parseLimit } from '../terminal/parse.ts'
import { day, print, table } from '../terminal/print.ts'

export function webhookCommands(program: Command, context: CommandContext): void {
  const webhooks = program.command('webhooks').description('deliveries of events to callers')

  webhooks
    .command('show')
    .argument('<account>')
    .description('an account’s endpoint and the state of its deliveries')
    .action(async (account: string, _options, command: Command) => {
      const health = await context.reads().showWebhook(account)
      print(command, context, health, () =>
        health.webhook_url === null
          ? 'No endpoint. The account sets one with POST /webhook.'
          : [
              health.webhook_url,
              `${health.pending} on their way, ${health.failed} given up`,
              `last delivered ${health.last_delivered_at ?? 'never'}, last failure ${health.last_failure_at ?? 'never'}${health.last_error ? ` (${health.last_error})` : ''}`,
            ].join('\n'),
      )
    })

  webhooks
    .command('log')
    .argument('<account>')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('deliveries, newest first')
    .action(async (account: string, { limit }: { limit: number }, command: Command) => {
      const deliveries = await context.reads().listDeliveries(account, limit)
      print(command, context, { deliveries }, () => deliveryTable(deliveries))
    })

  webhooks
    .command('attempts')
    .argument('<account>')
    .argument('<event>')
    .description('every attempt to deliver an event')
    .action(async (account: string, event: string, _options, command: Command) => {
      const attempts = await context.reads().listAttempts(account, event)
      print(command, context, { attempts }, () =>
        table(
          ['ROUND', 'N', 'TIME (UTC)', 'TOOK', 'STATUS', 'ERROR', 'ADDRESS'],
          attempts.map((a) => [
            String(a.round),
            String(a.n),
            day(a.started_at),
            `${a.ms} ms`,
            String(a.status ?? ''),
            a.error ?? '',
            a.remote_address ?? '',
          ]),
          'No attempt was made.',
        ),
      )
    })

  webhooks
    .command('notices')
    .argument('<account>')
    .option('--limit <n>', 'how many', parseLimit, 20)
    .description('notices for the account’s owner: endpoints that fail, events that were given up')
    .action(async (account: string, { limit }: { limit: number }, command: Command) => {
      const notices = await context.reads().listNotices(account, limit)
      print(command, context, { notices }, () =>
        table(
          ['TIME (UTC)', 'KIND', 'DETAILS'],
          notices.map((notice) => [day(notice.created_at), notice.kind, JSON.stringify(notice.details)]),
          'No notices.',
        ),
      )
    })

  webhooks
    .command('resend')
    .argument('<account>')
    .argument('<event>')
    .description('send one event again: the same id and bytes')
    .action(async (account: string, event: string, _options, command: Command) => {
      await context.operator().resendEvent(account, event)
      print(command, context, { event }, () => `${event} is on its way again.`)
    })

  webhooks
    .command('recover')
    .argument('<account>')
    .requiredOption('--from <time>', 'events made at or after, as 2026-11-14T22:00:00Z')
    .requiredOption('--until <time>', 'and before')
    .option('--apply', 'send them; without it they are only counted')
    .description('send the events of a period that the receiver never accepted')
    .action(
      async (account: string, options: { from: string; until: string; apply?: true }, command: Command) => {
        const range = {
          from: new Date(parseInstant(options.from)),
          until: new Date(parseInstant(options.until)),
        }
        const found = await context.reads().countRecoverable(account, range)
        const sent = options.apply ? await context.operator().recoverEvents(account, range) : 0
        print(command, context, { ...found, sent }, () => {
          if (found.events === 0) return 'Every event of that period was accepted or is on its way.'
          const span = `${day(found.first_at as Date)} to ${day(found.last_at as Date)} UTC`
          return options.apply
            ? `${sent} events are on their way (${span}).`
            : `${found.events} events were never accepted (${span}). Add --apply to send them.`
        })
      },
    )

  webhooks
    .command('rotate-secret')
    .argument('<account>')
    .description('a new signing secret; the old one signs too, in a separate header, for 24 hours')
    .action(async (account: string, _options, command: Command) => {
      const secret = await context.operator().rotateWebhookSecret(account)
      print(command, context, { secret }, () =>
        [`Secret  ${secret}`, 'Give it to the account now: it is not shown again.'].join('\n'),
      )
    })
}

function deliveryTable(rows: readonly LoggedDelivery[]): string {
  return table(
    ['EVENT', 'TIME (UTC)', 'TYPE', 'STATE', 'TRIED', 'NEXT (UTC)', 'LAST ERROR'],
    rows.map((row) => [
      row.event_id,
      day(row.created_at),
      row.type,
      row.state,
      `${row.attempts}×`,
      row.state === 'pending' ? day(row.next_at) : '',
      row.last_error ?? '',
    ]),
    'No events yet.',
  )
}
