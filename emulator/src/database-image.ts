import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findServiceUser } from '@shopwire/engines'
import { SCHEMA, VERSION } from '@shopwire/service/embedded'

/**
 * The folder of a stopped PostgreSQL with the roles and the empty, migrated database of a store, kept for later starts: with its copy a
 * start takes about half the time that it takes with initdb and migrations. The start that makes it takes a second longer.
 */
export interface DatabaseImage {
  readonly dir: string
  exists(): Promise<boolean>
  /** Copies the folder of a server that is stopped. Several emulators may do so at once: a copy gets its name only when it is whole. */
  keep(dir: string): Promise<void>
  remove(): Promise<void>
}

const UNUSED_MS_MAX = 30 * 86_400_000

/** Windows has no `cp`, which keeps owners and shares blocks where the file system can. */
export const canKeepImages = process.platform !== 'win32'

/** Named by all that it is made from, so that one of another schema or another PostgreSQL is never found. */
export async function imageOf(postgresVersion: string, schema = SCHEMA): Promise<DatabaseImage> {
  const all = join(process.env.XDG_CACHE_HOME || usualCaches(), 'shopwire-emulator')
  const owner = findServiceUser()?.uid ?? process.getuid?.()
  const name = await checksum([VERSION, postgresVersion, process.arch, String(owner)], schema)
  const dir = join(all, name)
  return {
    dir,
    async exists() {
      // Also the mark that it is in use.
      return utimes(dir, new Date(), new Date()).then(
        () => true,
        () => false,
      )
    },
    async keep(source) {
      await mkdir(all, { recursive: true, mode: 0o700 })
      await removeUnused(all)
      const unfinished = await mkdtemp(join(all, 'unfinished-'))
      try {
        await promisify(execFile)('cp', ['-a', `${source}/.`, unfinished])
        await rename(unfinished, dir)
      } finally {
        await rm(unfinished, { recursive: true, force: true })
      }
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}

function usualCaches(): string {
  return join(homedir(), process.platform === 'darwin' ? 'Library/Caches' : '.cache')
}

async function checksum(facts: readonly string[], schema: URL): Promise<string> {
  const folder = fileURLToPath(schema)
  const files = (await readdir(folder, { recursive: true }))
    .filter((name) => /\.(sql|txt)$/.test(name))
    .sort()
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  return createHash('sha256')
    .update(JSON.stringify([facts, files, texts]))
    .digest('hex')
    .slice(0, 16)
}

/** Those of other versions, and what an emulator that was killed left unfinished. */
async function removeUnused(all: string): Promise<void> {
  for (const name of await readdir(all)) {
    const path = join(all, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - UNUSED_MS_MAX) await rm(path, { recursive: true, force: true })
  }
}
