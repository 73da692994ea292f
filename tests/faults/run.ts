import { parseArgs } from 'node:util'
import { batchings, type FaultOptions, runFaults } from './faults.ts'
import { KINDS } from './kinds.ts'

const USAGE = `usage: npm run faults -- --seconds 60 --seed 1 [--runs 1] [--kinds ${Object.keys(KINDS).join(',')}] [--orders 1000000] [--accounts 5000] [--every 5] [--admission redis|postgres] [--batching ${batchings.join('|')}] [--no-worker]
Each run has the next seed. Slow and full disks need root on Linux, and a C compiler.\n`

const { values } = parseArgs({
  allowNegative: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    orders: { type: 'string', default: '1000000' },
    accounts: { type: 'string', default: '200' },
    every: { type: 'string', default: '5' },
    runs: { type: 'string', default: '1' },
    kinds: { type: 'string', default: Object.keys(KINDS).join(',') },
    admission: { type: 'string', default: 'redis' },
    batching: { type: 'string', default: 'adaptive' },
    worker: { type: 'boolean', default: true },
  },
})
const options = readOptions()
const runs = Number(values.runs)
if (!options || !Number.isInteger(runs) || runs < 1) {
  process.stderr.write(USAGE)
  process.exit(2)
}
try {
  for (let run = 0; run < runs; run += 1) {
    const seed = options.seed + run
    const report = await runFaults({ ...options, seed }, (line) => process.stdout.write(`${line}\n`))
    for (const line of report.wrong) process.stderr.write(`WRONG: ${line}\n`)
    process.stdout.write(`${JSON.stringify({ faults: 'orders', ...report, wrong: report.wrong.length })}\n`)
    if (report.wrong.length === 0) continue
    process.stderr.write(
      `again: npm run faults -- ${process.argv.slice(2).join(' ')} --seed ${seed} --runs 1\n`,
    )
    process.exitCode = 1
    break
  }
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
  const batching = batchings.find((name) => name === values.batching)
  if (batching === undefined) return undefined
  const kinds = values.kinds.split(',')
  if (!kinds.every((name) => KINDS[name])) return undefined
  return { seconds, seed, orders, accounts, every, kinds, admission, batching, worker: values.worker }
}
