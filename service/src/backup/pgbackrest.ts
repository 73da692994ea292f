import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { BackupError } from './backup-error.ts'

export const STANZA = 'shopwire'
/** A list of 28 days of WAL files is a few megabytes. */
const OUTPUT_BYTES_MAX = 512 * 1024 * 1024

type Environment = Readonly<Record<string, string | undefined>>

/** Runs pgBackRest with the configuration of the kit. */
export interface PgBackRest {
  /** The beginning of a server's own commands (archive_command, restore_command). */
  readonly commandLine: string
  readonly configPath: string
  /** Of pgBackRest, and of PostgreSQL's programs that work on what it restores. */
  readonly env: Environment
  run(...args: string[]): Promise<string>
}

export function openPgBackRest(configPath: string, env: Environment): PgBackRest {
  const fixed = [`--config-path=${configPath}`, `--stanza=${STANZA}`]
  return {
    configPath,
    env,
    commandLine: ['pgbackrest', ...fixed].join(' '),
    async run(...args) {
      try {
        const options = { env, maxBuffer: OUTPUT_BYTES_MAX, cwd: '/' }
        return (await promisify(execFile)('pgbackrest', [...fixed, ...args], options)).stdout
      } catch (error) {
        throw explain(error as ExecError, args.at(-1) ?? '', configPath)
      }
    },
  }
}

type ExecError = Error & { code?: string | number; stdout?: string; stderr?: string }

function explain(error: ExecError, command: string, configPath: string): BackupError {
  if (error.code === 'ENOENT')
    return new BackupError(
      'pgBackRest is not installed on this machine.',
      'apt-get install pgbackrest; version 2.45 is for PostgreSQL up to 15, PostgreSQL 18 needs 2.55 or newer.',
    )
  const said = `${error.stderr ?? ''}${error.stdout ?? ''}`.trim() || error.message
  return new BackupError(`pgbackrest ${command} failed: ${said}`, adviceFor(said, configPath))
}

/** pgBackRest reports what failed; this adds what to do about it here. */
export function adviceFor(said: string, configPath: string): string {
  const advice = ADVICE.find(([sign]) => sign.test(said))?.[1]
  return advice === undefined ? `The whole log is in the log-path of ${configPath}/pgbackrest.conf.` : advice
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /CryptoError|key\/value found outside of section|No usable backup\.info/,
    'The repository was made with another passphrase than the one in conf.d/cipher.conf, or its index is damaged. Put the right passphrase there, ' +
      'from your copy elsewhere. If it is the right one, the index is damaged: restore backup.info and archive.info from a copy of the repository.',
  ],
  [
    /\[082\]|was not archived before/,
    'The archive does not receive WAL files, or not fast enough: the log of PostgreSQL and that of archive-push say why. Until it does, PostgreSQL keeps them, and its disk fills. ' +
      'After a large import, run it again a few minutes later.',
  ],
  [
    /ArchiveDisabledError|archive_mode|archive_command|\[087\]|\[068\]/,
    'PostgreSQL does not archive with pgBackRest. Set archive_mode and archive_command as "shopwire backup init" prints them, and restart it.',
  ],
  [
    /unexpected control version/,
    'This pgBackRest does not support the version of PostgreSQL: 2.45 is for PostgreSQL up to 15, PostgreSQL 18 needs 2.55 or newer.',
  ],
  [
    /\[056\]|unable to find primary|could not connect/,
    'PostgreSQL does not run, or pg1-path, pg1-port and pg1-socket-path in pgbackrest.conf do not match it.',
  ],
  [
    /ChecksumError|checksum|zst error|lz4 error|gz error|FormatError/,
    'Files of the repository are damaged. Check its disk, then take a new full backup ("shopwire backup full") and test it ("shopwire backup test-restore").',
  ],
  [
    /\[055\]|stanza-create|FileMissingError/,
    'If the repository is new, run "shopwire backup init". Otherwise files of it are missing: check repo1-path and that it is mounted.',
  ],
  [/\[050\]|unable to acquire lock/, 'Another backup of this store is running. Wait until it has ended.'],
]
