import { Command, CommanderError, Option } from 'commander'
import { AdmissionMismatchError } from '../operations/operator.ts'
import { OPERATOR_TOKEN_DAYS_WARNED } from '../operations/operator-tokens.ts'
import { UNCONFIRMED_CODE, UNJOURNALLED_CODE } from '../platform/database/database-identity.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import { backupCommands } from './installation/backup.ts'
import { clockCommands } from './installation/clock.ts'
import { doctorCommand } from './installation/doctor.ts'
import { maintenanceCommands } from './installation/maintenance.ts'
import { recoverCommands } from './installation/recover.ts'
import { sealCommands } from './installation/seals.ts'
import { upgradeCommands } from './installation/upgrade.ts'
import { RulesViolatedError, verifyCommand } from './installation/verify.ts'
import { accountCommands } from './store/accounts.ts'
import { catalogueCommands } from './store/catalogue.ts'
import { findCommand } from './store/find.ts'
import { jobCommands } from './store/jobs.ts'
import { keyCommands } from './store/keys.ts'
import { orderCommands } from './store/orders.ts'
import { peopleCommands } from './store/people.ts'
import { statusCommand } from './store/status.ts'
import { storeCommands } from './store/store.ts'
import { supplyCommands } from './store/supply.ts'
import { topUpCommands } from './store/topups.ts'
import { webhookCommands } from './store/webhooks.ts'
import { askFirst } from './terminal/ask-first.ts'
import type { CommandContext } from './terminal/command-context.ts'
import { completionCommand } from './terminal/completion.ts'
import { describeExitCodes, EXIT } from './terminal/exit-codes.ts'
import { NotDoneError, printable, printableLines } from './terminal/print.ts'
import { checkSchemaFirst, SchemaMismatchError, worksOnDatabase } from './terminal/schema-check.ts'
import { red } from './terminal/terminal.ts'

export { EXIT } from './terminal/exit-codes.ts'

/** Runs one command line and returns the exit code. Errors are printed, never thrown. */
export async function runAdmin(outer: CommandContext, argv: readonly string[]): Promise<number> {
  const context: CommandContext = {
    ...outer,
    err: (text) => outer.err(printableLines(text)),
  }
  const { program, isJson } = createProgram(context)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    return explain(error, isJson(), outer)
  }
}

/** Every command with its options. */
export function createProgram(context: CommandContext): { program: Command; isJson(): boolean } {
  const program = new Command('shopwire-admin')
    .description(
      'Runs a Shopwire store: accounts, keys, money in, the catalogue, opening and closing, the database. Every action is audited.',
    )
    .addOption(new Option('--json', 'print one JSON object instead of text'))
    .addOption(
      new Option(
        '--actor <name>',
        'who acts, for the audit log, where no operator token is required; SHOPWIRE_ACTOR or your login by default',
      ),
    )
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
    .enablePositionalOptions(false)
    .configureHelp({ showGlobalOptions: true })
  program.version(context.version, '--version', 'print the version')
  let tokenEndsAt: Date | undefined
  statusCommand(program, context, () => tokenEndsAt)
  findCommand(program, context)
  accountCommands(program, context)
  topUpCommands(program, context)
  jobCommands(program, context)
  keyCommands(program, context)
  peopleCommands(program, context)
  catalogueCommands(program, context)
  supplyCommands(program, context)
  orderCommands(program, context)
  webhookCommands(program, context)
  storeCommands(program, context)
  clockCommands(program, context)
  recoverCommands(program, context)
  backupCommands(program, context)
  maintenanceCommands(program, context)
  upgradeCommands(program, context)
  verifyCommand(program, context)
  sealCommands(program, context)
  doctorCommand(program, context)
  completionCommand(program, context)
  checkSchemaFirst(program, context)
  askFirst(program, context)
  describeExitCodes(program)
  program.hook('preAction', async (_program, command) => {
    if (!worksOnDatabase(command)) return
    tokenEndsAt = await context.identify(program.opts<{ actor?: string }>().actor)
    warnOfTokenEnd(tokenEndsAt, context)
  })
  const isJson = () => Boolean(program.opts().json)
  for (const command of withDescendants(program)) {
    // With --json a mistake in the command line is printed as JSON too.
    const writeErr = (text: string) => {
      if (!isJson()) context.err(text)
    }
    command.exitOverride().configureOutput({ writeOut: context.out, writeErr })
  }
  return { program, isJson }
}

