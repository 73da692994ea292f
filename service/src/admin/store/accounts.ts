import type { Command } from 'commander'
import type { Account } from '../../accounts/account.ts'
import type { Recorded, Transfer } from '../../ledger/transfer.ts'
import { printable } from '../../platform/text/plain-text.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseDollars, parseLimit, parseSeq, parseSignedDollars, parseText } from '../terminal/parse.ts'
import { day, describeCollected, dollars, print, table } from '../terminal/print.ts'
import { keyTable } from './keys.ts'

export function accountCommands(program: Command, context: CommandContext): void {
  const accounts = program.command('accounts').description('accounts of customers, and their balances')

  accounts
    .command('create')
    .argument('<name>', 'shown to the account itself by GET /ping')
    .description('open an account with an empty balance')
    .action(async (name: string, _options, command: Command) => {
      const account = await context.operator().createAccount(name)
      print(command, context, account, () =>
        [
          `Created ${account.id} "${printable(account.name)}".`,
          `Next: shopwire-admin accounts fund ${account.id} 100.00 --reference <bank reference>`,
          `      shopwire-admin keys create ${account.id} --name <name> --scopes all`,
        ].join('\n'),
      )
    })

  accounts
    .command('list')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .option('--after <id>', 'continue after this account', '')
    .description('accounts with their balances, in order of creation')
    .action(async ({ limit, after }: { limit: number; after: string }, command: Command) => {
      const rows = await context.reads().listAccounts(limit, after)
      const next = rows.length === limit ? rows.at(-1)?.id : undefined
      print(command, context, { accounts: rows, next: next ?? null }, () => {
        const text = table(
          ['ACCOUNT', 'STATUS', 'CREATED', 'BALANCE', 'NAME'],
          rows.map((account) => [
            account.id,
            stateOf(account),
            day(account.created_at),
            dollars(account.balance_cents),
            account.name,
          ]),
          'No accounts yet. Create one: shopwire-admin accounts create "Demo"',
        )
        return next ? `${text}\nMore: --after ${next}` : text
      })
    })

  accounts
    .command('show')
    .argument('<account>')
    .description('balance, keys and last movements')
    .action(async (id: string, _options, command: Command) => {
      const shown = await context.reads().showAccount(id)
      print(command, context, shown, () =>
        [
          describeAccount(shown.account, shown.balance_cents),
          '',
          keyTable(shown.keys),
          '',
          statement(shown.transfers),
        ].join('\n'),
      )
    })

  accounts
    .command('statement')
    .argument('<account>')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .option('--before <seq>', 'continue before this line', parseSeq, Number.MAX_SAFE_INTEGER)
    .description('every movement with the balance after it, newest first')
    .action(async (id: string, paging: { limit: number; before: number }, command: Command) => {
      const read = await context.reads().readStatement(id, paging)
      print(command, context, read, () => statement(read.transfers))
    })

  moneyCommands(accounts, context)
  endingCommands(accounts, context)
}

function moneyCommands(accounts: Command, context: CommandContext): void {
  accounts
    .command('fund')
    .argument('<account>')
    .argument('<amount>', 'dollars and cents, such as 250.00', parseDollars)
    .requiredOption(
      '--reference <text>',
      'of the payment; the same one twice is booked once, for one account',
    )
    .option('--note <text>')
    .option(
      '--reference-used-elsewhere',
      'book it although this reference has credited another account; the audit log says so',
    )
    .description('book incoming money')
    .action(
      async (
        id: string,
        amount_cents: number,
        options: { reference: string; note?: string; referenceUsedElsewhere?: true },
        command: Command,
      ) => {
        const { referenceUsedElsewhere: reference_used_elsewhere, ...wanted } = options
        const recorded = await context.operator().fundAccount(id, {
          amount_cents,
          ...wanted,
          ...(reference_used_elsewhere && { reference_used_elsewhere }),
        })
        print(command, context, recorded, () => describeRecorded(recorded))
      },
    )

  accounts
    .command('adjust')
    .argument('<account>')
    .argument('<change>', 'dollars and cents, such as 5.00 or -5.00', parseSignedDollars)
    .requiredOption('--reference <text>', 'of the case; the same one twice is booked once')
    .requiredOption('--note <text>', 'why')
    .description('correct a balance, up or down; never below zero')
    .action(
      async (
        id: string,
        change_cents: number,
        options: { reference: string; note: string },
        command: Command,
      ) => {
        const recorded = await context.operator().adjustAccount(id, { change_cents, ...options })
        print(command, context, recorded, () => describeRecorded(recorded))
      },
    )
}

