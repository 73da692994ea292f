import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { SCHEMA, VERSION } from '@shopwire/service/embedded'
import { findServiceUser, keptFolders } from '@shopwire/test-kit/servers'

/**
 * The folder of a stopped PostgreSQL with the roles and the empty, migrated database of a store, kept for later starts: with its copy a
 * start takes about half the time that it takes with initdb and migrations. The start that makes it takes a second longer.
 */
export interface DatabaseImage {
  readonly dir: string
  exists(): Promise<boolean>
  /** Copies the folder of a server that is stopped. Several emulators may do so at once. */
  keep(dir: string): Promise<void>
  remove(): Promise<void>
}

const UNUSED_MS_MAX = 30 * 86_400_000

/** Windows has no `cp`, which keeps owners and shares blocks where the file system can. */
export const canKeepImages = process.platform !== 'win32'

/** Named by all that it is made from, so that one of another schema or another PostgreSQL is never found. */
export async function imageOf(postgresVersion: string, schema = SCHEMA): Promise<DatabaseImage> {
  const all = join(process.env.XDG_CACHE_HOME || usualCaches(), 'shopwire-emulator')
  const images = keptFolders(all, UNUSED_MS_MAX, 0o700)
  const owner = findServiceUser()?.uid ?? process.getuid?.()
  const dir = images.pathOf([
    VERSION,
    postgresVersion,
    process.arch,
    String(owner),
    ...(await textsOf(schema)),
  ])
  return {
    dir,
    exists: () => images.has(dir),
    keep: (source) => images.keep(dir, (copy) => promisify(execFile)('cp', ['-a', `${source}/.`, copy])),
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}

function usualCaches(): string {
  return join(homedir(), process.platform === 'darwin' ? 'Library/Caches' : '.cache')
}

/** Names and texts of its files. */
async function textsOf(schema: URL): Promise<string[]> {
  const folder = fileURLToPath(schema)
  const files = (await readdir(folder, { recursive: true }))
    .filter((name) => /\.(sql|txt)$/.test(name))
    .sort()
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  return [...files, ...texts]
}
