import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SOURCE = fileURLToPath(new URL('slow-disk.c', import.meta.url))

/** A disk that can become slow, for servers that are started with this environment. */
export interface SlowDisk {
  readonly env: Readonly<Record<string, string>>
  /** From now on every flush takes so many milliseconds longer; 0 is as fast as it was. */
  slowDown(ms: number): Promise<void>
  remove(): Promise<void>
}

/** Undefined on a machine that cannot compile it. */
export async function makeSlowDisk(): Promise<SlowDisk | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-slow-disk-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const library = join(folder, 'slow-disk.so')
  const file = join(folder, 'ms')
  try {
    await run('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE, '-ldl'])
  } catch {
    await remove()
    return undefined
  }
  // The server may be another user.
  await chmod(folder, 0o755)
  return {
    env: { LD_PRELOAD: library, SLOW_DISK_FILE: file },
    slowDown: (ms) => (ms === 0 ? rm(file, { force: true }) : writeFile(file, String(ms))),
    remove,
  }
}
