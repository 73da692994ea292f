import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupError } from './backup-error.ts'
import type { PgBackRest } from './pgbackrest.ts'

/** The options of "init" about this machine, by the line of pgbackrest.conf that stores them. */
const LINES = {
  pgdata: 'pg1-path',
  port: 'pg1-port',
  sockets: 'pg1-socket-path',
  repository: 'repo1-path',
} as const

export interface InitOptions extends Record<keyof typeof LINES, string> {
  /** Options that the user gave, as opposed to defaults: they correct an earlier "init". */
  readonly named: ReadonlySet<string>
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
  const isNew = !existsSync(conf)
  if ((isNew || options.named.has('pgdata')) && !existsSync(join(options.pgdata, 'PG_VERSION')))
    throw new BackupError(
      `${options.pgdata} is not the data folder of a PostgreSQL, or not readable.`,
      'Name it with --pgdata; "show data_directory" in psql prints it.',
    )
  if (!isNew) await correct(conf, options, say)
  else {
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

/** The rest of the file belongs to the person who edited it. */
async function correct(conf: string, options: InitOptions, say: (line: string) => void): Promise<void> {
  const before = await readFile(conf, 'utf8')
  let text = before
  for (const [option, name] of Object.entries(LINES) as [keyof typeof LINES, string][]) {
    if (!options.named.has(option)) continue
    const value = options[option]
    const line = new RegExp(`^${name}=(.*)$`, 'm')
    const old = line.exec(text)?.[1]
    if (old === value) continue
    if (old === undefined)
      throw new BackupError(`${conf} has no line ${name}=…`, `Write it there: ${name}=${value}`)
    text = text.replace(line, () => `${name}=${value}`)
    say(`Changed ${name} in ${conf}: ${old} is now ${value}.`)
  }
  if (options.named.has('repository')) await mkdir(options.repository, { recursive: true, mode: 0o750 })
  if (text === before) say(`${conf} exists and is used as it is.`)
  else await writeFile(conf, text)
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
