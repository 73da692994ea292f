import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupError } from './backup-error.ts'
import type { PgBackRest } from './pgbackrest.ts'

export interface InitOptions {
  readonly pgdata: string
  readonly port: string
  readonly sockets: string
  readonly repository: string
  /** Of spool, locks and logs. */
  readonly state: string
}

const TEMPLATE = new URL('../../../deploy/backup/pgbackrest.conf', import.meta.url)
const CIPHER_BYTES = 48

/** Writes the configuration and the passphrase once, prepares the repository, and checks that PostgreSQL archives to it. May be run again. */
export async function init(
  pgbackrest: PgBackRest,
  options: InitOptions,
  say: (line: string) => void,
): Promise<void> {
  const { configPath } = pgbackrest
  const [conf, cipher] = [join(configPath, 'pgbackrest.conf'), join(configPath, 'conf.d/cipher.conf')]
  await mkdir(join(configPath, 'conf.d'), { recursive: true, mode: 0o700 })
  if (existsSync(conf)) say(`${conf} exists and is used as it is.`)
  else {
    if (!existsSync(join(options.pgdata, 'PG_VERSION')))
      throw new BackupError(
        `${options.pgdata} is not the data folder of a PostgreSQL, or not readable.`,
        'Name it with --pgdata; "show data_directory" in psql prints it.',
      )
    for (const folder of ['spool', 'locks', 'logs'])
      await mkdir(join(options.state, folder), { recursive: true, mode: 0o750 })
    await mkdir(options.repository, { recursive: true, mode: 0o750 })
    await writeFile(conf, await configurationFor(options), { mode: 0o640, flag: 'wx' })
    say(`Wrote ${conf}.`)
  }
  if (existsSync(cipher)) say(`${cipher} exists and is used as it is.`)
  else if (!pgbackrest.env.PGBACKREST_REPO1_CIPHER_PASS) {
    const passphrase = randomBytes(CIPHER_BYTES).toString('base64')
    await writeFile(cipher, `[global]\nrepo1-cipher-pass=${passphrase}\n`, { mode: 0o600, flag: 'wx' })
    say(`Wrote ${cipher}. Keep a copy of it elsewhere, now: without it no backup can be read.`)
  }
  await pgbackrest.run('stanza-create')
  await pgbackrest.run('check').catch((error: unknown) => {
    if (!(error instanceof BackupError)) throw error
    throw new BackupError(
      error.message,
      `${error.advice}\n\nThe settings, for postgresql.conf, which need a restart of PostgreSQL:\n\n${settingsFor(pgbackrest)}\nThen run init again.`,
    )
  })
  say('PostgreSQL archives to the repository.')
}

async function configurationFor({ pgdata, port, sockets, repository, state }: InitOptions): Promise<string> {
  const values: Record<string, string> = {
    PGDATA: pgdata,
    PORT: port,
    SOCKETS: sockets,
    REPOSITORY: repository,
    SPOOL: join(state, 'spool'),
    LOCKS: join(state, 'locks'),
    LOGS: join(state, 'logs'),
  }
  const template = await readFile(TEMPLATE, 'utf8')
  return template.replaceAll(/@([A-Z]+)@/g, (_, name: string) => values[name] ?? '')
}

/** What PostgreSQL needs so that every second can be restored. */
export function settingsFor({ commandLine }: Pick<PgBackRest, 'commandLine'>): string {
  return [
    'wal_level = replica',
    'archive_mode = on',
    `archive_command = '${commandLine} archive-push %p'`,
    'archive_timeout = 60',
    '',
  ].join('\n')
}
