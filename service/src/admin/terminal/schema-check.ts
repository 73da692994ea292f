import type { Command } from 'commander'
import type { CommandContext } from './command-context.ts'

/** The database is older or newer than this program. */
export class SchemaMismatchError extends Error {
  override readonly name = 'SchemaMismatchError'
}

/** These check the schema themselves or need no database. */
const EXEMPT: ReadonlySet<string> = new Set([
  'migrate',
  'upgrade check',
  'config',
  'doctor',
  'metrics',
  'encryption new-key',
  'backup status',
  'completion',
])

/** An old command on a new schema, or a new one on an old schema, could book money by outdated rules. It is refused before it runs. */
export function checkSchemaFirst(program: Command, context: CommandContext): void {
  program.hook('preAction', async (_program, command) => {
    if (!worksOnDatabase(command)) return
    const mismatch = await context.schemaMismatch()
    if (mismatch !== undefined) throw new SchemaMismatchError(mismatch)
  })
}

/** False for the commands that check the schema themselves or need no database. */
export const worksOnDatabase = (command: Command) => !EXEMPT.has(pathOf(command)) && !isOffline(command)

/** An export is checked without a database. */
const isOffline = (command: Command) => pathOf(command) === 'verify' && command.opts().export !== undefined

/** Every command that runs something; groups only have subcommands. */
export function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
}

/** As it is typed: `orders cancel`. */
export function pathOf(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name()
}
