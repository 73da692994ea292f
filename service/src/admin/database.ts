import type { Command } from 'commander'
import { type DatabaseState, nameIdentity } from '../platform/database-identity.ts'
import type { CommandContext } from './command-context.ts'
import { day, print } from './print.ts'

export function databaseCommands(program: Command, context: CommandContext): void {
  const database = program
    .command('database')
    .description('which database server the store runs on; see "Restores and failover" in the documentation')

  database
    .command('status')
    .description('the identity that was confirmed, and the present one')
    .action(async (_options, command: Command) => {
      const state = await context.reads().showDatabase()
      print(command, context, { ...state, identity: nameIdentity(state.present) }, () => describe(state))
    })

  database
    .command('confirm')
    .requiredOption('--identity <identity>', 'the present one, as "database status" prints it')
    .description('let a restored, failed-over or upgraded store deliver, send and buy again')
    .action(async ({ identity }: { identity: string }, command: Command) => {
      const { state, isNew } = await context.operator().confirmDatabase(identity)
      print(command, context, { ...state, isNew }, () =>
        isNew
          ? `Confirmed ${nameIdentity(state.present)}. Workers and API continue within seconds.`
          : `${nameIdentity(state.present)} is confirmed already; nothing was changed.`,
      )
    })
}

function describe(state: DatabaseState): string {
  const { recorded, present, is_confirmed, confirmed_at, confirmed_by } = state
  const lines = [
    `Confirmed  ${nameIdentity(recorded)}  on ${day(confirmed_at)} UTC by ${confirmed_by}`,
    `Present    ${nameIdentity(present)}`,
  ]
  if (is_confirmed) return [...lines, 'They are the same: there is nothing to confirm.'].join('\n')
  const what =
    recorded.system_identifier === present.system_identifier
      ? 'The timeline differs: the database was restored to a point in time, or a standby was promoted.'
      : 'The system identifier differs: the data were copied or restored to another server, or pg_upgrade was run.'
  return [
    ...lines,
    what,
    'Nothing is delivered, sent, refunded or bought, and new orders get 503, until somebody confirms the present one.',
    'Compare first what callers and suppliers have with what this database knows ("Restores and failover" in the documentation), then:',
    `  shopwire-admin database confirm --identity ${nameIdentity(present)}`,
  ].join('\n')
}
