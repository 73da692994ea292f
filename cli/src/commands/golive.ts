import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import {
  allScenarios,
  EmulatorUnreachable,
  type GoliveOptions,
  GoliveUsageError,
  junit,
  listText,
  progressText,
  reportText,
  runGolive,
} from '../golive/index.ts'
import { EMULATOR_URL_DEFAULT } from '../store/emulator.ts'
import { wantsColour } from '../terminal/paint.ts'
import { CliError, EXIT, UsageError } from '../trouble.ts'

interface Options {
  readonly buy?: string
  readonly webhook?: string
  readonly state?: string
  readonly reconcile?: string
  readonly emulator: string
  readonly account?: string
  readonly secretEnv: string
  readonly only?: string
  readonly items?: string
  readonly patience: string
  readonly junit?: string
  readonly list?: true
}

const PREVIOUS = '_PREVIOUS'

export function define(command: Command): void {
  command
    .option('--buy <url>', 'your buy endpoint: POST {purchase, items: [{id, qty, price_cents}]}')
    .option('--webhook <url>', 'your webhook endpoint')
    .option('--state <url>', 'URL that returns the state of a purchase, with {purchase} in it')
    .option('--reconcile <url>', 'URL that starts your reconciliation when it gets a POST')
    .option('--emulator <url>', 'the emulator', EMULATOR_URL_DEFAULT)
    .option('--account <id>', "the emulator's account whose key your code uses, if not its main account")
    .option(
      '--secret-env <name>',
      `the variable with your webhook secret; the previous secret is in the variable of that name with ${PREVIOUS}`,
      'SHOPWIRE_WEBHOOK_SECRET',
    )
    .option('--only <ids>', 'only these scenarios, separated by commas')
    .option('--items <ids>', 'buy only these items, separated by commas')
    .option('--patience <seconds>', 'how long your code may take to finish a purchase', '30')
    .option('--junit <file>', 'also write a JUnit report')
    .option('--list', 'print the scenarios')
    .addHelpText(
      'after',
      `
Runs against the emulator, never against a store; play money is spent. It needs higher rate limits than a store has:
  npx @shopwire/emulator --orders-per-minute 1000 --requests-per-minute 10000
Exits with 0 when everything passed, 1 when something failed, 2 when it was called wrongly, 7 without an emulator.
${examples(
  'shopwire golive --list',
  'shopwire golive --buy http://localhost:4020/buy --webhook http://localhost:4020/hooks',
  "shopwire golive --buy http://localhost:4020/buy --state 'http://localhost:4020/purchases/{purchase}' --only plain,lost-answer",
)}`,
    )
  work<Options>(command, golive)
}

async function golive({ out }: Context, options: Options): Promise<Outcome> {
  if (options.list) {
    const scenarios = allScenarios()
    const facts = scenarios.map(({ run: _, ...scenario }) => scenario)
    out.show({ scenarios: facts }, () => listText(scenarios).trimEnd())
    return EXIT.ok
  }
  const style = {
    isColoured: !out.isJson && wantsColour(process.stdout),
    isLive: process.stdout.isTTY === true,
    docsUrl: `${options.emulator.replace(/\/$/, '')}/docs`,
  }
  const report = await runGolive(readOptions(options), (progress) => {
    if (!out.isJson) out.raw(progressText(progress, style))
  }).catch((error: unknown) => {
    throw explained(error)
  })
  if (options.junit !== undefined) await writeFile(options.junit, junit(report, style.docsUrl))
  out.show(report, () => reportText(report, style).trimEnd())
  return report.ok ? EXIT.ok : EXIT.failed
}

function readOptions(options: Options): GoliveOptions {
  const { buy, webhook, state, reconcile, emulator, account, secretEnv, only, items, patience } = options
  if (buy === undefined)
    throw new UsageError(
      '--buy URL is missing: the endpoint where your code buys.',
      '--list shows the scenarios.',
    )
  for (const url of [buy, webhook, state, reconcile, emulator]) {
    if (url !== undefined && !/^https?:/.test(url))
      throw new UsageError(`${JSON.stringify(url)} is not an address.`, 'Such as http://localhost:4020/buy.')
  }
  const patienceS = Number(patience)
  if (!(patienceS >= 1 && patienceS <= 600))
    throw new UsageError(`--patience ${patience} is not a valid time.`, 'Give seconds, from 1 to 600.')
  return {
    emulator,
    urls: { buy, webhook, state, reconcile },
    secret: process.env[secretEnv] || undefined,
    previousSecret: process.env[`${secretEnv}${PREVIOUS}`] || undefined,
    account,
    only: only?.split(','),
    items: items?.split(','),
    patienceMs: patienceS * 1000,
  }
}

function explained(error: unknown): unknown {
  if (error instanceof GoliveUsageError) return new UsageError(error.message, error.next)
  if (!(error instanceof EmulatorUnreachable)) return error
  return new CliError({
    type: 'connection_failed',
    message: error.message,
    next: 'Start one with `npx @shopwire/emulator`, or give its address with --emulator.',
    exitCode: EXIT.unavailable,
  })
}
