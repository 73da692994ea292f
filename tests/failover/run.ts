import { parseArgs } from 'node:util'
import {
  canMakePublicNetwork,
  isInPublicNetwork,
  NO_PUBLIC_NETWORK,
  runAgainInPublicNetwork,
} from '@shopwire/test-kit/servers'
import { type FailoverOptions, runFailover } from './failover.ts'
import { FAULTS } from './faults.ts'

const USAGE = `usage: npm run failover -- [--rounds 5] [--faults ${Object.keys(FAULTS).join(',')}] [--rate 40] [--accounts 16] [--asynchronous] [--pooled] [--redis] [--patroni-unpatched]
Needs Linux, root, and: apt-get install patroni etcd-server haproxy pgbouncer gcc\n`
const USUAL = ['kill-postgres', 'kill-machine', 'switchover', 'pause-machine', 'cut-machine']

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    faults: { type: 'string', default: USUAL.join(',') },
    rate: { type: 'string', default: '40' },
    accounts: { type: 'string', default: '16' },
    asynchronous: { type: 'boolean', default: false },
    pooled: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
    'patroni-unpatched': { type: 'boolean', default: false },
  },
})
const options = readOptions()
if (!options) {
  process.stderr.write(USAGE)
  process.exit(2)
}
if (!isInPublicNetwork()) {
  if (!canMakePublicNetwork()) {
    process.stderr.write(`failover: ${NO_PUBLIC_NETWORK}\n`)
    process.exit(2)
  }
  process.exit(await runAgainInPublicNetwork())
}
try {
  const rounds = await runFailover(options, (line) =>
    process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`),
  )
  const sum = (of: (round: (typeof rounds)[number]) => number) =>
    rounds.reduce((all, round) => all + of(round), 0)
  const wrong = sum((round) => round.wrong.length)
  const report = {
    failover: options.isSynchronous ? 'synchronous' : 'asynchronous',
    rounds: rounds.length,
    orders: sum(({ orders }) => orders),
    lost: sum(({ lost }) => lost),
    unnamed: sum(({ unnamed }) => unnamed),
    webhooks_missing: sum(({ webhooks_missing }) => webhooks_missing),
    errors_500: sum(({ seen }) =>
      Object.entries(seen).reduce((n, [what, times]) => n + (what.startsWith('500') ? times : 0), 0),
    ),
    by_operator: rounds.filter(({ by }) => by === 'operator').length,
    resumed_s: Object.fromEntries(
      options.faults.map((name) => [
        name,
        rounds.flatMap((one) => (one.fault === name ? one.resumed_s : [])),
      ]),
    ),
    closed_s: rounds.flatMap(({ closed_s }) => closed_s ?? []),
    wrong,
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
  const mayLose = !options.isSynchronous || options.isPatroniUnpatched
  process.exit(wrong + report.unnamed > 0 || (report.lost > 0 && !mayLose) ? 1 : 0)
} catch (error) {
  process.stderr.write(`failover: ${(error as Error).stack}\n`)
  process.exit(1)
}

function readOptions(): FailoverOptions | undefined {
  const [rounds, rate, accounts] = [values.rounds, values.rate, values.accounts].map(Number) as [
    number,
    number,
    number,
  ]
  const faults = values.faults.split(',')
  if (![rounds, rate, accounts].every((n) => Number.isInteger(n) && n > 0)) return undefined
  if (!faults.every((name) => FAULTS[name])) return undefined
  return {
    rounds,
    rate,
    accounts,
    faults,
    isSynchronous: !values.asynchronous,
    isPooled: values.pooled,
    hasRedis: values.redis,
    isPatroniUnpatched: values['patroni-unpatched'],
  }
}
