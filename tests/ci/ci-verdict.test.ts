import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { IS_SHORT } from '../../test-forms.ts'

/** What .ci/run does after its test steps: failed files run again alone, then the verdict. Here on a project made of a few tests. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PASSES = "test('holds', () => {})"
const FAILS = "test('is broken', () => { throw new Error('always wrong') })"
/** Fails in the first run and passes in the second, as a test does that depends on its neighbours. */
const FLAKY = (name: string) => `
  import { existsSync, writeFileSync } from 'node:fs'
  test('${name}', () => {
    const ranBefore = existsSync('${name}.ran')
    writeFileSync('${name}.ran', '')
    console.log(ranBefore ? 'second time' : 'first time')
    if (!ranBefore) throw new Error('wrong the first time')
  })`

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-ci-'))
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, 'reports'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('a test that fails once and passes alone is listed as flaky with both outputs and the run passes', async () => {
  const { code, output } = await verdictOn({ steady: PASSES, unsteady: FLAKY('depends on luck') })
  expect(output).toMatch(/FLAKY .*unsteady\.test\.ts > depends on luck/)
  expect(output).toContain('wrong the first time')
  expect(output).toContain('second time')
  expect(output).toMatch(/^2 passed, 0 failed$/m)
  expect(code).toBe(0)
})

test('a test that fails again when run alone fails the run', async () => {
  const { code, output } = await verdictOn({ steady: PASSES, broken: FAILS })
  expect(output).toMatch(/FAILED .*broken\.test\.ts > is broken/)
  expect(output).toContain('always wrong')
  expect(output).toMatch(/^1 passed, 1 failed$/m)
  expect(code).toBe(1)
})

test.skipIf(IS_SHORT)('more than three flaky tests fail the run', async () => {
  const names = ['one', 'two', 'three', 'four']
  const { code, output } = await verdictOn(Object.fromEntries(names.map((name) => [name, FLAKY(name)])))
  expect(output.match(/^FLAKY /gm)).toHaveLength(4)
  expect(output).toMatch(/^0 passed, 4 failed$/m)
  expect(code).toBe(1)
})

test.skipIf(IS_SHORT)('one flaky test fails the full form of the run', async () => {
  const { code, output } = await verdictOn(
    { steady: PASSES, unsteady: FLAKY('once') },
    { SHOPWIRE_CI: 'full' },
  )
  expect(output).toMatch(/FLAKY .*unsteady\.test\.ts > once/)
  expect(output).toMatch(/^1 passed, 1 failed$/m)
  expect(code).toBe(1)
})

test.skipIf(IS_SHORT)('a report that was cut short fails the run', async () => {
  await writeFile(join(folder, 'reports', 'crashed.json'), '{"numPassedTests": 3, "testRes')
  const { code, output } = await verdictOn({ steady: PASSES })
  expect(output).toMatch(/FAILED .*crashed\.json/)
  expect(output).toMatch(/^1 passed, 1 failed$/m)
  expect(code).toBe(1)
})

/** Of the short form, whatever form this test itself is part of. */
async function verdictOn(
  files: Readonly<Record<string, string>>,
  settings: NodeJS.ProcessEnv = { SHOPWIRE_CI: '' },
): Promise<{ code: number; output: string }> {
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.test.ts`), `import { test } from 'vitest'\n${text}\n`)
  }
  await run('npx', ['vitest', 'run', '--reporter=json', '--outputFile.json=reports/check.json'])
  await run('node', [join(ROOT, '.ci/rerun.mjs'), 'reports'])
  return run('node', [join(ROOT, '.ci/totals.mjs'), 'reports'], settings)
}

function run(
  command: string,
  args: readonly string[],
  settings: NodeJS.ProcessEnv = {},
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: folder, env: { ...process.env, ...settings } }, (error, stdout) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout }),
    )
  })
}
