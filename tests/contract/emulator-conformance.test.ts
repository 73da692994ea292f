import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Emulator, startEmulator } from '@shopwire/emulator'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** All but those that wait for a minute to pass: rate limits, and events that are sent again. */
const GROUPS =
  'status,authentication,clock,nonces,scopes,catalogue,quote,orders,order-reading,links,webhook-configuration,errors,http-surface'
const PASSED_MIN = 500
const RUN_MS_MAX = 120_000

let emulator: Emulator

beforeAll(async () => {
  emulator = await startEmulator()
})

afterAll(() => emulator.stop())

test(
  'the emulator passes the conformance checks',
  async () => {
    const args = ['conformance/run.ts', '--emulator', emulator.url, '--only', GROUPS]
    const run = promisify(execFile)(process.execPath, args, { cwd: ROOT, timeout: RUN_MS_MAX })
    const { stdout } = await run.catch((error: Error & { stdout: string }) => error)
    const totals = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    expect(totals, stdout).toMatchObject({ failed: 0 })
    expect(totals.passed, stdout).toBeGreaterThan(PASSED_MIN)
    expect(await emulator.control('POST', '/verify')).toEqual({ ok: true, violations: [] })
  },
  RUN_MS_MAX,
)
