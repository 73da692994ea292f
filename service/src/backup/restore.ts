import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { day } from '../platform/text/format.ts'
import { BackupError } from './backup-error.ts'
import type { PgBackRest } from './pgbackrest.ts'
import { lastTransaction, type PrivateServer, RecoveryFailed, startPrivateServer } from './private-server.ts'
import type { Backup, Repository } from './repository.ts'
import { segmentOf } from './wal.ts'

export type Target =
  /** The state at the beginning of this second. */
  | { readonly kind: 'time'; readonly at: Date }
  /** As far as the archive reaches. */
  | { readonly kind: 'latest' }

export interface RestoreOptions {
  readonly target: Target
  /** Does not exist, or is empty. */
  readonly into: string
  /** A timeline other than the newest. */
  readonly timeline: number | undefined
  /** Never becomes the store: it archives nothing, now or later. */
  readonly isCopy: boolean
  readonly isDisposable: boolean
  readonly progress: (line: string) => void
}

export interface Restored {
  readonly backup: Backup
  readonly server: PrivateServer
  /** The time of the last transaction that was recovered from WAL; undefined when the backup contained all of them. */
  readonly lastTransaction: string | undefined
}

const ROOM = 1.1
const ARCHIVED_MS_MAX = 60_000
const POLL_MS = 200

/**
 * Restores and recovers; when this returns the server runs, and only this user of the machine can reach it. On failure the folder
 * is empty again.
 */
export async function restore(
  pgbackrest: PgBackRest,
  repository: Repository,
  options: RestoreOptions,
): Promise<Restored> {
  const { into, target, progress } = options
  await refuseUnlessEmpty(into)
  const backup = chooseBackup(repository, options)
  await refuseWithoutRoom(into, backup)
  await mkdir(into, { recursive: true, mode: 0o700 })
  // A separate folder: the server in production uses those of the configuration.
  const scratch = await mkdtemp('/tmp/shopwire-pgbackrest-')
  const own = [`--spool-path=${scratch}/spool`, `--lock-path=${scratch}/lock`, `--pg1-path=${into}`]
  const command = [pgbackrest.commandLine, ...own].join(' ')
  try {
    progress(`restoring backup ${backup.label} (${gigabytes(backup.bytes)}) into ${into}`)
    await pgbackrest.run(
      `--pg1-path=${into}`,
      `--lock-path=${scratch}/lock`,
      `--set=${backup.label}`,
      ...targetOptions(target),
      ...(options.timeline === undefined ? [] : [`--target-timeline=${options.timeline}`]),
      `--archive-mode=${options.isCopy ? 'off' : 'preserve'}`,
      `--recovery-option=restore_command=${command} archive-get %f "%p"`,
      'restore',
    )
    progress('recovering from the WAL archive')
    const server = await startPrivateServer({
      data: into,
      env: pgbackrest.env,
      archiveCommand: options.isCopy ? undefined : `${command} archive-push %p`,
      isDisposable: options.isDisposable,
    })
    const release = async () => {
      await server.stop()
      await rm(scratch, { recursive: true, force: true })
    }
    try {
      if (!options.isDisposable) await leaveRecoveryBehind(server, into, options.isCopy)
      return {
        backup,
        server: { ...server, stop: release },
        lastTransaction: lastTransaction(await server.log()),
      }
    } catch (error) {
      await release()
      throw error
    }
  } catch (error) {
    await rm(scratch, { recursive: true, force: true })
    for (const name of await readdir(into)) await rm(join(into, name), { recursive: true, force: true })
    throw error instanceof RecoveryFailed ? explain(error, repository, target) : error
  }
}

async function refuseUnlessEmpty(into: string) {
  const names = await readdir(into).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new BackupError(
      `${into} cannot be used: ${error.code}.`,
      'Name a folder that does not exist yet or is empty.',
    )
  })
  if (names.length > 0)
    throw new BackupError(
      `${into} is not empty; nothing was changed.`,
      'A restore never overwrites: move the existing files away, or name another folder.',
    )
}

