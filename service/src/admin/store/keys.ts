import { scopes as allScopes } from '@shopwire/contract'
import type { Command } from 'commander'
import type { ApiKey } from '../../accounts/api-key.ts'
import { printable } from '../../platform/text/plain-text.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { day, print, table } from '../terminal/print.ts'

/** Names for the usual sets: without them people type "all" to save time, and grant more than is needed. */
const PRESETS: Readonly<Record<string, readonly string[]>> = {
  all: allScopes,
  read: allScopes.filter((scope) => scope.endsWith(':read')),
  ordering: ['account:read', 'catalogue:read', 'orders:read', 'orders:write'],
}

export function keyCommands(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('what an account signs its requests with')

  keys
    .command('create')
    .argument('<account>')
    .requiredOption('--name <text>', 'where it will be used')
    .requiredOption('--scopes <list>', `comma-separated scopes, or ${Object.keys(PRESETS).join(', ')}`)
    .description('make a key; its secret is shown here and never again')
    .action(
      async (account_id: string, { name, scopes }: { name: string; scopes: string }, command: Command) => {
        const wanted = PRESETS[scopes] ?? scopes.split(',').map((scope) => scope.trim())
        const { key, secret } = await context.operator().createKey(account_id, name, wanted)
        print(command, context, { key, secret }, () =>
          [
            `Key     ${key.id}`,
            `Secret  ${secret}`,
            `Scopes  ${key.scopes.join(' ')}`,
            'The secret is not shown again. Keep it on a server, never in a browser or a repository.',
            ...scopeWarnings(key),
          ].join('\n'),
        )
      },
    )

  keys
    .command('list')
    .argument('<account>')
    .description('keys of an account, revoked ones too')
    .action(async (account_id: string, _options, command: Command) => {
      const rows = await context.reads().listKeys(account_id)
      print(command, context, { keys: rows }, () => keyTable(rows))
    })

  keys
    .command('revoke')
    .argument('<key>', 'the public id, key_…')
    .description('revoke a key, immediately and permanently')
    .action(async (key_id: string, _options, command: Command) => {
      const key = await context.operator().revokeKey(key_id)
      print(
        command,
        context,
        key,
        () => `Revoked ${key.id} "${printable(key.name)}"; its next request gets 401.`,
      )
    })
}

export function keyTable(keys: readonly ApiKey[]): string {
  return table(
    ['KEY', 'STATUS', 'CREATED', 'NAME', 'SCOPES'],
    keys.map(({ id, revoked_at, created_at, name, scopes }) => [
      id,
      revoked_at ? 'revoked' : 'live',
      day(created_at),
      name,
      scopes.join(' '),
    ]),
    'No keys yet. Make one: shopwire-admin keys create <account> --name <name> --scopes all',
  )
}

function scopeWarnings({ scopes }: ApiKey): string[] {
  if (!scopes.includes('webhooks:write') || scopes.includes('orders:read')) return []
  return ['Note: without orders:read this key can stop webhooks but not point them at a URL.']
}
