// Adds up vitest's JSON reports, names what failed and why, and closes with "N passed, N failed", with ", N skipped" when
// some were. A test that failed and passed when its file was run again alone (rerun.mjs) is listed as flaky, with both
// outputs, and counts as passed; more than three of those count as failed, and with SHOPWIRE_CI=full every one. Only the end of a
// long log may reach the reader, so everything is repeated here. Fails when a test failed, and when none passed: a run without tests is not a success.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readReport, readReports, rerunFolder } from './reports.mjs'

/** A change need not wait for somebody else's flaky test; a release does. */
const FLAKY_MAX = process.env.SHOPWIRE_CI === 'full' ? 0 : 3
const REASON_CHARS_MAX = 1_500
const OUTPUT_CHARS_MAX = 3_000

const folder = process.argv[2] ?? '.data/reports'
const { passed, skipped, failures } = readReports(folder)
const reruns = readReruns(rerunFolder(folder))

const flaky = failures.filter(passedAlone)
const broken = failures.filter((failure) => !passedAlone(failure))
const isTooFlaky = flaky.length > FLAKY_MAX
const failed = broken.length + (isTooFlaky ? flaky.length : 0)

for (const { name, reason } of broken) {
  say(`FAILED ${name}`)
  say(indent(reason.slice(0, REASON_CHARS_MAX)))
}
for (const failure of flaky) {
  say(`FLAKY ${failure.name}`)
  say('  first run, beside the others:')
  say(indent(failure.reason.slice(0, REASON_CHARS_MAX)))
  say('  second run, alone: passed')
  say(indent(reruns.get(failure.file).output.slice(-OUTPUT_CHARS_MAX)))
}
if (flaky.length > 0)
  say(`${flaky.length} flaky: each is a suspect to be looked into, at most ${FLAKY_MAX} pass`)
if (isTooFlaky) say(`more than ${FLAKY_MAX}: they count as failed`)
const passedInTheEnd = passed + (isTooFlaky ? 0 : flaky.length)
say(`${passedInTheEnd} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

/** The second run must have executed the test, and the whole file must have passed. */
function passedAlone({ file }) {
  const second = file === undefined ? undefined : reruns.get(file)
  return second !== undefined && second.passed > 0 && second.failures.length === 0
}

function readReruns(from) {
  const byFile = new Map()
  for (const name of existsSync(from) ? readdirSync(from) : []) {
    if (!name.endsWith('.log')) continue
    const [file, ...output] = readFileSync(join(from, name), 'utf8').split('\n')
    const report = readReport(join(from, name.replace(/\.log$/, '.json')))
    byFile.set(file, { ...report, output: output.join('\n').trim() })
  }
  return byFile
}

function indent(text) {
  return text.replaceAll(/^/gm, '    ')
}

function say(text) {
  process.stdout.write(`${text}\n`)
}
