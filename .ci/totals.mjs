// Adds up vitest's JSON reports, names what failed and why, and closes with "N passed, N failed", with ", N skipped" when
// some were. Only the end of a long log may reach the reader, so what failed is told here once more.
// Fails when a test failed, and when none passed: a run that proved nothing is not a success.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.argv[2] ?? '.data/reports'
const total = { passed: 0, failed: 0, skipped: 0 }
const REASON_CHARS_MAX = 1_500
const failures = []

for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  if (name.endsWith('.json')) add(read(join(folder, name)))
}

for (const failure of failures) process.stdout.write(`${failure}\n`)
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : ''
process.stdout.write(`${total.passed} passed, ${total.failed} failed${skipped}\n`)
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0

function add(report) {
  total.passed += report?.numPassedTests ?? 0
  total.skipped += (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0)
  total.failed += report ? report.numFailedTests + filesThatDidNotRun(report) : 1
  for (const file of report?.testResults ?? []) {
    for (const test of file.assertionResults) {
      if (test.status === 'failed')
        describe(`${file.name} > ${test.fullName}`, test.failureMessages.join('\n'))
    }
    if (isBroken(file)) describe(file.name, file.message)
  }
}

function describe(name, reason = '') {
  failures.push(`FAILED ${name}\n${reason.slice(0, REASON_CHARS_MAX).replaceAll(/^/gm, '  ')}`)
}

/** A file that cannot be loaded has no failed test in it, and yet it failed. */
function filesThatDidNotRun(report) {
  return (report.testResults ?? []).filter(isBroken).length
}

function isBroken({ status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed')
}

/** A report cut short by a crash counts as one failure. */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
