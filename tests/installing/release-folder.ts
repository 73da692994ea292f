import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '@shopwire/test-kit/pages/code-blocks'
import { ENDS_WITH_PARENT } from '@shopwire/test-kit/systems'

const SERVICE = new URL('../../service/', import.meta.url)

/**
 * A release as it is installed on a machine without containers, as far as units and scripts look into it: usr/local/bin/shopwire with a role,
 * shopwire-admin, and its version. The
 * programs are those bundled for these tests; with the schema of another release where one is given.
 */
export async function writeReleaseFolder(folder: string, schema: URL = SERVICE): Promise<string> {
  const bundled = process.env.SHOPWIRE_PROGRAMS
  if (bundled === undefined) throw new Error('the programs were not bundled (tests/global-setup.ts)')
  // Beside the service's own files, so that packages outside the bundle are found.
  const programs = schema === SERVICE ? bundled : join(fileURLToPath(schema), 'dist')
  if (schema !== SERVICE) {
    await cp(bundled, programs, { recursive: true })
    // The bundle names the service's folder, from which it reads migrations and functions.
    for (const name of await readdir(programs)) {
      const text = await readFile(join(programs, name), 'utf8')
      await writeFile(join(programs, name), text.replaceAll(SERVICE.href, schema.href))
    }
  }
  const bin = join(folder, 'usr/local/bin')
  await mkdir(bin, { recursive: true })
  const script = `#!/bin/sh\nrole=$1\nshift\nexec '${process.execPath}' --import '${ENDS_WITH_PARENT}' '${programs}'/$role.mjs "$@"\n`
  await writeFile(join(bin, 'shopwire'), script)
  await cp(join(ROOT, 'deploy/image/shopwire-admin'), join(bin, 'shopwire-admin'))
  await chmod(join(bin, 'shopwire'), 0o755)
  await mkdir(join(folder, 'app/service'), { recursive: true })
  await cp(new URL('package.json', schema), join(folder, 'app/service/package.json'))
  return folder
}
