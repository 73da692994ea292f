import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT, WORK } from './root-folders.ts'

/** The packages are not published yet: here `npx @shopwire/cli` runs the command line of this repository. */
export async function folderWithNpx(): Promise<string> {
  const folder = join(WORK, 'bin')
  await mkdir(folder, { recursive: true })
  const cli = join(ROOT, 'cli/bin/shopwire.ts')
  await writeFile(join(folder, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${cli}' "$@"\n`)
  await chmod(join(folder, 'npx'), 0o755)
  return folder
}
