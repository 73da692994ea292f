import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A file system of its own in memory. */
export interface SmallDisk {
  readonly folder: string
  remove(): Promise<void>
}

/** Undefined where none can be mounted. */
export async function mountSmallDisk(size: string): Promise<SmallDisk | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-disk-'))
  await chmod(folder, 0o755)
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'shopwire-test', folder])
  } catch {
    await rm(folder, { recursive: true, force: true })
    return undefined
  }
  return {
    folder,
    async remove() {
      await run('umount', ['--lazy', folder])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Makes this file grow until not one more byte fits. */
export async function fillDisk(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path))
  // At once; what is freed or taken meanwhile is left to the writes.
  await run('fallocate', ['-l', String(Math.floor(bavail * bsize * 0.97)), path]).catch(() => {})
  for (const blockBytes of [1 << 20, 4096]) {
    const block = Buffer.alloc(blockBytes, 1)
    for (;;) {
      try {
        await writeFile(path, block, { flag: 'a' })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') break
        throw error
      }
    }
  }
}
