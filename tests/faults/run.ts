import { parseArgs } from 'node:util'
import { type FaultOptions, runFaults } from './faults.ts'

const USAGE =
  'usage: npm run faults -- --seconds 60 --seed 1 [--orders 1000000] [--accounts 5000] [--every 20] [--admission redis|postgres] [--no-worker]\n'

const { values } = parseArgs({
  allowNegative: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    orders: { type: 'string', default: '1000000' },
    accounts: { type: 'string', default: '200' },
    every: { type: 'string', default: '20' },
    admission: { type: 'string', default: 'redis' },
    worker: { type: 'boolean', default: true },
  },
})
const options = readOptions()
if (!options) {
  process.stderr.write(USAGE)
  process.exit(2)
}
try {
  const report = await runFaults(options, (line) => process.stdout.write(`${line}\n`))
  for (const line of report.wrong) process.stderr.write(`WRONG: ${line}\n`)
  process.stdout.write(`${JSON.stringify({ faults: 'orders', ...report, wrong: report.wrong.length })}\n`)
  process.exitCode = report.wrong.length > 0 ? 1 : 0
} catch (error) {
  process.stderr.write(`faults: ${(error as Error).stack}\n`)
  process.exit(1)
}

function readOptions(): FaultOptions | undefined {
  const { admission } = values
  const [seconds, seed, orders, accounts, every] = [
    values.seconds,
    values.seed,
    values.orders,
    values.accounts,
    values.every,
  ].map(Number) as [number, number, number, number, number]
  if (![seconds, seed, orders, accounts, every].every((n) => Number.isInteger(n) && n > 0)) return undefined
  if (admission !== 'redis' && admission !== 'postgres') return undefined
  return { seconds, seed, orders, accounts, every, admission, worker: values.worker }
}
