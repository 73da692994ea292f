import type { Command } from 'commander'
import { FOUND_MAX, type Found } from '../../operations/find.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { print, table } from '../terminal/print.ts'
import { readLines } from '../terminal/read-input.ts'

/** The command that shows more. */
const SHOW: Readonly<Record<string, (found: Found) => string>> = {
  account: ({ id }) => `accounts show ${id}`,
  order: ({ id }) => `orders show ${id}`,
  attempt: ({ id, account_id }) => `orders prove ${id} --account ${account_id}`,
  event: ({ id, account_id }) => `webhooks attempts ${account_id} ${id}`,
  key: ({ account_id }) => `keys list ${account_id}`,
  endpoint: ({ account_id }) => `webhooks show ${account_id}`,
  transfer: ({ account_id }) => `accounts statement ${account_id}`,
  item: ({ id }) => `catalogue show ${id}`,
  person: ({ account_id }) => (account_id === null ? '' : `people list ${account_id}`),
  'top-up': () => 'topups list',
}

export function findCommand(program: Command, context: CommandContext): void {
  program
    .command('find')
    .argument('[what]', 'id or its beginning, name, address, idempotency key, bank reference, fingerprint')
    .option('--link <file>', 'where the link in this file is; "-" reads standard input. Needs an operator')
    .description('find what a text refers to, and the command that shows more')
    .action(async (what: string | undefined, { link: file }: { link?: string }, command: Command) => {
      if ((what === undefined) === (file === undefined))
        throw refuse('invalid_request', 'Give what to find, or --link <file>.')
      // Whoever has a link can redeem it, and arguments end up in shell histories and process lists.
      if (what?.includes('://'))
        throw refuse(
          'invalid_request',
          'A link is not given as an argument, which other users of the machine can read: find --link <file>, or "-" for standard input.',
        )
      const found =
        file === undefined
          ? await context.longRunningReads().findAnything((what ?? '').trim())
          : await context.operator().findLink(await onlyLine(file))
      print(command, context, { found }, () =>
        [
          table(
            ['KIND', 'ID', 'ACCOUNT', 'ABOUT', 'MORE'],
            found.map((one) => [
              one.kind,
              one.id,
              one.account_id ?? '',
              one.about,
              SHOW[one.kind]?.(one) ?? '',
            ]),
            '',
          ),
          ...(found.length >= FOUND_MAX ? [`At most ${FOUND_MAX} of a kind are shown.`] : []),
        ].join('\n'),
      )
      if (found.length === 0)
        throw refuse(
          'not_found',
          file === undefined
            ? 'Nothing was found. Ids and idempotency keys must match exactly.'
            : 'This store never held that link.',
        )
    })
}

async function onlyLine(file: string): Promise<string> {
  const [line, ...more] = await readLines(file)
  if (line === undefined || more.length > 0)
    throw refuse('invalid_request', `"${file}" has to hold one line, the link.`)
  return line
}
