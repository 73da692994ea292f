import { setTimeout as sleep } from 'node:timers/promises'
import { Command, CommanderError, Option } from 'commander'
import { describeBackups, problemsOf } from '../operations/backup-status.ts'
import type { Rule } from '../operations/verify.ts'
import { day } from '../platform/text/format.ts'
import { printable } from '../platform/text/plain-text.ts'
import { BackupError } from './backup-error.ts'
import { type InitOptions, init, settingsFor } from './init.ts'
import type { PgBackRest } from './pgbackrest.ts'
import { countOrders } from './private-server.ts'
import { type Records, withContents } from './record.ts'
import { type Repository, readRepository } from './repository.ts'
import { describeWindow, restore } from './restore.ts'
import { refuseGaps, testRestore } from './restore-test.ts'
import { dueNow } from './schedule.ts'

export interface BackupContext {
  readonly pgbackrest: PgBackRest
  readonly records: Records
  /** Where the state, and by default the test restores, are stored. */
  readonly state: string
  readonly scratch: string
  rules(): Promise<Rule[]>
  schemaMismatchAt(url: string): Promise<string | undefined>
  nowMs(): number
  out(text: string): void
  err(text: string): void
}

const [OK, FAILED, USAGE] = [0, 1, 2]
const SCHEDULE_EVERY_MS = 60_000

/** Runs one command line and returns the exit code. Errors are printed, never thrown. */
export async function runBackup(context: BackupContext, argv: readonly string[]): Promise<number> {
  const program = new Command('shopwire backup')
    .description('Backups of the database with pgBackRest: take them, check them, test them, restore them.')
    .addOption(new Option('--json', 'print one JSON object instead of text (status, restore, test-restore)'))
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
  const isJson = () => Boolean(program.opts<{ json?: true }>().json)
  addSetup(program, context)
  addBackups(program, context)
  addRestores(program, context, isJson)
  for (const command of [program, ...program.commands])
    command.exitOverride().configureOutput({ writeOut: context.out, writeErr: context.err })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return OK
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === OK ? OK : USAGE
    context.err(isJson() ? `${JSON.stringify(asJson(error))}\n` : `shopwire backup: ${asText(error)}\n`)
    return FAILED
  }
}

function addSetup(program: Command, { pgbackrest, state, out, ...context }: BackupContext) {
  program
    .command('init')
    .option('--pgdata <folder>', 'data folder of PostgreSQL', '/var/lib/postgresql/15/main')
    .option('--port <port>', 'of PostgreSQL', '5432')
    .option('--sockets <folder>', 'where PostgreSQL has its socket', '/var/run/postgresql')
    .option(
      '--repository <folder>',
      'where backups are kept: another disk than the database',
      '/var/lib/pgbackrest',
    )
    .description(
      'write the configuration and the passphrase, prepare the repository, take the first backup; safe to repeat, also with other options',
    )
    .action(async (options: Omit<InitOptions, 'state' | 'named'>, command: Command) => {
      const say = (line: string) => out(`${line}\n`)
      const named = Object.keys(options).filter((name) => command.getOptionValueSource(name) === 'cli')
      await init(pgbackrest, { ...options, state, named: new Set(named) }, say)
      await takeBackup({ pgbackrest, ...context }, 'full')
      say('The first backup is taken. Next: the timers, and "shopwire backup test-restore".')
    })

  program
    .command('settings')
    .description('print the settings that PostgreSQL needs')
    .action(() => out(settingsFor(pgbackrest)))
}

function addBackups(program: Command, context: BackupContext) {
  for (const type of ['full', 'diff'] as const)
    program
      .command(type)
      .description(type === 'full' ? 'back up everything' : 'back up what changed since the last full backup')
      .action(async () => {
        const { window } = await takeBackup(context, type)
        context.out(`Taken. ${describeWindow(window)}\n`)
      })

  program
    .command('check')
    .description(
      'check that the repository can be read, that PostgreSQL archives to it, and that no WAL file is missing',
    )
    .action(async () => {
      const { window } = await check(context)
      context.out(`Nothing is wrong. ${describeWindow(window)}\n`)
    })

  program
    .command('schedule')
    .description(
      'keep running and do what is due: check every hour, diff every day, full every week, test-restore twice a week',
    )
    .action(async () => {
      for (;;) {
        const next = dueNow(await context.records.read(), context.nowMs())
        if (next !== undefined) {
          context.out(`${new Date(context.nowMs()).toISOString()} ${next}\n`)
          await runBackup(context, [next])
        }
        await sleep(next === undefined ? SCHEDULE_EVERY_MS : 0)
      }
    })
}

