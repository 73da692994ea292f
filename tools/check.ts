import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'

/** Everything a change must pass before it is committed. Quick checks first; all run even when one fails. */
const STEPS: readonly { name: string; command: string[] }[] = [
  { name: 'types', command: ['npm', 'run', '--silent', 'types'] },
  { name: 'lint', command: ['npm', 'run', '--silent', 'lint'] },
  { name: 'layers', command: ['npm', 'run', '--silent', 'layers'] },
  { name: 'dead code', command: ['npm', 'run', '--silent', 'dead-code'] },
  { name: 'generated files', command: ['npm', 'run', '--silent', 'generate', '--', '--check'] },
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

await mkdir('.data/reports', { recursive: true })
const failed: string[] = []
for (const { name, command } of STEPS) {
  if (isWithoutTests && name === 'tests') continue
  const startedMs = performance.now()
  process.stdout.write(`check: ${name} …\n`)
  const code = await run(command)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  process.stdout.write(`check: ${name} ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`)
  if (code !== 0) failed.push(name)
}
if (failed.length > 0) {
  process.stdout.write(`check: failed: ${failed.join(', ')}\n`)
  process.exitCode = 1
}

function run([file = '', ...args]: string[]): Promise<number> {
  return new Promise((resolve) => {
    spawn(file, args, { stdio: 'inherit' }).on('close', (code) => resolve(code ?? 1))
  })
}
