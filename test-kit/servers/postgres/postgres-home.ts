import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { chmod, chown, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { INITDB_MS_MAX, POSTGRES_PATH_BYTES_MAX, TAKEOVER_MS_MAX } from '../limits.ts'
import { logTail } from '../processes/log-tail.ts'
import { makeTemporaryFolder, removeTemporaryFolder, spawnManagedChild } from '../processes/managed-child.ts'
import { PROCESSES } from '../processes/process-facts.ts'
import { isAlive, isTaken } from '../processes/process-tree.ts'
import { until } from '../until.ts'
import { closedFolderOn, findServiceUser, type ServiceUser, temporaryParent } from './service-user.ts'

export const SUPERUSER = 'postgres'
const SECRET = 'superuser-password'
/** Windows has neither O_NOFOLLOW nor a root user that switches to another one. */
const TRUNCATE_NO_LINK =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0)
/** PostgreSQL gets no variables of the caller: PGDATA or PGPORT would override ours. */
export function environment(libraries?: string, locales?: string): Record<string, string> {
  return {
    PATH: '/usr/bin:/bin',
    LC_ALL: 'C',
    TZ: 'UTC',
    ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries, DYLD_LIBRARY_PATH: libraries }),
    ...(locales !== undefined && { LOCPATH: locales }),
  }
}

/** The requested folder cannot be used. Its content was not changed. */
class UnusableFolder extends Error {
  override readonly name = 'UnusableFolder'
  readonly isInUse: boolean

  constructor(dir: string, why: string, isInUse = false) {
    super(`${dir} cannot be used: ${why}`)
    this.isInUse = isInUse
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no folder can be made there',
  ENOTDIR: 'a file is in its place',
  EACCES: 'you may not read and write there',
  EPERM: 'you may not read and write there',
  EROFS: 'nothing can be written there',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'the disk is full',
}

export interface PostgresPrograms {
  bin: string
  env: Record<string, string>
}

/** The folder of one server: its data, its log and the password of its superuser. */
export interface PostgresHome {
  dir: string
  data: string
  log: string
  password: string
  temporary: boolean
  user: ServiceUser | undefined
}

/** What a new folder begins with; see PostgresOptions. */
export interface HomeOrigin {
  dir?: string
  copyOf?: string
  standbyOf?: string
  durable: boolean
}

/** Opens the folder of an earlier run, or creates one: as a copy of another, as a standby's base backup, or by initdb. */
export async function openHome(programs: PostgresPrograms, origin: HomeOrigin): Promise<PostgresHome> {
  const user = findServiceUser()
  if (origin.dir) {
    const dir = resolve(origin.dir)
    return furnish(programs, { dir, temporary: false, user }, origin).catch(
      (error: NodeJS.ErrnoException) => {
        const why = REASONS[error.code ?? '']
        throw why === undefined ? error : new UnusableFolder(dir, why)
      },
    )
  }
  const dir = await makeTemporaryFolder(temporaryParent(user), 'postgres')
  return furnish(programs, { dir, temporary: true, user }, origin).catch(async (error) => {
    await removeTemporaryFolder(dir)
    throw error
  })
}

/**
 * A server of an earlier run may still be shutting down in this folder. Once it is gone PostgreSQL
 * replaces its lock file by itself, except when the pid in it is a zombie or belongs to another
 * program by now: then PostgreSQL would wrongly consider it running, so the file is removed here.
 */
export async function takeOver(home: PostgresHome): Promise<void> {
  const lock = join(home.data, 'postmaster.pid')
  const holder = Number((await readFile(lock, 'utf8').catch(() => '')).split('\n', 1)[0])
  if (!holder) return
  const isFree = () => !isAlive(holder) || !isPostgres(holder)
  await until(isFree, TAKEOVER_MS_MAX, () => 'in use').catch(() => {
    throw new UnusableFolder(home.dir, `it is in use by the PostgreSQL with pid ${holder}`, true)
  })
  if (isTaken(holder)) await rm(lock, { force: true })
}

async function furnish(
  programs: PostgresPrograms,
  place: Pick<PostgresHome, 'dir' | 'temporary' | 'user'>,
  { copyOf, standbyOf, durable }: HomeOrigin,
): Promise<PostgresHome> {
  const { dir, user } = place
  await makePrivate(dir, user)
  const home = { ...place, data: join(dir, 'data'), log: join(dir, 'postgres.log') }
  const secret = join(dir, SECRET)
  const isNew = !existsSync(home.data)
  const password = await firstPassword({ copyOf, standbyOf })
  if (isNew) await writeSecret(secret, password, user)
  // The folder now belongs to the unprivileged user. Root must not follow a symbolic link that this user put in the
  // place of a file.
  await writeFile(home.log, '', { mode: 0o600, flag: TRUNCATE_NO_LINK })
  if (isNew && copyOf !== undefined) await copyData(copyOf, home)
  else if (isNew && standbyOf !== undefined) await takeBaseBackup(programs, standbyOf, home)
  else if (isNew) await initialise(programs, home, secret, durable)
  return { ...home, password: await passwordIn(dir) }
}

async function firstPassword({
  copyOf,
  standbyOf,
}: {
  copyOf: string | undefined
  standbyOf: string | undefined
}) {
  if (copyOf !== undefined) return passwordIn(copyOf)
  if (standbyOf !== undefined) return decodeURIComponent(new URL(standbyOf).password)
  return randomBytes(24).toString('base64url')
}

async function passwordIn(dir: string): Promise<string> {
  return (await readFile(join(dir, SECRET), 'utf8')).trim()
}

async function makePrivate(dir: string, user: ServiceUser | undefined) {
  if (Buffer.byteLength(dir) > POSTGRES_PATH_BYTES_MAX) throw new UnusableFolder(dir, 'its name is too long')
  await makeFolder(dir)
  const entries = await readdir(dir)
  // Changing the owner of a folder with other files would lock its owner out.
  if (entries.length > 0 && !entries.includes(SECRET)) {
    throw new UnusableFolder(
      dir,
      'it holds other files, and PostgreSQL needs an empty folder or one it made earlier',
    )
  }
  const closed = closedFolderOn(dirname(dir), user)
  if (closed) {
    throw new UnusableFolder(
      dir,
      `PostgreSQL does not run as root but as user ${user?.name}, who may not enter ${closed}`,
    )
  }
  await chmod(dir, 0o700)
  if (user) await chown(dir, user.uid, user.gid)
}

/**
 * Creates one level at a time: with `recursive`, Node loops endlessly where a folder exists but accepts no new one,
 * as in /proc.
 */
async function makeFolder(path: string): Promise<void> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => undefined,
  )
  if (isFolder) return
  if (isFolder === undefined && dirname(path) !== path) await makeFolder(dirname(path))
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    // Two processes may start at once. A file in its place is detected later.
    if (error.code !== 'EEXIST') throw error
  })
}

