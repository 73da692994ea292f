import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BundledFile, bundlePrograms } from '../../packaging/bundle-programs.ts'

const SERVICE = new URL('../../service/', import.meta.url)
/** Inside the repository, so that packages that stay outside the bundle are found. Git ignores it. */
const BUNDLES = fileURLToPath(new URL('../../.data/programs/', import.meta.url))
const DAY_MS = 86_400_000

/**
 * Bundles the service's programs and returns their folder, for SHOPWIRE_PROGRAMS. It is the same code: only its six hundred
 * modules are one file each, which takes Node a third of the time to load. A run of the end-to-end tests starts about a
 * thousand programs. Commands in the documentation and `npm run dev` run the sources.
 */
export async function bundleForTests(): Promise<string> {
  return writeOnce(await bundlePrograms((source) => JSON.stringify(new URL(source, SERVICE).href)))
}

/** In a folder named by content: another run may be using it, and Node finds what it compiled last time. */
async function writeOnce(files: readonly BundledFile[]): Promise<string> {
  const hash = createHash('sha256')
  for (const { name, content } of files) hash.update(name).update(content)
  const folder = join(BUNDLES, hash.digest('hex').slice(0, 16))
  await mkdir(BUNDLES, { recursive: true })
  await removeOld()
  if (await stat(folder).catch(() => undefined)) {
    await utimes(folder, new Date(), new Date())
    return folder
  }
  const unfinished = await mkdtemp(join(BUNDLES, 'unfinished-'))
  // Tests also start programs as another user.
  await chmod(unfinished, 0o755)
  for (const { name, content } of files) await writeFile(join(unfinished, name), content)
  await rename(unfinished, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(unfinished, { recursive: true, force: true })
    // Another run was faster with the same.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  return folder
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(BUNDLES)) {
    const path = join(BUNDLES, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - DAY_MS) await rm(path, { recursive: true, force: true })
  }
}
