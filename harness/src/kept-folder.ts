import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Inside the repository, so that packages that stay outside a bundle are found. Git ignores it. */
const KEPT = fileURLToPath(new URL('../../.data/', import.meta.url))
const DAY_MS = 86_400_000

/**
 * A folder that later runs find again while what it is made from stays the same. Another run may be using it, so it is named
 * by that and never changed. Those that nobody used for a day are removed.
 */
export async function keptFolder(
  kind: string,
  madeFrom: Iterable<string | Uint8Array>,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const kept = join(KEPT, kind)
  const hash = createHash('sha256')
  for (const part of madeFrom) hash.update(part).update('\0')
  const folder = join(kept, hash.digest('hex').slice(0, 16))
  await mkdir(kept, { recursive: true })
  await removeOld(kept)
  if (await stat(folder).catch(() => undefined)) {
    await utimes(folder, new Date(), new Date())
    return folder
  }
  const unfinished = await mkdtemp(join(kept, 'unfinished-'))
  // Tests also start programs as another user.
  await chmod(unfinished, 0o755)
  await fill(unfinished)
  await rename(unfinished, folder).catch(async (error: NodeJS.ErrnoException) => {
    await rm(unfinished, { recursive: true, force: true })
    // Another run was faster with the same.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  return folder
}

async function removeOld(kept: string): Promise<void> {
  for (const name of await readdir(kept)) {
    const path = join(kept, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - DAY_MS) await rm(path, { recursive: true, force: true })
  }
}
