import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { canMakePublicNetwork, inPublicNetwork, NO_PUBLIC_NETWORK } from '@shopwire/engines'
import { expect, test } from 'vitest'

/**
 * Webhooks go to public addresses only, so their tests need a public internet: a network of their own in which some public
 * addresses are this machine (see engines). Where such a network cannot be made they are skipped, with a message.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RIG_MS_MAX = 480_000
const canMakeNetwork = canMakePublicNetwork()

if (!canMakeNetwork) {
  process.stderr.write(`SKIPPED: ${NO_PUBLIC_NETWORK}. Webhooks were not tested.\n`)
}

test.skipIf(!canMakeNetwork)(
  'webhook tests pass in a network namespace with public addresses',
  { timeout: RIG_MS_MAX + 10_000 },
  async () => {
    const [command, ...args] = inPublicNetwork('npx', 'vitest', 'run', '--project', 'rig')
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: ROOT,
      timeout: RIG_MS_MAX,
      maxBuffer: 16 * 1024 * 1024,
    }).catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`${error.stdout}\n${error.stderr}`)
    })
    process.stdout.write(stdout)
    expect(stdout).toMatch(/Tests .*passed/)
  },
)
