import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'

interface Step {
  readonly name: string
  readonly command: readonly string[]
}

/** Everything a change must pass before it is committed. Quick checks first; all run even when one fails. */
const STEPS: readonly Step[] = [
  { name: 'types', command: ['npm', 'run', '--silent', 'types'] },
  { name: 'lint', command: ['npm', 'run', '--silent', 'lint'] },
  { name: 'layers', command: ['npm', 'run', '--silent', 'layers'] },
  { name: 'dead code', command: ['npm', 'run', '--silent', 'dead-code'] },
  { name: 'generated files', command: ['npm', 'run', '--silent', 'generate', '--', '--check'] },
  { name: 'lockfile', command: ['node', 'tools/lockfile.ts'] },
  { name: 'budgets', command: ['node', 'tools/budgets.ts'] },
  { name: 'openapi', command: ['npm', 'run', '--silent', 'openapi'] },
  {
    name: 'tests',
    command: [
      'npm',
      'test',
      '--silent',
      '--',
      '--reporter=default',
      '--reporter=json',
      '--outputFile.json=.data/reports/check.json',
    ],
  },
]

/** For CI, which runs the tests in a step of its own. */
const isWithoutTests = process.argv.includes('--without-tests')
/** Most steps use one processor; the tests use all of them and run alone, at the end. */
const AT_ONCE = 2

await mkdir('.data/reports', { recursive: true })
const failed: string[] = []
const quick = STEPS.filter(({ name }) => name !== 'tests').values()
await Promise.all(Array.from({ length: AT_ONCE }, runNext))
for (const step of STEPS.filter(({ name }) => name === 'tests' && !isWithoutTests)) await run(step, 'inherit')
if (failed.length > 0) {
  process.stdout.write(`check: failed: ${failed.join(', ')}\n`)
  process.exitCode = 1
}

async function runNext(): Promise<void> {
  for (const step of quick) await run(step, 'pipe')
}

/** With `pipe` the output is printed at the end, so that two steps do not mix theirs. */
async function run({ name, command }: Step, output: 'inherit' | 'pipe'): Promise<void> {
  const startedMs = performance.now()
  const [file = '', ...args] = command
  const printed: Buffer[] = []
  const child = spawn(file, args, { stdio: ['inherit', output, output] })
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => printed.push(chunk))
  const [code] = await once(child, 'close')
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  process.stdout.write(Buffer.concat(printed))
  process.stdout.write(`check: ${name} ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`)
  if (code !== 0) failed.push(name)
}
