import { randomBytes } from 'node:crypto'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** So that a web server of another user may read them, whatever the umask of the worker is. */
const READABLE_BY_ALL = 0o644
const UNFINISHED = /^\.(index\.html|status\.json|status\.css|feed\.xml)\.[0-9a-f]{16}$/
/** Another worker may be writing one at this moment. */
const UNFINISHED_MS_MAX = 60_000

/** Under another name first, and then renamed: a reader sees the whole old file or the whole new one. */
export async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  const unfinished = join(folder, `.${name}.${randomBytes(8).toString('hex')}`)
  try {
    const file = await open(unfinished, 'wx')
    try {
      await file.writeFile(text)
      await file.chmod(READABLE_BY_ALL)
    } finally {
      await file.close()
    }
    await rename(unfinished, join(folder, name))
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {})
    throw error
  }
}

/** Left by a worker that was killed while it wrote. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((name) => UNFINISHED.test(name))) {
    const path = join(folder, name)
    const written = await stat(path).catch(() => undefined)
    if (written && Date.now() - written.mtimeMs > UNFINISHED_MS_MAX) await rm(path, { force: true })
  }
}
