import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundleForTests } from '@shopwire/test-kit/systems/bundle'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Once for all projects, and for runs that a test starts: they inherit the variable. */
export default async function setup(): Promise<void> {
  process.env.SHOPWIRE_PROGRAMS ??= await bundleForTests()
  await buildWeb()
}

/** Once per clone, as they are shipped, and here: two files that begin together would build into the same folder. */
async function buildWeb(): Promise<void> {
  // A build that failed has not come so far.
  if (existsSync(`${ROOT}web/dist/dashboard/index.html.br`)) return
  await promisify(execFile)('npm', ['run', '--silent', '-w', 'web', 'build'], { cwd: ROOT })
}
