// Adds up vitest's JSON reports and prints "N passed, N failed", with ", N skipped" when some were.
// Fails when a test failed, and when none passed: a run that proved nothing is not a success.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.argv[2] ?? '.data/reports'
const total = { passed: 0, failed: 0, skipped: 0 }

for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  if (name.endsWith('.json')) add(read(join(folder, name)))
}

const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : ''
process.stdout.write(`${total.passed} passed, ${total.failed} failed${skipped}\n`)
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0

function add(report) {
  total.passed += report?.numPassedTests ?? 0
  total.skipped += (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0)
  total.failed += report ? report.numFailedTests + filesThatDidNotRun(report) : 1
}

/** A file that cannot be loaded has no failed test in it, and yet it failed. */
function filesThatDidNotRun(report) {
  const isBroken = ({ status, assertionResults }) =>
    status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
  return (report.testResults ?? []).filter(isBroken).length
}

/** A report cut short by a crash counts as one failure. */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
