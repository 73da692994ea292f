import { type Command, InvalidArgumentError } from 'commander'
import type { UpgradeCheck } from '../../platform/schema/upgrade-check.ts'
import type { PlannedMigration, PlannedStep } from '../../platform/schema/upgrade-plan.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseDuration } from '../terminal/parse.ts'
import { print, table } from '../terminal/print.ts'

interface CheckOptions {
  readonly watch: number
  readonly pauseMax: number
  readonly diskFree?: number
  readonly oneWay?: true
}

const WATCH_MS = 5_000
const PAUSE_MS_MAX = 5_000
const BYTES_PER_MB = 1_000_000
const UNITS: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, TB: 1e12 }

export function upgradeCommands(program: Command, context: CommandContext): void {
  const upgrade = program.command('upgrade').description('before a new release is installed')

  upgrade
    .command('check')
    .option(
      '--watch <time>',
      'how long a transaction must stay open to count as blocking',
      parseDuration,
      WATCH_MS,
    )
    .option('--pause-max <time>', 'the longest pause for calls', parseDuration, PAUSE_MS_MAX)
    .option('--disk-free <size>', 'free space on the volume of the database, such as 20GB', parseSize)
    .option('--one-way', 'allow an upgrade after which the former release cannot run')
    .description(
      'what "migrate" of this program would do now: locks, time, disk, the way back; changes nothing; exit code 0: go, 1: stop',
    )
    .action(async ({ watch, pauseMax, diskFree, oneWay }: CheckOptions, command: Command) => {
      const check = await context.checkUpgrade({
        lookMs: watch,
        pauseSecondsMax: pauseMax / 1_000,
        diskFreeBytes: diskFree,
        isOneWayAccepted: oneWay ?? false,
      })
      print(command, context, check, () => describeCheck(check))
      if (!check.go) throw new Error(`do not upgrade now: ${check.reasons.length} reasons are listed above.`)
    })
}

function describeCheck(check: UpgradeCheck): string {
  const { database_version, program_version, migrations, functions, estimate, programs, disk } = check
  const isNothing = migrations.length + functions.replaced.length === 0
  const summary: [string, string][] = [
    ['Database', `version ${database_version}; this program has ${program_version}`],
    [
      'To do',
      isNothing ? 'nothing' : `${migrations.length} migrations, ${functions.replaced.length} functions`,
    ],
    [
      'Time',
      `at most about ${estimate.seconds} s; the longest pause for calls is ${estimate.pause_seconds} s`,
    ],
    ['Running programs', describePrograms(check)],
    ['Way back', programs.way_back_open ? 'open' : `closed by ${programs.closed_by.join(', ')}`],
    ['Disk', `up to ${megabytes(disk.needed_bytes)} for indexes and rewritten tables`],
    ['Archive of WAL', describeArchive(check)],
  ]
  const { rates } = estimate
  return [
    ...migrations.flatMap(describeMigration),
    ...(functions.replaced.length > 0
      ? [`functions: ${functions.replaced.join(', ')}`, ...describeSteps(functions.steps), '']
      : []),
    ...summary.map(([name, value]) => `${name.padEnd(18)}${value}`),
    ...(isNothing
      ? []
      : [
          `Estimated with ${rates.seconds_per_file} s per file, ${rates.scan_mb_per_s} MB/s to read a table, ${rates.index_mb_per_s} MB/s to index it, ` +
            `${rates.rewrite_mb_per_s} MB/s to rewrite it, ${rates.changed_rows_per_s} changed rows/s, without waiting for locks.`,
        ]),
    ...check.warnings.map((warning) => `Note: ${warning}`),
    ...check.reasons.map((reason) => `STOP: ${reason}`),
    ...(check.go ? ['Go.'] : []),
  ].join('\n')
}

function describeMigration({ name, description, notes, is_needed, steps }: PlannedMigration): string[] {
  return [
    `${name}: ${description}`,
    ...notes.map((note) => `  ${note}`),
    ...(is_needed ? [] : ['  Programs start without it.']),
    ...describeSteps(steps),
    '',
  ]
}

function describeSteps(steps: readonly PlannedStep[]): string[] {
  if (steps.length === 0) return ['  No table in use is locked.']
  const lines = table(
    ['TABLE', 'LOCK', 'BLOCKS', 'WORK', 'ROWS', 'SIZE', 'TIME'],
    steps.map(({ table: name, lock, blocks, work, rows, bytes, seconds }) => [
      name,
      lock,
      blocks,
      [...new Set(work)].map((one) => WORK_TEXT[one]).join(', ') || 'catalogue only',
      rows === null ? 'not counted' : rows.toLocaleString('en-US'),
      megabytes(bytes),
      `${seconds} s`,
    ]),
    '',
  )
  return lines.split('\n').map((line) => `  ${line}`)
}

const WORK_TEXT = {
  none: '',
  scan: 'reads it',
  index: 'indexes it',
  rewrite: 'rewrites it',
  rows: 'changes rows',
  unknown: 'not known',
} as const

function describePrograms({ programs, database_version }: UpgradeCheck): string {
  if (database_version === 0) return 'none: the database is new'
  return programs.way_back_open
    ? `those of version ${database_version} continue meanwhile`
    : `those of version ${database_version} have to be stopped first`
}

function describeArchive({ archive: { last_seconds, is_failing } }: UpgradeCheck): string {
  const last = last_seconds === null ? 'nothing yet' : `last file ${last_seconds} s ago`
  return is_failing ? `${last}, and failing since` : last
}

function megabytes(bytes: number): string {
  return `${(bytes / BYTES_PER_MB).toLocaleString('en-US', { maximumFractionDigits: 1 })} MB`
}

function parseSize(text: string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)(MB|GB|TB)$/.exec(text) ?? []
  if (count === undefined)
    throw new InvalidArgumentError('must be a number and a unit, such as 500MB or 20GB.')
  return Number(count) * (UNITS[unit] ?? 1)
}
