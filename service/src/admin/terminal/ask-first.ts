import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'
import { dollars, NotDoneError, printable, printableLines } from './print.ts'
import { leavesOf, pathOf } from './schema-check.ts'

type Consequence = (args: readonly string[], context: CommandContext) => string | Promise<string>

/** Commands that cannot be undone, or not by another command. */
const IRREVERSIBLE: Readonly<Record<string, Consequence>> = {
  'accounts close': async ([id = ''], { reads }) => {
    const { account, keys } = await reads().showAccount(id)
    return `Account ${id} "${printable(account.name)}" ends permanently: ${keys.filter(({ revoked_at }) => !revoked_at).length} keys, its webhook and its people's access. Its owners are told.`
  },
  'accounts erase': ([id]) =>
    `Names, addresses and people of account ${id} are erased, except in backups. They cannot be restored.`,
  'clock accept': () =>
    'Everything that is old by the clock of the database will be removed, closed and sealed by it from now on.',
  'jobs drop': ([id]) =>
    `The job about ${id} is removed; events of an endpoint that were not sent are given up.`,
  'keys revoke': ([id]) =>
    `Key ${id} stops working at once and permanently; requests signed with it get 401. "keys create" makes a new one.`,
  'operators revoke': ([email]) => `All tokens of ${email} end at once and permanently.`,
  'orders cancel': async ([id = ''], { reads }) => {
    const { account_id, total_cents, status, lines } = await reads().showOrder(id)
    const units = lines.reduce((sum, { qty }) => sum + qty, 0)
    return `Order ${id} of ${account_id}, ${units} links, ${status}: it is never delivered, and ${dollars(total_cents)} go back. The customer is told.`
  },
  'people remove': ([account, email]) => `${email} loses access to ${account} with the next request.`,
  'people reset-factors': ([email]) =>
    `${email} loses authenticator app, recovery codes and passkeys, and is signed out everywhere. Be sure who asked.`,
  'pool withdraw': ([item]) =>
    `Links of the file that are in the pool of ${item} are not sold any more, until "pool restore ${item}".`,
  'recover open': () =>
    'The store sells again on this database. Whatever was sold in a time that it lost and was not compared may be sold twice.',
  'refunds release': () => 'Overdue orders are cancelled and refunded again, up to the limit of an hour.',
  'removals release': ([kind]) =>
    `All ${kind} that are old enough by the clock of the database are removed permanently, without a limit.`,
  'suppliers give-up': ([order, line]) =>
    `Requests of line ${line} of ${order} are not waited for any more. The supplier may have made the links, and may ask for its money.`,
  'topups reject': ([id]) => `Top-up ${id} ends without a credit, and its customer reads the reason.`,
  'topups write-off': ([id]) => `What is owed under ${id} is no longer expected.`,
}

/**
 * A command that cannot be undone says at a terminal what it will do, and asks. Without a terminal it runs: nobody could answer,
 * and a job or a runbook that stops half-way is worse than one that does what it says.
 */
export function askFirst(program: Command, context: CommandContext): void {
  for (const command of leavesOf(program)) {
    const consequence = IRREVERSIBLE[pathOf(command)]
    if (!consequence) continue
    yesOption(command).hook('preAction', async (_command, { args }) => {
      const { json, yes } = command.optsWithGlobals<{ json?: true; yes?: true }>()
      // If the file is standard input, it cannot be read after an answer was.
      if (context.terminal?.ask && !json && !yes && !args.includes('-'))
        await agree(context, await consequence(args, context))
    })
  }
}

export function yesOption(command: Command): Command {
  return command.option('--yes', 'do not ask; without a terminal, as in a script, nothing is asked anyway')
}

/** Returns when the person at the terminal agrees, and at once without a terminal. */
export async function agree({ terminal, err }: CommandContext, consequence: string): Promise<void> {
  if (!terminal?.ask) return
  err(`${printableLines(consequence)}\n`)
  if (!/^y(es)?$/i.test((await terminal.ask('Go on? [y/N] ')).trim()))
    throw new NotDoneError('nothing was done.')
}
