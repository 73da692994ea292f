import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RestoreTestRun } from '../operations/backup-status.ts'
import { type Rule, verifyData } from '../operations/verify.ts'
import { BackupError } from './backup-error.ts'
import type { PgBackRest } from './pgbackrest.ts'
import { countOrders, type PrivateServer, storesOf } from './private-server.ts'
import { type Repository, readRepository } from './repository.ts'
import { restore } from './restore.ts'
import { isLsnAfter, lsnOf } from './wal.ts'

export interface RestoreTestOptions {
  /** With space for the database. */
  readonly scratch: string
  readonly rules: readonly Rule[]
  /** Why these rules do not fit the database at this URL; undefined when they do. */
  schemaMismatchAt(url: string): Promise<string | undefined>
  readonly progress: (line: string) => void
}

const FILES_NAMED_MAX = 5

/**
 * Reads every file of the repository, restores the newest backup as far as the archive reaches, checks the data, and deletes all of
 * it.
 */
export async function testRestore(
  pgbackrest: PgBackRest,
  options: RestoreTestOptions,
): Promise<Pick<RestoreTestRun, 'backup' | 'orders' | 'rules'>> {
  const { scratch, progress } = options
  const repository = await readRepository(pgbackrest)
  refuseGaps(repository)
  progress('reading every file of the repository')
  await verifyFiles(pgbackrest)
  const into = join(scratch, 'restore-test')
  // Left over from a run that was killed.
  await rm(into, { recursive: true, force: true })
  const restored = await restore(pgbackrest, repository, {
    target: { kind: 'latest' },
    into,
    timeline: undefined,
    isCopy: true,
    isDisposable: true,
    progress,
  })
  try {
    refuseShort(await restored.server.log(), repository)
    progress('checking the rules of "verify"')
    return { backup: restored.backup.label, ...(await verifyStores(restored.server, options)) }
  } finally {
    await restored.server.stop()
    await rm(into, { recursive: true, force: true })
  }
}

export function refuseGaps({ gaps, backups: [oldest] }: Repository): void {
  if (gaps.length === 0) return
  throw new BackupError(
    `WAL files are missing in the archive: ${gaps.join(', ')}. No second after the first of them can be restored from a backup before it.`,
    'If they are still in pg_wal of the server, archive them again. Otherwise take a full backup now ("shopwire backup full"): from its end on every second can be restored again. ' +
      `Once you no longer need the seconds before, remove the backups from before the gap, beginning with pgbackrest --set=${oldest.label} expire.`,
  )
}

async function verifyFiles(pgbackrest: PgBackRest) {
  const said = await pgbackrest.run('--output=text', '--log-level-console=info', 'verify')
  if (!/status: error/.test(said)) return
  const named = [...said.matchAll(/invalid (?:checksum|result|size) '?([^\s':]+)|file missing '([^']+)'/g)]
  const files = [...new Set(named.map(([, damaged, missing]) => damaged ?? missing))]
  const summary = said
    .split('\n')
    .filter((line) => /^ {2,}(archiveId|backup|checksum|missing|other|size|No usable)/.test(line))
    .map((line) => line.trim())
  throw new BackupError(
    `Files of the repository are damaged or missing: ${[...files.slice(0, FILES_NAMED_MAX), ...summary].join('; ')}.`,
    'Check the disk of the repository, then take a new full backup ("shopwire backup full") and test it again. What was archived before it stays damaged: ' +
      'restore those files from a copy of the repository if you have one.',
  )
}

/** PostgreSQL treats any file that it cannot read as the end of the archive, without an error. */
function refuseShort(log: string, { lastWal }: Repository) {
  const reached = [...log.matchAll(/redo done at ([0-9A-F]+\/[0-9A-F]+)/g)].at(-1)?.[1] ?? '0/0'
  if (lastWal === undefined || !isLsnAfter(lsnOf(lastWal), reached)) return
  throw new BackupError(
    `Recovery ended at ${reached}, before the newest WAL file in the archive, ${lastWal.name}.`,
    'A file between them cannot be used. Take a full backup now ("shopwire backup full"); from its end on every second can be restored again.',
  )
}

async function verifyStores(
  server: PrivateServer,
  options: RestoreTestOptions,
): Promise<{ orders: number; rules: number }> {
  const stores = await storesOf(server)
  if (stores.length === 0)
    throw new BackupError(
      'The restored server has no database of a store.',
      'pg1-path in pgbackrest.conf must be the data folder of the server that the store uses.',
    )
  for (const name of stores) await verifyStore(server, name, options)
  return { orders: await countOrders(server), rules: options.rules.length }
}

async function verifyStore(server: PrivateServer, name: string, options: RestoreTestOptions) {
  const mismatch = await options.schemaMismatchAt(server.urlOf(name))
  if (mismatch !== undefined)
    throw new BackupError(
      `Restored, but not verified: ${mismatch}`,
      'Install the release of Shopwire that the store runs on this machine, too.',
    )
  const db = server.open(name)
  try {
    const findings = await verifyData(db, options.rules, ({ id }) => options.progress(`  ${id}`))
    const violated = findings.filter(({ violations }) => violations > 0)
    if (violated.length > 0)
      throw new BackupError(
        `Restored, but ${violated.length} of ${findings.length} rules are violated: ${violated.map(({ rule, ids }) => `${rule} (${ids.join(', ')})`).join('; ')}.`,
        'Run "shopwire-admin verify" on the store itself. If it holds there, the backup is damaged: take a new full backup and test it.',
      )
  } finally {
    await db.close()
  }
}
