import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keptFolders } from '../servers/index.ts'

/** Inside the repository, so that packages that stay outside a bundle are found. Git ignores it. */
const KEPT = fileURLToPath(new URL('../../.data/', import.meta.url))
const DAY_MS = 86_400_000

/** The folder that an earlier run made from the same, or a new one. Those that nobody used for a day are removed. */
export async function keptFolder(
  kind: string,
  madeFrom: Iterable<string | Uint8Array>,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const kept = keptFolders(join(KEPT, kind), DAY_MS)
  const folder = kept.pathOf(madeFrom)
  if (await kept.has(folder)) return folder
  await kept.keep(folder, async (unfinished) => {
    // Tests also start programs as another user.
    await chmod(unfinished, 0o755)
    await fill(unfinished)
  })
  return folder
}
