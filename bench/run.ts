import { parseArgs } from 'node:util'
import { all } from './all.ts'
import { churn } from './churn.ts'
import { dashboard } from './dashboard.ts'
import { footprint } from './footprint.ts'
import { fulfilment } from './fulfilment.ts'
import { growth } from './growth.ts'
import { orders } from './orders.ts'
import { processes } from './processes.ts'
import { queue } from './queue.ts'
import { reads } from './reads.ts'
import { restock } from './restock.ts'
import { untilQuiet } from './shared/machine.ts'
import { type BenchOptions, scales, webhookParts } from './shared/options.ts'
import { pinParts } from './shared/pin.ts'
import { webhooks } from './webhooks.ts'

const BENCHES: Readonly<Record<string, (options: BenchOptions) => Promise<void>>> = {
  all,
  reads,
  orders,
  processes,
  growth,
  footprint,
  fulfilment,
  webhooks,
  dashboard,
  restock,
  queue,
  churn,
}
/** A signature lives for a minute, and signing comes before the run. */
const SECONDS_MAX = 30
const ROUNDS_MAX = 100
const MINUTES_MAX = 60
const ORDERS_MAX = 20_000_000
const DASHBOARDS_MAX = 2_000
const RATE_MAX = 5_000

try {
  const { name, options } = readCommandLine()
  const bench = BENCHES[name]
  if (bench) {
    if (options.quiet) await untilQuiet()
    if (options.pin) pinParts()
    if (process.platform !== 'linux')
      process.stderr.write(
        'bench: only Linux tells every CPU time; those that are missing are shown as NaN\n',
      )
    await bench(options)
  } else {
    process.stderr.write('usage: npm run bench -- <name> [options]; bench/README.md has them\n')
    process.stderr.write(`names: ${Object.keys(BENCHES).join(', ')}\n`)
    process.exitCode = 2
  }
} catch (error) {
  process.stderr.write(`bench: ${(error as Error).message}\n`)
  // 2 means that the bench could not be begun: a wrong option, a program that is not installed. It ends here and now, because
  // connections that a failed bench left open would keep the process, and with it the engines.
  process.exit(/^(CANNOT_BEGIN|ERR_PARSE_ARGS)/.test(String((error as { code?: unknown }).code)) ? 2 : 1)
}

function readCommandLine(): { name: string; options: BenchOptions } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '8' },
      rounds: { type: 'string', default: '3' },
      profile: { type: 'boolean', default: false },
      worker: { type: 'boolean', default: false },
      scale: { type: 'string', default: 'full' },
      plot: { type: 'boolean', default: false },
      minutes: { type: 'string', default: '0' },
      only: { type: 'string' },
      orders: { type: 'string' },
      dashboards: { type: 'string', default: '0' },
      rate: { type: 'string', default: '0' },
      statements: { type: 'boolean', default: false },
      cluster: { type: 'boolean', default: false },
      pin: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
    },
  })
  return {
    name: positionals[0] ?? '',
    options: {
      seconds: wholeNumber('--seconds', values.seconds, SECONDS_MAX),
      rounds: wholeNumber('--rounds', values.rounds, ROUNDS_MAX),
      profile: values.profile,
      worker: values.worker,
      scale: oneOf('--scale', values.scale, scales),
      plot: values.plot,
      cluster: values.cluster,
      pin: values.pin,
      quiet: values.quiet,
      quick: values.quick,
      record: values.record,
      only: values.only === undefined ? undefined : oneOf('--only', values.only, webhookParts),
      minutes: wholeNumber('--minutes', values.minutes, MINUTES_MAX, 0),
      orders:
        values.orders === undefined ? undefined : wholeNumber('--orders', values.orders, ORDERS_MAX, 1_000),
      rate: wholeNumber('--rate', values.rate, RATE_MAX, 0),
      statements: values.statements,
      dashboards: wholeNumber('--dashboards', values.dashboards, DASHBOARDS_MAX, 0),
    },
  }
}

function oneOf<Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text)
  if (word) return word
  throw Object.assign(new Error(`${option} must be one of ${words.join(', ')}`), { code: 'CANNOT_BEGIN' })
}

function wholeNumber(option: string, text: string, max: number, min = 1): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw Object.assign(new Error(`${option} must be a whole number from ${min} to ${max}`), {
    code: 'CANNOT_BEGIN',
  })
}