function endingCommands(accounts: Command, context: CommandContext): void {
  accounts
    .command('suspend')
    .argument('<account>')
    .requiredOption('--reason <text>', 'kept in the audit log', parseText)
    .description('refuse every signed request of the account from now on')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const account = await context.operator().suspendAccount(id, reason)
      print(
        command,
        context,
        account,
        () => `Suspended ${account.id} "${printable(account.name)}"; its next request gets 403.`,
      )
    })

  accounts
    .command('resume')
    .argument('<account>')
    .description('accept requests of a suspended account again')
    .action(async (id: string, _options, command: Command) => {
      const account = await context.operator().resumeAccount(id)
      print(command, context, account, () =>
        [
          `Resumed ${account.id} "${printable(account.name)}".`,
          ...(account.owed_cents > 0
            ? [
                `It still owes ${dollars(account.owed_cents)}, which incoming money pays first: shopwire-admin topups owed`,
              ]
            : []),
        ].join('\n'),
      )
    })

  accounts
    .command('close')
    .argument('<account>')
    .requiredOption('--reason <text>', 'told to its owners and kept in the audit log', parseText)
    .description('end an account permanently: its keys, tokens, webhook and people; its ledger stays')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const { account, isNew } = await context.operator().closeAccount(id, reason)
      print(command, context, { account, isNew }, () =>
        isNew
          ? `Closed ${id} "${printable(account.name)}"; its owners get a mail. Once that is sent, personal data can be erased: ` +
            `shopwire-admin accounts erase ${id}`
          : `${id} was closed before; nothing was done.`,
      )
    })

  accounts
    .command('erase')
    .argument('<account>')
    .description('erase names, addresses and people of a closed account; cannot be undone; its ledger stays')
    .action(async (id: string, _options, command: Command) => {
      const erased = await context.operator().eraseAccount(id)
      print(
        command,
        context,
        erased,
        () =>
          `Erased personal data of ${id}; ${erased.people} person(s) who belonged to no other account were removed.`,
      )
    })
}

function describeAccount(account: Account, balance_cents: number): string {
  const { id, name, created_at } = account
  return `${id} "${printable(name)}"\n${stateOf(account)}, created ${day(created_at)} UTC, balance ${dollars(balance_cents)}`
}

const stateOf = ({ status, closed_at }: Account) => (closed_at ? 'closed' : status)

function describeRecorded({ transfer, isNew, balance_cents, collected_cents }: Recorded): string {
  const what = isNew ? 'Booked' : 'Already booked, nothing moved:'
  const booked = `${what} ${dollars(transfer.change_cents)} as ${transfer.id}; balance ${dollars(balance_cents)}.`
  return collected_cents > 0 ? `${booked}\n${describeCollected(collected_cents)}` : booked
}

function statement(transfers: readonly Transfer[]): string {
  return table(
    ['SEQ', 'TIME (UTC)', 'KIND', 'CHANGE', 'BALANCE', 'REFERENCE'],
    transfers.map((t) => [
      String(t.seq),
      day(t.created_at),
      t.kind,
      dollars(t.change_cents),
      dollars(t.balance_after_cents),
      t.reference ?? t.order_id ?? '',
    ]),
    'No money has moved yet.',
  )
}
