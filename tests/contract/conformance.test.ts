import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { canMakePublicNetwork, inPublicNetwork, NO_PUBLIC_NETWORK } from '@shopwire/test-kit/servers'
import { beforeAll, describe, expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

/**
 * The kit of conformance/ passes a right server and catches wrong ones. All of it is one program, because it needs a
 * network of its own (see test-kit/servers); where such a network cannot be made, faults of events are skipped, with a message.
 */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RUN_MS_MAX = 400_000
const FAULTS_MIN = IS_SHORT ? 10 : 30
const PROGRAM = 'conformance/faults/run.ts'

interface Caught {
  readonly id: string
  readonly message: string
}
interface Report {
  readonly seconds: number
  readonly clean: { readonly passed: number; readonly skipped: number; readonly failed: readonly Caught[] }
  readonly faults: readonly {
    readonly name: string
    readonly what: string
    readonly skipped: boolean
    readonly caughtBy: readonly Caught[]
  }[]
}

const canMakeNetwork = canMakePublicNetwork()
if (!canMakeNetwork) {
  process.stderr.write(`SKIPPED: ${NO_PUBLIC_NETWORK}. The kit was not run on events.\n`)
}

describe('the conformance kit', () => {
  let report: Report
  beforeAll(async () => {
    const [command = '', ...args] = canMakeNetwork
      ? inPublicNetwork(process.execPath, PROGRAM)
      : [process.execPath, PROGRAM]
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: ROOT,
      timeout: RUN_MS_MAX,
      maxBuffer: 16 * 1024 * 1024,
    })
    report = JSON.parse(stdout)
  }, RUN_MS_MAX)

  test('the service passes every check', async ({ annotate }) => {
    await annotate(
      `${report.clean.passed} checks and ${report.faults.length} faults in ${report.seconds.toFixed(0)} s`,
    )
    expect(report.clean.failed).toEqual([])
    if (canMakeNetwork) expect(report.clean.skipped).toBe(0)
  })

  test('every server with one planted fault is caught, with a message that says what was expected and what it got', () => {
    const planted = report.faults.filter(({ skipped }) => !skipped)
    expect(planted.length).toBeGreaterThanOrEqual(FAULTS_MIN)
    for (const { name, what, caughtBy } of planted) {
      expect(caughtBy, `${name}: ${what}`).not.toEqual([])
      for (const { message } of caughtBy) expect(message, name).toMatch(/^expected .+; got .+/)
    }
  })
})