function chooseBackup(
  { backups, window, gaps }: Repository,
  { target, timeline }: Pick<RestoreOptions, 'target' | 'timeline'>,
): Backup {
  const reachable = backups.filter(({ walStart }) => timeline === undefined || walStart.timeline <= timeline)
  if (target.kind === 'time') {
    const { at } = target
    if (at < window.from)
      throw new BackupError(
        `${day(at)} UTC is before the oldest backup that is kept. ${describeWindow(window)}`,
        'Name a later second, or look for an older copy of the repository.',
      )
    if (at > window.to)
      throw new BackupError(
        `${day(at)} UTC is after the last WAL file in the archive. ${describeWindow(window)}`,
        'Name an earlier second, or restore as far as possible with --to latest. If the old server can still be started, its last WAL files are archived then.',
      )
    const found = reachable.findLast(({ finishedAt }) => finishedAt.getTime() + 1000 <= at.getTime())
    if (found) return found
  }
  const newest = reachable.at(-1)
  if (newest === undefined || target.kind === 'time')
    throw new BackupError(
      `No backup of timeline ${timeline} or before it can be used.`,
      'Leave --timeline out to follow the newest.',
    )
  const missing = gaps.find((name) => segmentOf(name).number >= newest.walStart.number)
  // PostgreSQL treats a missing file as the end of the archive and would stop there without an error.
  if (target.kind === 'latest' && missing !== undefined)
    throw new BackupError(
      `WAL file ${missing} is missing in the archive, so what was archived after it cannot be reached.`,
      'Restore to a second before it with --to. If the old server still has the file in its pg_wal, archive it first.',
    )
  return newest
}

async function refuseWithoutRoom(into: string, { bytes, label }: Backup) {
  let folder = into
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < bytes * ROOM)
    throw new BackupError(
      `${folder} has ${gigabytes(bavail * bsize)} free, and backup ${label} needs ${gigabytes(bytes * ROOM)}.`,
      'Free some space there or use a folder on another disk.',
    )
}

function targetOptions(target: Target): string[] {
  if (target.kind === 'latest') return ['--type=default']
  return ['--type=time', `--target=${day(target.at)}+00`, '--target-action=promote']
}

/** Removes the settings for this recovery, and archives the timeline history file, which a later restore needs. */
async function leaveRecoveryBehind(server: PrivateServer, into: string, isCopy: boolean) {
  for (const name of [
    'restore_command',
    ...['time', 'action', 'timeline'].map((what) => `recovery_target_${what}`),
  ])
    await server.query(`alter system reset ${name}`)
  if (isCopy) return
  const status = join(into, 'pg_wal/archive_status')
  const giveUpMs = performance.now() + ARCHIVED_MS_MAX
  for (;;) {
    const open = (await readdir(status)).filter((name) => name.endsWith('.history.ready'))
    if (open.length === 0) return
    if (performance.now() > giveUpMs)
      throw new BackupError(
        `The data are restored, but ${open.join(', ')} cannot be written to the repository:\n${await server.log()}`,
        'The repository must be writable: the restored server continues its archive. To only read the data, restore with --copy.',
      )
    await sleep(POLL_MS)
  }
}

function explain(failed: RecoveryFailed, { gaps, window }: Repository, target: Target): BackupError {
  const reached =
    failed.reachedAt === undefined
      ? 'no transaction of the archive was recovered'
      : `the last transaction that was recovered is of ${failed.reachedAt} UTC`
  if (/recovery ended before configured recovery target was reached/.test(failed.said)) {
    const wanted = target.kind === 'time' ? `${day(target.at)} UTC` : 'the end of the archive'
    return gaps.length > 0
      ? new BackupError(
          `${wanted} cannot be reached: WAL file ${gaps.join(', ')} is missing in the archive; ${reached}.`,
          'Restore to a second before that. For what comes after it, take a new full backup now: "shopwire backup full".',
        )
      : new BackupError(
          `${wanted} cannot be reached: ${reached}, and the archive has none after that second.`,
          `Name an earlier second, or restore everything with --to latest. ${describeWindow(window)}`,
        )
  }
  return new BackupError(
    `The restored server does not start (${reached}):\n${failed.said}`,
    'A damaged or missing file of the archive is named above: "shopwire backup test-restore" checks every file. Restore to a second before it, or from an older backup.',
  )
}

export function describeWindow({ from, to }: Repository['window']): string {
  return `Seconds from ${day(from)} to ${day(to)} UTC can be restored.`
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(2)} GB`
}
