import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { canMakePublicNetwork, inPublicNetwork, NO_PUBLIC_NETWORK } from '@shopwire/test-kit/servers'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RIG_MS_MAX = 480_000

/** Files of rig/ in which a clock decides: they need the machine for themselves. */
const TIMED = ['arrivals.test.ts', 'changes.test.ts', 'misbehaving.test.ts', 'name-servers.test.ts']

/**
 * Webhooks go to public addresses only, so their tests need a public internet: a network of their own in which some public
 * addresses are this machine (see test-kit/servers). Where such a network cannot be made they are skipped, with a message.
 */
export function testRig(which: 'timed' | 'untimed'): void {
  const canMakeNetwork = canMakePublicNetwork()
  if (!canMakeNetwork) {
    process.stderr.write(`SKIPPED: ${NO_PUBLIC_NETWORK}. Webhooks were not tested.\n`)
  }
  const files = readdirSync(`${ROOT}tests/webhooks/rig`).filter(
    (name) => name.endsWith('.test.ts') && TIMED.includes(name) === (which === 'timed'),
  )
  test.skipIf(!canMakeNetwork)(
    `${which} webhook tests pass in a network namespace with public addresses`,
    { timeout: RIG_MS_MAX + 10_000 },
    async () => {
      const paths = files.map((name) => `tests/webhooks/rig/${name}`)
      const [command, ...args] = inPublicNetwork('npx', 'vitest', 'run', '--project', 'rig', ...paths)
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
}