function addRestores(program: Command, context: BackupContext, isJson: () => boolean) {
  const progress = (line: string) => context.err(`${line}\n`)

  program
    .command('status')
    .description(
      'the last backups and what can be restored, as the repository is now; the last check and restore test; 1 when something is wrong',
    )
    .action(async () => {
      const recorded = await context.records.read()
      let unread: string[] = []
      // On the machine of a restore nothing was recorded; elsewhere the record is as old as the last check.
      const present = await readRepository(context.pgbackrest).catch((error: unknown) => {
        unread = [`This is from the last check. ${asText(error)}`]
        return undefined
      })
      const status = present === undefined ? recorded : withContents(recorded, present)
      if (status === undefined)
        throw new BackupError(
          'Nothing was backed up yet.',
          `Begin with "shopwire backup init". ${unread.join()}`,
        )
      const problems = [...unread, ...problemsOf(status, context.nowMs(), undefined)]
      context.out(
        isJson()
          ? `${JSON.stringify({ ok: problems.length === 0, problems, ...status })}\n`
          : `${describeBackups(status)}\n`,
      )
      if (problems.length > 0)
        throw new BackupError(problems.join('\n'), '"Backups" in the documentation has the details.')
    })

  program
    .command('restore')
    .requiredOption(
      '--to <second>',
      'the state at the beginning of this second, such as 2026-11-17T12:30:00Z, or "latest"',
    )
    .requiredOption('--into <folder>', 'data folder of the new server; it does not exist yet or is empty')
    .option('--timeline <number>', 'follow this timeline instead of the newest')
    .option('--copy', 'only to read it: it archives nothing and must not become the store')
    .description('restore to a second into an empty folder, ready for PostgreSQL to start on it')
    .action(async (options: { to: string; into: string; timeline?: string; copy?: true }) => {
      const startedMs = performance.now()
      const repository = await readRepository(context.pgbackrest)
      const restored = await restore(context.pgbackrest, repository, {
        target: parseTarget(options.to),
        into: options.into,
        timeline: options.timeline === undefined ? undefined : Number(options.timeline),
        isCopy: options.copy === true,
        isDisposable: false,
        progress,
      })
      const orders = await countOrders(restored.server).finally(() => restored.server.stop())
      const seconds = Math.round((performance.now() - startedMs) / 1000)
      const last = restored.lastTransaction ?? null
      context.out(
        isJson()
          ? `${JSON.stringify({ ok: true, backup: restored.backup.label, orders, seconds, last_transaction_at: last })}\n`
          : `Restored ${options.into} in ${seconds} s: ${orders} orders` +
              `${last === null ? '' : `, the last transaction is of ${last} UTC`}.\n` +
              'Next: start PostgreSQL on it, then "Open the store" in the runbooks (shopwire-admin recover status).\n',
      )
    })

  program
    .command('test-restore')
    .description(
      'read every file of the repository, restore the newest backup to a private server, verify it, and remove it again',
    )
    .action(async () => {
      const startedMs = performance.now()
      const seconds = () => Math.round((performance.now() - startedMs) / 1000)
      const finished = () => ({ finished_at: new Date(context.nowMs()).toISOString(), seconds: seconds() })
      const { scratch, schemaMismatchAt } = context
      try {
        const rules = await context.rules()
        const found = await testRestore(context.pgbackrest, { scratch, rules, schemaMismatchAt, progress })
        const run = { ...finished(), ...found, problem: null }
        await context.records.tested(await readRepository(context.pgbackrest), run)
        context.out(
          isJson()
            ? `${JSON.stringify({ ok: true, ...run })}\n`
            : `Backup ${run.backup} restores: ${run.orders} orders, ${run.rules} rules hold, ${run.seconds} s.\n`,
        )
      } catch (error) {
        const problem = asText(error)
        const nothing = { backup: null, orders: null, rules: null }
        await context.records.tested(undefined, { ...finished(), ...nothing, problem })
        throw error
      }
    })
}

type Taking = Pick<BackupContext, 'pgbackrest' | 'records'>

const takeBackup = (context: Taking, type: 'full' | 'diff') => checkAfter(context, `--type=${type}`, 'backup')

async function check(context: Taking): Promise<Repository> {
  // Before any query to PostgreSQL: when the repository cannot be read, that error matters more than PostgreSQL's.
  await readRepository(context.pgbackrest).catch((error: unknown) => failed(context, undefined, error))
  return checkAfter(context, 'check')
}

/** Both commands wait until PostgreSQL has archived one more file. */
async function checkAfter(context: Taking, ...command: string[]): Promise<Repository> {
  let repository: Repository | undefined
  try {
    await context.pgbackrest.run(...command)
    repository = await readRepository(context.pgbackrest)
    refuseGaps(repository)
  } catch (error) {
    return failed(context, repository, error)
  }
  await context.records.checked(repository, null)
  return repository
}

async function failed(
  { records }: Taking,
  repository: Repository | undefined,
  error: unknown,
): Promise<never> {
  await records.checked(repository, asText(error))
  throw error
}

/** Whole seconds in UTC. */
function parseTarget(text: string) {
  if (text === 'latest') return { kind: 'latest' } as const
  const [, date, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:Z|\+00(?::00)?)?$/.exec(text) ?? []
  const at = new Date(`${date}T${time}Z`)
  if (Number.isNaN(at.getTime()) || day(at) !== `${date} ${time}`)
    throw new BackupError(
      `"${text}" is not a second in UTC.`,
      'Write it as 2026-11-17T12:30:00Z, or "latest" for as far as the archive reaches.',
    )
  return { kind: 'time', at } as const
}

function asText(error: unknown): string {
  const { message } = error as Error
  const text = error instanceof BackupError ? `${message}\n${error.advice}` : message
  return text.split('\n').map(printable).join('\n')
}

function asJson(error: unknown) {
  const { message } = error as Error
  return { ok: false, error: { message, advice: error instanceof BackupError ? error.advice : null } }
}
