import { roles } from '@shopwire/contract/dashboard'
import { type Command, InvalidArgumentError } from 'commander'
import { OPERATOR_TOKEN_DAYS_MAX, type OperatorTokenRow } from '../../operations/operator-tokens.ts'
import { printable } from '../../platform/text/plain-text.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseText } from '../terminal/parse.ts'
import { day, print, table } from '../terminal/print.ts'

export function peopleCommands(program: Command, context: CommandContext): void {
  const people = program.command('people').description('who signs in to the dashboard, for which account')

  people
    .command('invite')
    .argument('<account>')
    .requiredOption('--email <address>', 'of the person')
    .requiredOption('--role <role>', roles.join(', '))
    .description('invite somebody by mail; the link is shown here too')
    .action(async (account_id: string, options: { email: string; role: string }, command: Command) => {
      const invited = await context.operator().invitePerson(account_id, options)
      print(command, context, invited, () =>
        [
          `Invited ${invited.email} as ${invited.role}. The mail is on its way; this is its link:`,
          invited.link,
          `It works once, until ${day(invited.expires_at)} UTC. Whoever opens it becomes that person: give it to nobody else.`,
        ].join('\n'),
      )
    })

  people
    .command('list')
    .argument('<account>')
    .description('members of an account and open invitations')
    .action(async (account_id: string, _options, command: Command) => {
      const listed = await context.reads().listPeople(account_id)
      print(command, context, listed, () =>
        [
          table(
            ['ROLE', 'NAME', 'ADDRESS', 'SECOND FACTOR', 'JOINED (UTC)'],
            listed.members.map((one) => [
              one.role,
              printable(one.name),
              one.email,
              one.has_second_factor ? 'yes' : 'no',
              day(one.joined_at),
            ]),
            'Nobody has joined yet. Invite an owner with "shopwire-admin people invite".',
          ),
          ...listed.invitations.map(
            (one) => `Invited: ${one.email} as ${one.role}, until ${day(one.expires_at)} UTC`,
          ),
        ].join('\n'),
      )
    })

  people
    .command('remove')
    .argument('<account>')
    .argument('<email>')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('remove a member; their next request in this account is refused')
    .action(async (account_id: string, email: string, { reason }: { reason: string }, command: Command) => {
      const removed = await context.operator().removePerson(account_id, email, reason)
      print(command, context, removed, () => `Removed ${removed.email}, ${removed.role}.`)
    })

  people
    .command('reset-factors')
    .argument('<email>')
    .requiredOption('--reason <text>', 'how you verified who asked; kept in the audit log', parseText)
    .description(
      'remove authenticator app, recovery codes and passkeys of somebody who lost them, and end their sessions',
    )
    .action(async (email: string, { reason }: { reason: string }, command: Command) => {
      const reset = await context.operator().resetFactors(email, reason)
      print(command, context, reset, () =>
        reset.kind === 'operator'
          ? `Removed the factors of ${reset.person_id}. Next: shopwire-admin operators invite, so that they can set up a passkey.`
          : `Removed the factors of ${reset.person_id}. They sign in with their password and set up a new one.`,
      )
    })

  const operators = program.command('operators').description('people who run this store')

  operators
    .command('add')
    .argument('<email>', 'address of the person, which names them in the audit log')
    .option('--days <n>', `how long the token works, up to ${OPERATOR_TOKEN_DAYS_MAX}`, parseDays, 90)
    .description('make a token that lets somebody use this command; shown once')
    .action(async (email: string, { days }: { days: number }, command: Command) => {
      const { operator, isFirst } = context.operatorOrFirst()
      const added = await operator.addOperator({ email, days, isFirst })
      print(command, context, added, () =>
        [
          `Added ${added.email}${isFirst ? ', the first operator of this store' : ''}. The token, shown this once, works until ${day(added.expires_at)} UTC:`,
          added.token,
          'Its owner keeps it in a file that nobody else can read, and sets SHOPWIRE_OPERATOR_TOKEN_FILE to its path, or',
          'SHOPWIRE_OPERATOR_TOKEN to the token.',
        ].join('\n'),
      )
    })

  operators
    .command('list')
    .description('whose tokens there are, newest first')
    .action(async (_options, command: Command) => {
      const tokens = await context.reads().listOperatorTokens()
      print(command, context, { tokens }, () =>
        table(
          ['ADDRESS', 'STATE', 'ADDED (UTC)', 'UNTIL (UTC)', 'BY'],
          tokens.map((one) => [
            one.email,
            stateOf(one, context.nowMs()),
            day(one.created_at),
            day(one.expires_at),
            one.added_by,
          ]),
          'Nobody has a token. The first one is made by "shopwire-admin operators add <address>".',
        ),
      )
    })

  operators
    .command('revoke')
    .argument('<email>')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('end all tokens of a person; their next command is refused')
    .action(async (email: string, { reason }: { reason: string }, command: Command) => {
      const revoked = await context.operator().revokeOperator(email, reason)
      print(
        command,
        context,
        revoked,
        () => `Revoked ${revoked.revoked.length} token(s) of ${revoked.email}.`,
      )
    })

  operators
    .command('invite')
    .requiredOption('--email <address>', 'of the person; never one of a customer')
    .requiredOption('--name <text>', 'shown to other operators', parseText)
    .description('invite an operator, who signs in by passkey alone')
    .action(async (options: { email: string; name: string }, command: Command) => {
      const invited = await context.operator().inviteOperator(options)
      print(command, context, invited, () =>
        [
          'Invited. The mail is on its way; this is its link, which works once, for 24 hours:',
          invited.link,
        ].join('\n'),
      )
    })
}

function stateOf({ revoked_at, expires_at }: OperatorTokenRow, nowMs: number): string {
  if (revoked_at !== null) return 'revoked'
  return expires_at.getTime() <= nowMs ? 'expired' : 'active'
}

function parseDays(text: string): number {
  const days = Number(text)
  if (/^\d{1,3}$/.test(text) && days >= 1 && days <= OPERATOR_TOKEN_DAYS_MAX) return days
  throw new InvalidArgumentError(`A token works for 1 to ${OPERATOR_TOKEN_DAYS_MAX} days.`)
}
