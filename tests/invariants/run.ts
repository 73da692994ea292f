import { parseArgs } from 'node:util'
import { examine, type Finding } from '@shopwire/test-kit/invariants'
import { startSampleSystem } from './sample-system.ts'

const IDS_SHOWN = 5

const { values } = parseArgs({ options: { url: { type: 'string' } } })
const findings = values.url === undefined ? await examineSampleSystem() : await examine(values.url)
const violated = findings.filter(({ ids }) => ids.length > 0)
for (const finding of findings) process.stdout.write(`${describe(finding)}\n`)
process.stdout.write(`${JSON.stringify({ rules: findings.length, violations: violated.length })}\n`)
process.exitCode = violated.length > 0 ? 1 : 0

/** Without --url, a system of our own with a few orders in it. */
async function examineSampleSystem(): Promise<Finding[]> {
  process.stderr.write('starting a sample system\n')
  const sample = await startSampleSystem()
  try {
    return await examine(sample.urlOf(), sample.journal)
  } finally {
    await sample.stop()
  }
}

function describe({ rule, what, ids, ms }: Finding): string {
  const result = ids.length === 0 ? 'ok' : 'VIOLATED'
  const where = ids.length === 0 ? '' : `  ${ids.slice(0, IDS_SHOWN).join(', ')}`
  return `${rule}  ${result.padEnd(8)}  ${ms.toFixed(0).padStart(6)} ms  ${what}${where}`
}
