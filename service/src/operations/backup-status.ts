import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { day } from '../platform/text/format.ts'

/**
 * The latest results of "shopwire backup". A file on the machine of the backups, not a table: a restored database would show tests
 * from before the restore, and a lost one could not be queried.
 */
export interface BackupStatus {
  /** The server whose backups these are; empty while none could be read. */
  readonly system_identifier: string
  readonly checked_at: string
  /** Null: backups, archive and WAL files were as they should be. */
  readonly check_problem: string | null
  readonly last_full: BackupSummary | null
  readonly last_diff: BackupSummary | null
  readonly last_wal: { readonly name: string; readonly archived_at: string } | null
  /** The earliest and the latest second that can be restored. */
  readonly window: { readonly from: string; readonly to: string } | null
  readonly restore_test: RestoreTestRun | null
  readonly last_good_restore_test: RestoreTestRun | null
}

interface BackupSummary {
  readonly label: string
  readonly finished_at: string
  readonly bytes: number
  readonly repository_bytes: number
}

export interface RestoreTestRun {
  readonly finished_at: string
  readonly seconds: number
  readonly backup: string | null
  readonly orders: number | null
  /** How many rules of "verify" were checked. */
  readonly rules: number | null
  /** Null: restored, and no rule is violated. */
  readonly problem: string | null
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Each is the interval of the timers plus time for one long run. */
const CHECK_AGE_MS_MAX = 2 * HOUR_MS
const BACKUP_AGE_MS_MAX = 26 * HOUR_MS
const FULL_AGE_MS_MAX = 8 * DAY_MS
const RESTORE_TEST_AGE_MS_MAX = 7 * DAY_MS

/** Undefined when nothing was ever recorded there. */
export async function readBackupStatus(folder: string): Promise<BackupStatus | undefined> {
  const text = await readFile(statusFile(folder), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return text === undefined ? undefined : (JSON.parse(text) as BackupStatus)
}

export function statusFile(folder: string): string {
  return join(folder, 'status.json')
}

/** Everything that is wrong, with what to do; empty when a restore would work as far as is known. */
export function problemsOf(
  status: BackupStatus,
  nowMs: number,
  /** The system identifier of the store's database; undefined when it did not answer. */
  systemIdentifier: string | undefined,
): string[] {
  const { last_full, last_diff, last_good_restore_test: good, restore_test: tested } = status
  const last = [last_full, last_diff]
    .flatMap((backup) => (backup ? [backup.finished_at] : []))
    .sort()
    .at(-1)
  const isOlder = (at: string | undefined, msMax: number) =>
    at === undefined || nowMs - Date.parse(at) > msMax
  const problems: string[] = []
  const { system_identifier: backedUp } = status
  if (systemIdentifier !== undefined && backedUp !== '' && systemIdentifier !== backedUp)
    problems.push(
      `These are backups of another server (system identifier ${backedUp}; the store runs on ${systemIdentifier}). Set up backups of this one: "shopwire backup init".`,
    )
  if (isOlder(status.checked_at, CHECK_AGE_MS_MAX))
    problems.push(
      `The last check was at ${shown(status.checked_at)}. It runs every hour: check the timers, or the container "backup".`,
    )
  if (status.check_problem !== null) problems.push(status.check_problem)
  if (isOlder(last, BACKUP_AGE_MS_MAX))
    problems.push(
      `The last backup is of ${shown(last)}. "shopwire backup diff" takes one, or says why it cannot.`,
    )
  if (isOlder(last_full?.finished_at, FULL_AGE_MS_MAX))
    problems.push(
      `The last full backup is of ${shown(last_full?.finished_at)}. "shopwire backup full" takes one, or says why it cannot.`,
    )
  if (tested !== null && tested.problem !== null)
    problems.push(`The restore test of ${shown(tested.finished_at)} failed: ${tested.problem}`)
  if (isOlder(good?.finished_at, RESTORE_TEST_AGE_MS_MAX))
    problems.push(
      `The last good restore test is of ${shown(good?.finished_at)}. "shopwire backup test-restore" makes one, or says why a restore would fail.`,
    )
  return problems
}

function shown(at: string | undefined): string {
  return at === undefined ? 'never' : `${day(new Date(at))} UTC`
}

/** Without `asOf` the contents are current. */
export function describeBackups(status: BackupStatus, asOf?: string): string {
  const { last_full, last_diff, last_wal, window, last_good_restore_test: good } = status
  const summary = (backup: BackupSummary | null) =>
    backup === null
      ? 'none'
      : `${shown(backup.finished_at)}, ${backup.label}, ${megabytes(backup.bytes)}, ${megabytes(backup.repository_bytes)} in the repository`
  return [
    `last full         ${summary(last_full)}`,
    `last differential ${summary(last_diff)}`,
    `last WAL file     ${last_wal === null ? 'none' : `${shown(last_wal.archived_at)}, ${last_wal.name}`}`,
    `restorable        ${describeWindow(window, asOf)}`,
    `restore test      ${good === null ? 'never' : `${shown(good.finished_at)}, backup ${good.backup}, ${good.orders} orders, ${good.rules} rules hold, took ${good.seconds} s`}`,
    `checked           ${shown(status.checked_at)}`,
  ].join('\n')
}

function describeWindow(window: BackupStatus['window'], asOf: string | undefined): string {
  if (window === null) return 'nothing'
  // The file that ends a backup is archived in the same second.
  if (window.to < window.from)
    return 'the end of the first backup; more as soon as the next WAL file is archived, within a minute'
  const seconds = `every second from ${shown(window.from)} to ${shown(window.to)}`
  return asOf === undefined ? seconds : `${seconds}, ${asOf}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MB`
}
