#!/usr/bin/env node
import { execFileSync } from 'node:child_process'
import { openPgBackRest } from '../src/backup/pgbackrest.ts'
import { runBackup } from '../src/backup/program.ts'
import { openRecords } from '../src/backup/record.ts'
import { type ConfigError, loadBackupConfig, programEnvironment } from '../src/config/config.ts'
import { INVARIANTS, SCHEMA } from '../src/installation.ts'
import { readRules } from '../src/operations/verify.ts'
import { systemClock } from '../src/platform/clock.ts'
import { schemaMismatchAt } from '../src/platform/schema/schema-version.ts'

/** Backups, on the machine of the database and as its user: pgBackRest reads the files of the server. */
const USER = 'postgres'

becomePostgres()
// Ends the private server, if one runs: its "exit" handler is called.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
const config = settings()
const { SHOPWIRE_BACKUP_STATE: state, SHOPWIRE_BACKUP_METRICS: metricsFile } = config
process.exitCode = await runBackup(
  {
    pgbackrest: openPgBackRest(config.SHOPWIRE_BACKUP_CONFIG, programEnvironment()),
    records: openRecords({ folder: state, metricsFile, nowMs: systemClock.nowMs }),
    state,
    scratch: config.SHOPWIRE_BACKUP_SCRATCH ?? state,
    rules: () => readRules(INVARIANTS),
    schemaMismatchAt: (url) => schemaMismatchAt(url, SCHEMA),
    nowMs: systemClock.nowMs,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  },
  process.argv.slice(2),
)

/** PostgreSQL does not run as root, and files that root writes cannot be read by its archive_command. */
function becomePostgres() {
  if (process.getuid?.() !== 0) return
  try {
    const [uid, gid] = ['-u', '-g'].map((what) =>
      Number(execFileSync('id', [what, USER], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })),
    ) as [number, number]
    process.setgroups?.([gid])
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch {
    process.stderr.write(
      `shopwire backup: there is no user ${USER} on this machine. Run it as the user of PostgreSQL.\n`,
    )
    process.exit(2)
  }
}

function settings() {
  try {
    return loadBackupConfig()
  } catch (error) {
    process.stderr.write(`shopwire backup: ${(error as ConfigError).message}\n`)
    process.exit(2)
  }
}
