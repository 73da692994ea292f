import { type Command, Option } from 'commander'
import { createKek } from '../../platform/encryption/kek-providers.ts'
import type { UnopenedRow } from '../../platform/encryption/re-encrypt.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseLimit } from '../terminal/parse.ts'
import { day, print, table } from '../terminal/print.ts'
import { progressOf } from '../terminal/progress.ts'
import { SchemaMismatchError } from '../terminal/schema-check.ts'

export function maintenanceCommands(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .option('--status', 'only say whether the database fits this program')
    .description('bring the database to the newest version; safe to run from several places at once')
    .action(async ({ status }: { status?: true }, command: Command) => {
      if (status) {
        const mismatch = await context.migrationStatus()
        if (mismatch !== undefined) throw new SchemaMismatchError(mismatch)
        return print(command, context, { ok: true, mismatch: null }, () => 'The database fits this program.')
      }
      const report = await context.migrate((line) => context.err(`${line}\n`))
      return print(command, context, report, () =>
        report.applied.length === 0
          ? `Nothing to do; the database is at version ${report.version}.`
          : `Applied ${report.applied.length}; the database is at version ${report.version}.`,
      )
    })

  const encryption = program.command('encryption').description('keys that protect secrets and links at rest')

  encryption
    .command('new-key')
    .argument(
      '[id]',
      'a name for it, such as 2026-11',
      `k${new Date().toISOString().slice(0, 10).replaceAll('-', '')}`,
    )
    .addOption(
      new Option('--file <path>', 'write it to a new file that only you can read').conflicts('awsKms'),
    )
    .option('--aws-kms <key>', 'let AWS KMS make it: ARN, id or alias of a KMS key')
    .description('print a fresh entry for SHOPWIRE_ENCRYPTION_KEYS')
    .action(async (id: string, { file, awsKms }: NewKeyOptions, command: Command) => {
      const entry =
        awsKms !== undefined
          ? await createKek(id, 'aws-kms', awsKms)
          : file !== undefined
            ? await createKek(id, 'file', file)
            : await createKek(id, 'setting')
      print(command, context, { entry }, () => entry)
    })

  encryption
    .command('status')
    .description('how many secrets and links are under which key')
    .action(async (_options, command: Command) => {
      const { keys, activeId } = context.encryptionKeys()
      const counts = await context.longRunningReads().countSealed()
      const wrong = await context.wrongKeys().catch((error: Error) => {
        // A key server that does not answer is no reason to withhold the list.
        context.err(`Warning: the keys could not be compared with the database: ${error.message}\n`)
        return new Set<string>()
      })
      const ids = [...new Set([...keys.keys(), ...counts.map(({ kek_id }) => kek_id)])]
      const rows = ids.map((id) => ({
        id,
        secrets: counts.find(({ kek_id }) => kek_id === id)?.secrets ?? 0,
        configured: keys.has(id),
        active: id === activeId,
        wrong: wrong.has(id),
      }))
      print(command, context, { keys: rows }, () =>
        table(
          ['ID', 'SECRETS', 'STATE'],
          rows.map((row) => [row.id, String(row.secrets), stateOf(row)]),
          'No keys.',
        ),
      )
      if (wrong.size > 0)
        throw new Error(
          `${[...wrong].join(', ')} in SHOPWIRE_ENCRYPTION_KEYS is not the key of that name that this database was encrypted with. Nothing can be ` +
            'decrypted with it, and no process starts: put the right one back.',
        )
    })

  encryption
    .command('re-encrypt')
    .alias('rewrap')
    .description(
      'give every secret and link a new data key under the active key, while the store runs; afterwards the old key can be removed',
    )
    .action(async (_options, command: Command) => {
      const active = context.encryptionKeys().activeId
      const rows: UnopenedRow[] = []
      const sealed = await context.longRunningReads().countSealed()
      const total = sealed.reduce((sum, { kek_id, secrets }) => sum + (kek_id === active ? 0 : secrets), 0)
      const progress = progressOf(command, context, 're-encrypted')
      progress.at(0, total)
      const { re_encrypted, unopened } = await context.operator().reEncryptSecrets({
        onProgress: (table, done) => progress.at(done, Math.max(total, done), table),
        onUnopened(row) {
          context.err(`does not open: ${describeRow(row)}\n`)
          if (rows.length < UNOPENED_LISTED_MAX) rows.push(row)
        },
      })
      progress.end()
      const counts = await context.longRunningReads().countSealed()
      const left = counts.reduce((sum, { kek_id, secrets }) => sum + (kek_id === active ? 0 : secrets), 0)
      print(command, context, { re_encrypted, active, unopened, left, rows }, () =>
        left === 0
          ? `${re_encrypted} secrets re-encrypted; all are under "${active}" now.`
          : `${re_encrypted} secrets re-encrypted; ${left} are still under another key.`,
      )
      if (unopened > 0) {
        throw new Error(
          `${unopened} values could not be opened; they are named above and left as they are. Where the key is missing, put ` +
            'it back into SHOPWIRE_ENCRYPTION_KEYS and run this again. A value that is damaged has to come from a backup.',
        )
      }
      if (left > 0) {
        throw new Error(
          `${left} values were sealed under another key meanwhile: a process still encrypts with it. Restart every process with "${active}" ` +
            'as the active key, and run this again.',
        )
      }
    })

  program
    .command('audit')
    .option('--target <id>', 'only what was done to this account, key or thing')
    .option('--limit <n>', 'how many', parseLimit, 50)
    .description('who did what, newest first')
    .action(async ({ target, limit }: { target?: string; limit: number }, command: Command) => {
      const actions = await context.reads().listActions(target, limit)
      print(command, context, { actions }, () =>
        table(
          ['TIME (UTC)', 'ACTOR', 'ACTION', 'TARGET', 'DETAILS'],
          actions.map((a) => [day(a.at), a.actor, a.action, a.target, JSON.stringify(a.details)]),
          'Nothing has been done yet.',
        ),
      )
    })

  program
    .command('config')
    .option('--reference', 'all settings with their defaults')
    .description('check the configuration and print it, secrets masked')
    .action(({ reference }: { reference?: true }, command: Command) => {
      if (reference) {
        const settings = context.configReference()
        return print(command, context, { settings }, () =>
          table(
            ['SETTING', 'DEFAULT', 'MEANING'],
            settings.map((s) => [s.name, s.default, s.meaning]),
            '',
          ),
        )
      }
      const values = context.describeConfig()
      return print(command, context, values, () => table(['SETTING', 'VALUE'], Object.entries(values), ''))
    })

  program
    .command('metrics')
    .description('print every metric that API and worker expose, and what to do when it moves')
    .action(async (_options, command: Command) => {
      const metrics = await context.metricsReference()
      print(command, context, { metrics }, () =>
        table(
          ['METRIC', 'TYPE', 'OF', 'MEANING'],
          metrics.map((m) => [m.name, m.type, m.processes.join('+'), `${m.help} ${m.action ?? ''}`.trim()]),
          '',
        ),
      )
    })
}

interface NewKeyOptions {
  readonly file?: string
  readonly awsKms?: string
}

/** How many rows that cannot be decrypted the JSON output lists at most. */
const UNOPENED_LISTED_MAX = 1_000

function describeRow({ table, keys, kek_id }: UnopenedRow): string {
  const names = Object.entries(keys).map(([name, value]) => `${name}=${value}`)
  return `${table} (${names.join(', ')}), sealed under "${kek_id}"`
}

function stateOf({
  configured,
  active,
  wrong,
  secrets,
}: {
  configured: boolean
  active: boolean
  wrong: boolean
  secrets: number
}): string {
  if (wrong) return 'WRONG: not the key of this name that was used'
  if (!configured) return 'MISSING from SHOPWIRE_ENCRYPTION_KEYS'
  if (active) return 'active'
  return secrets > 0 ? 'still needed: run encryption re-encrypt' : 'can be removed'
}
