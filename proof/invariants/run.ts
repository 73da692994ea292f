import { parseArgs } from 'node:util'
import { examine, type Finding } from './index.ts'
import { openSmallShop } from './small-shop.ts'

const IDS_SHOWN = 5

const { values } = parseArgs({ options: { url: { type: 'string' } } })
const findings = values.url === undefined ? await examineSmallShop() : await examine(values.url)
const violated = findings.filter(({ ids }) => ids.length > 0)
for (const finding of findings) process.stdout.write(`${describe(finding)}\n`)
process.stdout.write(`${JSON.stringify({ rules: findings.length, violations: violated.length })}\n`)
process.exitCode = violated.length > 0 ? 1 : 0

/** Without a database to look at, one is made, with a little trade in it. */
async function examineSmallShop(): Promise<Finding[]> {
  process.stderr.write('making a small shop\n')
  const shop = await openSmallShop()
  try {
    return await examine(shop.urlOf(), shop.journal)
  } finally {
    await shop.stop()
  }
}

function describe({ rule, what, ids, ms }: Finding): string {
  const result = ids.length === 0 ? 'ok' : 'VIOLATED'
  const where = ids.length === 0 ? '' : `  ${ids.slice(0, IDS_SHOWN).join(', ')}`
  return `${rule}  ${result.padEnd(8)}  ${ms.toFixed(0).padStart(6)} ms  ${what}${where}`
}
