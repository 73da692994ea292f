import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findServiceUser, type Postgres } from '../../servers/index.ts'
import { type Ended, runProgram, type Settings } from '../programs/program.ts'

/** A place for the backups of one private PostgreSQL, and the command that takes and restores them. */
export interface BackupRig {
  /** Belongs to the user of PostgreSQL, as everything below it. */
  readonly folder: string
  readonly repository: string
  /** Holds pgbackrest.conf and conf.d/cipher.conf. */
  readonly config: string
  readonly metricsFile: string
  /** For startPostgres. */
  readonly postgresSettings: Record<string, string>
  /** The environment of the command, and of shopwire-admin. */
  readonly settings: Settings
  init(postgres: Postgres): Promise<Ended>
  run(...args: string[]): Promise<Ended>
  close(): Promise<void>
}

const RUN_MS_MAX = 3_600_000

export async function openBackupRig(): Promise<BackupRig> {
  // Not in the folder of temporary files of this user, which that of PostgreSQL may not enter; and short, for the path of a socket.
  const folder = await mkdtemp('/tmp/shopwire-backup-')
  const user = findServiceUser()
  const [config, state, sockets] = ['config', 'state', 'sockets'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [config, state, sockets]) await mkdir(path, { mode: 0o700 })
  if (user) for (const path of [folder, config, state, sockets]) await chown(path, user.uid, user.gid)
  await chmod(folder, 0o755)
  const repository = join(folder, 'repository')
  const metricsFile = join(folder, 'shopwire_backup.prom')
  const settings: Record<string, string> = {
    SHOPWIRE_BACKUP_CONFIG: config,
    SHOPWIRE_BACKUP_STATE: state,
    SHOPWIRE_BACKUP_METRICS: metricsFile,
  }
  const run = (...args: string[]) => runProgram('backup', args, settings, { msMax: RUN_MS_MAX })
  return {
    folder,
    repository,
    config,
    metricsFile,
    settings,
    run,
    postgresSettings: {
      unix_socket_directories: sockets,
      wal_level: 'replica',
      archive_mode: 'on',
      archive_command: `pgbackrest --config-path=${config} --stanza=shopwire archive-push %p`,
      archive_timeout: '60',
    },
    init(postgres) {
      // pgBackRest signs in as the superuser, whose password libpq finds here.
      settings.PGPASSWORD = decodeURIComponent(new URL(postgres.superuserUrl).password)
      return run(
        ...['init', '--pgdata', join(postgres.dir, 'data'), '--port', String(postgres.port)],
        ...['--sockets', sockets, '--repository', repository],
      )
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
