import { webhooks } from '@shopwire/sdk'
import type { Command } from 'commander'
import { Argument } from 'commander'
import { collect, examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { wholeNumber } from '../terminal/numbers.ts'
import { CliError, EXIT, UsageError } from '../trouble.ts'
import { VERSION } from '../version.ts'
import { listeningSecret } from '../webhooks/emulator-source.ts'
import { type Forwarded, forward, isAccepted } from '../webhooks/forward.ts'
import { readWebhookSecret } from '../webhooks/secret.ts'
import {
  EVENTS,
  type EventName,
  override,
  type SimulatedEvent,
  simulatedEvent,
} from '../webhooks/simulated-event.ts'
import { parseTarget, refuseFarTarget } from '../webhooks/target.ts'

interface Options {
  readonly to?: string
  readonly override?: string[]
  readonly times: number
  readonly sameId?: true
  readonly secretFile?: string
  readonly anywhere?: true
  readonly print?: true
}

const TIMES_MAX = 1_000

export function define(command: Command): void {
  command
    .addArgument(new Argument('<event>', 'what happened').choices(EVENTS))
    .option('--to <url>', "your receiver; by default the endpoint of the emulator's account")
    .option('--override <path=value>', 'change a field of the event; repeatable', collect)
    .option('--times <n>', 'number of events, each with its own id', wholeNumber, 1)
    .option('--same-id', 'send the same event every time, like a retry of the store')
    .option(
      '--secret-file <file>',
      'signing secret (default: SHOPWIRE_WEBHOOK_SECRET, or that of the emulator)',
    )
    .option('--anywhere', 'allow a public address')
    .option('--print', 'print body and headers instead of sending them')
    .addHelpText(
      'after',
      `
The event is created and signed locally, with invented data, and marked by the header X-Shopwire-Simulated; no store
is involved. Exits with 1 unless every answer is 2xx, with 7 when there is no answer.
${examples(
  'shopwire trigger order.delivered --to localhost:3000/hooks',
  'shopwire trigger order.accepted --to localhost:3000/hooks --override data.order.total_cents=500',
  'shopwire trigger order.delivered --to localhost:3000/hooks --times 3 --same-id',
)}`,
    )
  work<Options>(command, trigger)
}

async function trigger(context: Context, options: Options, event = ''): Promise<Outcome> {
  const { out } = context
  if (options.times < 1 || options.times > TIMES_MAX)
    throw new UsageError(`--times ${options.times} is out of range.`, `From 1 to ${TIMES_MAX}.`)
  const { secret, url } = await whereTo(context, options)
  await refuseFarTarget(url, options.anywhere)
  const first = changed(event as EventName, options)
  if (options.print) return print(context, first, secret)

  out.note(out.paintError.yellow(`SIMULATED ${event}: created and signed locally, sent to ${url.href}`))
  const results: (Forwarded & { id: string })[] = []
  for (let time = 0; time < options.times; time++) {
    const one = time === 0 || options.sameId ? first : changed(event as EventName, options)
    const { body, headers } = await signed(one, secret)
    const answer = await forward(url, body, headers)
    results.push({ id: one.id, ...answer })
    if (!out.isJson) out.raw(`${line(context, one.id, answer)}\n`)
  }
  if (out.isJson) out.show({ simulated: true, event, to: url.href, deliveries: results }, () => '')
  if (results.every(({ status }) => status === null)) {
    throw new CliError({
      type: 'connection_failed',
      message: `No answer from ${url.href}: ${results[0]?.error}.`,
      next: 'Start your receiver, or correct --to.',
      exitCode: EXIT.unavailable,
    })
  }
  return results.every(isAccepted) ? EXIT.ok : EXIT.failed
}

async function whereTo(context: Context, options: Options): Promise<{ secret: string; url: URL }> {
  let secret = await readWebhookSecret(options.secretFile)
  let to = options.to
  if (secret === undefined || to === undefined) {
    const webhook = await emulatorsWebhook(context)
    secret ??= webhook?.secret
    to ??= webhook?.url
  }
  if (to === undefined && !options.print)
    throw new UsageError('There is no address to send to.', 'Add --to localhost:3000/hooks.')
  if (secret === undefined) {
    throw new UsageError(
      'There is no webhook secret to sign with.',
      'Give --secret-file FILE or set SHOPWIRE_WEBHOOK_SECRET to the secret that your receiver uses. Any text works if both are the same.',
    )
  }
  return { secret, url: parseTarget(to ?? 'localhost', '--to') }
}

/** Without an endpoint, the secret is the one that `listen` would use. */
async function emulatorsWebhook(context: Context): Promise<{ secret: string; url?: string } | undefined> {
  // Without a profile the command still works, with --to and a secret.
  const emulator = await context.emulator().catch(() => undefined)
  if (!emulator) return undefined
  const { webhook } = await emulator.facts()
  return webhook ?? { secret: listeningSecret((await context.credentials()).secret) }
}

function changed(event: EventName, { override: assignments = [] }: Options): SimulatedEvent {
  const made = simulatedEvent(event)
  for (const assignment of assignments) override(made, assignment)
  return made
}

async function signed(event: SimulatedEvent, secret: string) {
  const { body, headers } = await webhooks.sign(event as Parameters<typeof webhooks.sign>[0], { secret })
  return {
    body,
    headers: { ...headers, 'User-Agent': `shopwire-cli/${VERSION}`, 'X-Shopwire-Simulated': 'true' },
  }
}

async function print({ out }: Context, event: SimulatedEvent, secret: string): Promise<Outcome> {
  const { body, headers } = await signed(event, secret)
  out.show({ simulated: true, headers, body }, () =>
    [...Object.entries(headers).map(([name, value]) => `${out.paint.cyan(name)}: ${value}`), '', body].join(
      '\n',
    ),
  )
}

function line({ out: { paint } }: Context, id: string, answer: Forwarded): string {
  const said = answer.status === null ? (answer.error ?? '') : String(answer.status)
  return `${id}  ${isAccepted(answer) ? paint.green(said) : paint.red(said)}  ${paint.dim(`${answer.ms} ms`)}`
}
