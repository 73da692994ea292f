import type { Command } from 'commander'
import { Option } from 'commander'
import { collect, examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { Dashboard } from '../store/dashboard.ts'
import { jsonText, printable } from '../terminal/paint.ts'
import { CliError, EXIT } from '../trouble.ts'
import type { Delivery, DeliverySource } from '../webhooks/delivery-source.ts'
import { listeningSecret, openEmulatorSource } from '../webhooks/emulator-source.ts'
import { type Forwarded, forward, isAccepted } from '../webhooks/forward.ts'
import { openStoreSource } from '../webhooks/store-source.ts'
import { parseTarget } from '../webhooks/target.ts'

interface Options {
  readonly forwardTo?: string
  readonly events?: string[]
  readonly printSecret?: true
  readonly format: 'text' | 'json'
}

export function define(command: Command): void {
  command
    .option(
      '--forward-to <url>',
      'your receiver, such as localhost:3000/hooks; without it events are only shown',
    )
    .option('--events <pattern>', 'only these events, such as order.* or test; repeatable', collect)
    .option('--print-secret', 'print the signing secret and nothing else, for the settings of your receiver')
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Follows a store or an emulator until Ctrl-C and forwards every event to your receiver.

A store needs a personal access token (shopwire login, or SHOPWIRE_DASHBOARD_URL and SHOPWIRE_TOKEN). The account's own
endpoint keeps getting every event; what is forwarded has the same body and is signed with a secret of this profile,
which --print-secret prints. Gift links are placeholders unless the token was made with links.

An emulator needs none: its bytes and signatures are forwarded unchanged, and an account without an endpoint gets one
while this command runs. With --format json (or --json) every event is a line of JSON.
${examples(
  'shopwire listen --forward-to localhost:3000/hooks',
  'shopwire listen --forward-to localhost:3000/hooks --events "order.*"',
  'SHOPWIRE_WEBHOOK_SECRET=$(shopwire listen --print-secret) node server.js',
)}`,
    )
  work<Options>(command, listen)
}

async function listen(context: Context, options: Options): Promise<Outcome> {
  const { out } = context
  const url = options.forwardTo === undefined ? undefined : parseTarget(options.forwardTo, '--forward-to')
  const followed = await whatToFollow(context)
  if (options.printSecret) {
    const secret = await followed.secret()
    out.show({ secret }, () => secret)
    return EXIT.ok
  }
  const source = await followed.open()
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    await source.open()
    await relay(context, source, url, options, stop.signal)
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    await source.close()
  }
}

interface Followed {
  secret(): Promise<string>
  open(): Promise<DeliverySource>
}

/** A token means a store; without one, only an emulator can be followed. */
async function whatToFollow(context: Context): Promise<Followed> {
  const access = await context.token()
  if (access) {
    const secret = access.listenSecret ?? listeningSecret(access.token)
    return { secret: async () => secret, open: () => openStoreSource(new Dashboard(access), secret) }
  }
  const { baseUrl, secret: apiSecret } = await context.credentials()
  const emulator = await context.emulator()
  if (!emulator) throw noToken(baseUrl)
  return {
    secret: async () => (await emulator.facts()).webhook?.secret ?? listeningSecret(apiSecret),
    open: () => openEmulatorSource(emulator, apiSecret),
  }
}

async function relay(
  { out }: Context,
  source: DeliverySource,
  url: URL | undefined,
  { events, format }: Options,
  signal: AbortSignal,
): Promise<void> {
  const isJson = out.isJson || format === 'json'
  const { paintError: paint } = out
  const wanted = (events ?? []).flatMap((text) => text.split(',')).map(patternOf)
  if (!isJson) {
    out.note(
      `${paint.green('Ready.')} Listening to ${printable(source.name)} · signing secret ${masked(source.secret)} ${paint.dim('(shopwire listen --print-secret)')}`,
    )
    for (const note of source.notes(url)) out.note(`${paint.yellow('!')} ${printable(note)}`)
  }
  const onTrouble = (text: string) => out.note(`${clock()}  ${paint.yellow('!')} ${text}`)
  for await (const delivery of source.deliveries(signal, onTrouble)) {
    if (wanted.length > 0 && !wanted.some((form) => form.test(delivery.event))) continue
    if (!isJson) out.raw(`${arrival(out, delivery)}\n`)
    const answer = url && (await forward(url, delivery.body, passedOn(delivery.headers)))
    if (isJson) out.raw(`${jsonText(jsonLine(delivery, url, answer))}\n`)
    else if (url && answer) out.raw(`${departure(out, url, answer)}\n`)
  }
}

/** Forwards the signature headers, not the headers of the connection. */
function passedOn(headers: Readonly<Record<string, string>>): Record<string, string> {
  const isKept = (name: string) => /^(content-type|user-agent|x-webhook-.*)$/i.test(name)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isKept(name)))
}

function arrival({ paint }: Context['out'], { event, event_id, order_id }: Delivery): string {
  return `${paint.dim(clock())}  --> ${paint.bold(printable(event).padEnd(16))}  ${printable(event_id)}${order_id ? `  ${printable(order_id)}` : ''}`
}

function departure({ paint }: Context['out'], url: URL, answer: Forwarded): string {
  const said =
    answer.status === null
      ? paint.red(answer.error ?? 'failed')
      : isAccepted(answer)
        ? paint.green(String(answer.status))
        : paint.red(String(answer.status))
  return `${paint.dim(clock())}  <-- ${said}  ${answer.ms}ms  POST ${url.host}${url.pathname}`
}

function jsonLine(
  { event, event_id, order_id, links }: Delivery,
  url: URL | undefined,
  answer: Forwarded | undefined,
) {
  const forwarded = answer && { to: url?.href, ...answer }
  return {
    at: new Date().toISOString(),
    event,
    event_id,
    order_id,
    ...(links && { links }),
    forwarded: forwarded ?? null,
  }
}

function patternOf(text: string): RegExp {
  const escaped = text
    .trim()
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
  return new RegExp(`^${escaped}$`)
}

function clock(): string {
  return new Date().toTimeString().slice(0, 8)
}

function masked(secret: string): string {
  return `${secret.slice(0, 6)}…${secret.slice(-4)}`
}

function noToken(baseUrl: string): CliError {
  return new CliError({
    type: 'no_token',
    message: `${baseUrl} is a store, and listening to it needs a personal access token.`,
    why: 'A store delivers to public HTTPS addresses and never to localhost. Its dashboard shows live events to a token that may listen.',
    next: [
      'Create one in the dashboard, under API keys, Command line; then:',
      'shopwire login --dashboard-url https://dashboard.shop.example',
      'Without a store: npx @shopwire/emulator, shopwire profile add emulator --emulator, shopwire --profile emulator listen …',
      'One event by hand: shopwire trigger order.delivered --to localhost:3000/hooks',
    ].join('\n'),
    exitCode: EXIT.usage,
  })
}
