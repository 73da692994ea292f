// Reads vitest's JSON reports: how many tests passed, which failed and why.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Second runs of failed files, each with its report and everything it printed. */
export const rerunFolder = (folder) => join(folder, 'rerun')

/** Of every test file in the reports that can be read. */
export function readFileTimes(folder) {
  return namesOf(folder).flatMap((name) => {
    try {
      const { testResults } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
      return testResults.map(({ name: file, startTime, endTime, assertionResults }) => ({
        file,
        seconds: (endTime - startTime) / 1_000,
        tests: assertionResults.length,
      }))
    } catch {
      return []
    }
  })
}

/** All reports of a folder together. A report that cannot be read, as after a crash, counts as one failure. */
export function readReports(folder) {
  const all = { passed: 0, skipped: 0, failures: [] }
  for (const name of namesOf(folder)) {
    const report = readReport(join(folder, name))
    all.passed += report.passed
    all.skipped += report.skipped
    all.failures.push(...report.failures)
  }
  return all
}

function namesOf(folder) {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .sort()
    : []
}

/** `file` of a failure is undefined when the report itself is broken; `name` is the file's when it could not be loaded. */
export function readReport(path) {
  let report
  try {
    report = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    const reason = 'The report is missing or cut short: the test run crashed.'
    return { passed: 0, skipped: 0, failures: [{ file: undefined, name: path, reason }] }
  }
  return {
    passed: report.numPassedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: report.testResults.flatMap(failuresOf),
  }
}

function failuresOf({ name: file, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === 'failed')
  // A file that cannot be loaded has no failed test in it.
  if (status === 'failed' && failed.length === 0) return [{ file, name: file, reason: message ?? '' }]
  return failed.map((test) => ({
    file,
    name: `${file} > ${test.fullName}`,
    reason: test.failureMessages.join('\n'),
  }))
}
