import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

/** Folders that later runs find again while what they are made from stays the same. Others may be using one, so it is never changed. */
export interface KeptFolders {
  /** Named by all that it is made from. */
  pathOf(madeFrom: Iterable<string | Uint8Array>): string
  /** Also the mark that it is in use. */
  has(folder: string): Promise<boolean>
  /** Several may do so at once: a folder gets its name only when it is whole, and the first one stays. Removes what nobody used for long. */
  keep(folder: string, fill: (unfinished: string) => Promise<unknown>): Promise<void>
}

export function keptFolders(root: string, unusedMsMax: number, mode?: number): KeptFolders {
  return {
    pathOf(madeFrom) {
      const hash = createHash('sha256')
      for (const part of madeFrom) hash.update(part).update('\0')
      return join(root, hash.digest('hex').slice(0, 16))
    },
    has: (folder) =>
      utimes(folder, new Date(), new Date()).then(
        () => true,
        () => false,
      ),
    async keep(folder, fill) {
      await mkdir(root, { recursive: true, ...(mode !== undefined && { mode }) })
      await removeUnused(root, unusedMsMax)
      const unfinished = await mkdtemp(join(root, 'unfinished-'))
      try {
        await fill(unfinished)
        await rename(unfinished, folder)
      } catch (error) {
        // Another run was faster with the same.
        if (!/^(ENOTEMPTY|EEXIST)$/.test(String((error as NodeJS.ErrnoException).code))) throw error
      } finally {
        await rm(unfinished, { recursive: true, force: true })
      }
    },
  }
}

/** What nobody used for so long, and what a run that was killed left unfinished. */
async function removeUnused(root: string, unusedMsMax: number): Promise<void> {
  for (const name of await readdir(root)) {
    const path = join(root, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - unusedMsMax) await rm(path, { recursive: true, force: true })
  }
}
