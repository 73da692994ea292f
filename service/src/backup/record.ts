import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type BackupStatus, readBackupStatus, statusFile } from '../operations/backup-status.ts'
import type { Backup, Repository } from './repository.ts'

export interface Records {
  /** Records the contents of the repository, and the result of checking it. */
  checked(repository: Repository | undefined, problem: string | null): Promise<void>
  tested(repository: Repository | undefined, run: NonNullable<BackupStatus['restore_test']>): Promise<void>
  read(): Promise<BackupStatus | undefined>
}

export interface RecordOptions {
  readonly folder: string
  /** For the textfile collector of node_exporter. */
  readonly metricsFile: string | undefined
  nowMs(): number
}

/** What is unknown now stays as it was: a repository that cannot be read changes nothing. */
export function openRecords({ folder, metricsFile, nowMs }: RecordOptions): Records {
  async function update(
    repository: Repository | undefined,
    change: (before: BackupStatus) => Partial<BackupStatus>,
  ) {
    const found = await readBackupStatus(folder)
    const before = repository === undefined ? (found ?? NOTHING) : withContents(found, repository)
    const status = { ...before, ...change(before) }
    await writeWhole(statusFile(folder), `${JSON.stringify(status, undefined, 2)}\n`)
    if (metricsFile !== undefined) await writeWhole(metricsFile, metricsText(status))
  }
  return {
    read: () => readBackupStatus(folder),
    checked: (repository, check_problem) =>
      update(repository, () => ({ checked_at: new Date(nowMs()).toISOString(), check_problem })),
    tested: (repository, run) =>
      update(repository, ({ last_good_restore_test }) => ({
        restore_test: run,
        last_good_restore_test: run.problem === null ? run : last_good_restore_test,
      })),
  }
}

/** The record, updated with the present contents of the repository. Tests of another server's backups say nothing about these. */
export function withContents(recorded: BackupStatus | undefined, repository: Repository): BackupStatus {
  const isOther = recorded?.system_identifier !== repository.systemIdentifier
  return { ...(recorded === undefined || isOther ? NOTHING : recorded), ...contentsOf(repository) }
}

const NOTHING: BackupStatus = {
  system_identifier: '',
  checked_at: new Date(0).toISOString(),
  check_problem: null,
  last_full: null,
  last_diff: null,
  last_wal: null,
  window: null,
  restore_test: null,
  last_good_restore_test: null,
}

function contentsOf({ systemIdentifier, backups, lastWal, window }: Repository): Partial<BackupStatus> {
  const summary = (backup: Backup | undefined) =>
    backup === undefined
      ? null
      : {
          label: backup.label,
          finished_at: backup.finishedAt.toISOString(),
          bytes: backup.bytes,
          repository_bytes: backup.repositoryBytes,
        }
  return {
    system_identifier: systemIdentifier,
    last_full: summary(backups.findLast(({ type }) => type === 'full')),
    last_diff: summary(backups.findLast(({ type }) => type !== 'full')),
    last_wal: lastWal ? { name: lastWal.name, archived_at: lastWal.archivedAt.toISOString() } : null,
    window: { from: window.from.toISOString(), to: window.to.toISOString() },
  }
}

/** Never leaves half a file: other programs read it while it is written. */
async function writeWhole(path: string, text: string) {
  await mkdir(dirname(path), { recursive: true })
  // node_exporter only reads files that end in .prom.
  const unfinished = `${path}.${process.pid}`
  await writeFile(unfinished, text, { mode: 0o644 })
  await rename(unfinished, path)
}

/** A gauge without a value has no series: alerts use absent(). */
function metricsText(status: BackupStatus): string {
  const { last_full, last_diff, last_wal, window, restore_test, last_good_restore_test: good } = status
  const seconds = (at: string | undefined) => (at === undefined ? undefined : Date.parse(at) / 1000)
  const last = [last_full, last_diff].flatMap((backup) => (backup ? [backup.finished_at] : [])).sort()
  const gauges: readonly (readonly [name: string, help: string, value: number | undefined])[] = [
    [
      'backup_last_success_timestamp_seconds',
      'When the newest backup of any type ended.',
      seconds(last.at(-1)),
    ],
    [
      'backup_last_full_success_timestamp_seconds',
      'When the newest full backup ended.',
      seconds(last_full?.finished_at),
    ],
    [
      'backup_last_archived_timestamp_seconds',
      'When the newest WAL file reached the repository.',
      seconds(last_wal?.archived_at),
    ],
    [
      'backup_window_start_timestamp_seconds',
      'The first second that a restore can name.',
      seconds(window?.from),
    ],
    ['backup_last_check_timestamp_seconds', 'When backups were last checked.', seconds(status.checked_at)],
    [
      'backup_check_success',
      '1 when the last check of backups found nothing wrong.',
      status.check_problem === null ? 1 : 0,
    ],
    [
      'restore_test_last_success_timestamp_seconds',
      'When a backup was last restored and verified without a finding.',
      seconds(good?.finished_at),
    ],
    [
      'restore_test_success',
      '1 when the last restore test ended well.',
      restore_test === null ? undefined : Number(restore_test.problem === null),
    ],
    ['restore_test_duration_seconds', 'How long the last good restore test took.', good?.seconds],
  ]
  return gauges
    .filter(([, , value]) => value !== undefined)
    .map(
      ([name, help, value]) =>
        `# HELP shopwire_${name} ${help}\n# TYPE shopwire_${name} gauge\nshopwire_${name} ${value}\n`,
    )
    .join('')
}