function warnOfTokenEnd(endsAt: Date | undefined, { err, nowMs }: CommandContext): void {
  const days = endsAt && Math.floor((endsAt.getTime() - nowMs()) / DAY_MS)
  if (days !== undefined && days < OPERATOR_TOKEN_DAYS_WARNED)
    err(
      `Warning: your operator token ends in ${days} days. Make the next one with it: shopwire-admin operators add <your address>\n`,
    )
}
const DAY_MS = 86_400_000

function withDescendants(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withDescendants)]
}

function explain(error: unknown, isJson: boolean, { err, terminal }: CommandContext): number {
  if (error instanceof CommanderError && (error.exitCode === 0 || !isJson))
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  const { code, type, message } = describe(error)
  const name = terminal?.isColoured.err ? red('shopwire-admin:') : 'shopwire-admin:'
  err(
    isJson
      ? `${printable(JSON.stringify({ error: { type, message } }))}\n`
      : `${name} ${printableLines(message)}\n`,
  )
  return code
}

function describe(error: unknown): { code: number; type: string; message: string } {
  if (error instanceof CommanderError)
    return { code: EXIT.usage, type: 'invalid_request', message: error.message.replace(/^error: /, '') }
  if (error instanceof Refusal) {
    const code =
      error.type === 'not_found'
        ? EXIT.notFound
        : error.type === 'invalid_request'
          ? EXIT.usage
          : EXIT.conflict
    return { code, type: error.type, message: error.message }
  }
  if (error instanceof NotDoneError) {
    return { code: EXIT.conflict, type: 'not_as_asked', message: error.message }
  }
  if (error instanceof RulesViolatedError) {
    return { code: EXIT.violated, type: 'violated', message: error.message }
  }
  if (error instanceof AdmissionMismatchError) {
    return { code: EXIT.unavailable, type: 'service_unavailable', message: error.message }
  }
  if (
    error instanceof Unavailable &&
    (error.cause as { code?: string } | undefined)?.code === UNCONFIRMED_CODE
  ) {
    const message =
      'Refused: this database was restored or failed over, and no operator has opened the store on it. Run "shopwire-admin recover status".'
    return { code: EXIT.conflict, type: 'store_closed', message }
  }
  if (
    error instanceof Unavailable &&
    (error.cause as { code?: string } | undefined)?.code === UNJOURNALLED_CODE
  ) {
    const message =
      'Refused: this store keeps a journal of sold links, and SHOPWIRE_JOURNAL is not set for this command. Set it to the folder of the workers.'
    return { code: EXIT.conflict, type: 'not_journalled', message }
  }
  if (error instanceof Unavailable) {
    const { reason } = error
    const message =
      error.part === 'admission'
        ? `Redis did not answer (${reason}). If this was a revocation or suspension, it is saved but may not be in force yet: run it again.`
        : error.part === 'journal'
          ? `The journal of sold links cannot be read or written (${reason}). Check SHOPWIRE_JOURNAL and its disk; nothing was changed.`
          : `The database did not answer (${reason}). Check SHOPWIRE_DATABASE_URL and whether the server runs.`
    return { code: EXIT.unavailable, type: 'service_unavailable', message }
  }
  if (error instanceof SchemaMismatchError) {
    return { code: EXIT.schema, type: 'schema_mismatch', message: error.message }
  }
  const { name, message } = error as Error
  return { code: name === 'ConfigError' ? EXIT.usage : EXIT.failed, type: 'failed', message }
}