async function writeSecret(path: string, text: string, user: ServiceUser | undefined) {
  await rm(path, { force: true })
  // By file handle, not by name: the folder already belongs to the user, who could replace the file by a link meanwhile.
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(`${text}\n`)
    if (user) await file.chown(user.uid, user.gid)
  } finally {
    await file.close()
  }
}

/** A tenth of the time of initdb. `cp` keeps the owner and shares the blocks where the file system can. */
async function copyData(source: string, home: Omit<PostgresHome, 'password'>) {
  const unfinished = await unfinishedFolder(home)
  await promisify(execFile)('cp', ['-a', join(source, 'data'), unfinished])
  await rename(unfinished, home.data)
}

/** With the settings by which it follows the server. */
async function takeBaseBackup(
  { bin, env }: PostgresPrograms,
  source: string,
  home: Omit<PostgresHome, 'password'>,
) {
  const unfinished = await unfinishedFolder(home)
  const args = ['--wal-method=stream', '--checkpoint=fast', '--write-recovery-conf']
  await promisify(execFile)(
    join(bin, 'pg_basebackup'),
    [`--dbname=${source}`, `--pgdata=${unfinished}`, ...args],
    { cwd: home.dir, env, ...(home.user && { uid: home.user.uid, gid: home.user.gid }) },
  )
  await rename(unfinished, home.data)
}

async function initialise(
  { bin, env }: PostgresPrograms,
  home: Omit<PostgresHome, 'password'>,
  secret: string,
  durable: boolean,
) {
  const unfinished = await unfinishedFolder(home)
  const args = [
    ...['--pgdata', unfinished, '--username', SUPERUSER, '--pwfile', secret],
    ...['--auth-local', 'scram-sha-256', '--auth-host', 'scram-sha-256'],
    ...['--encoding', 'UTF8', '--locale', process.platform === 'linux' ? 'C.UTF-8' : 'C'],
    ...(durable ? [] : ['--no-sync']),
  ]
  const initdb = spawnManagedChild(join(bin, 'initdb'), args, {
    cwd: home.dir,
    log: home.log,
    env,
    owner: home.user,
    polite: 'SIGTERM',
  })
  const done = () => !initdb.isRunning()
  await until(done, INITDB_MS_MAX, () => 'initdb did not finish').finally(() => initdb.killAll())
  if (initdb.exitCode() !== 0) throw new Error(`initdb failed:\n${await logTail(home.log)}`)
  await rename(unfinished, home.data)
}

/** A folder of another name, so that an interrupted initdb or copy is never mistaken for a database. */
async function unfinishedFolder(home: Omit<PostgresHome, 'password'>): Promise<string> {
  const unfinished = `${home.data}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  return unfinished
}

function isPostgres(pid: number): boolean {
  return PROCESSES.one(pid)?.name.startsWith('postgres') ?? true
}
