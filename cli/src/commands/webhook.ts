import { readFile } from 'node:fs/promises'
import { PermissionError, type WebhookHealth, WebhookVerificationError, webhooks } from '@shopwire/sdk'
import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { printable } from '../terminal/paint.ts'
import { facts } from '../terminal/table.ts'
import { count, moment } from '../terminal/words.ts'
import { CliError, EXIT } from '../trouble.ts'
import { parseHeaders } from '../webhooks/recorded-headers.ts'
import { needWebhookSecret } from '../webhooks/secret.ts'

export function define(command: Command): void {
  command.addHelpText(
    'after',
    examples(
      'shopwire webhook',
      'shopwire webhook set https://example.com/hooks',
      'shopwire webhook test',
      'SHOPWIRE_WEBHOOK_SECRET=… shopwire webhook verify --file body.json --headers headers.txt',
    ),
  )
  work(
    command
      .command('get', { isDefault: true })
      .description('show the endpoint and the state of its deliveries')
      .addHelpText('after', '\nScope webhooks:read.'),
    async ({ out, shop }) => {
      const health = await (await shop()).webhookEndpoint.get()
      out.show(health, () => healthText(health, out.paint))
    },
  )
  work<YesOption>(
    command
      .command('set <url>')
      .description('set the endpoint that events are sent to')
      .option('-y, --yes', 'do not ask before pending deliveries to the old address are cancelled')
      .addHelpText(
        'after',
        `
A new endpoint gets a signing secret, which is printed only this once: save it. Changing the address keeps the
secret and cancels pending deliveries to the old one. Scopes webhooks:write, orders:read.
${examples('shopwire webhook set https://example.com/hooks')}`,
      ),
    setEndpoint,
  )
  work<YesOption>(
    command
      .command('delete')
      .description('delete the endpoint: no more events are sent')
      .option('-y, --yes', 'do not ask for confirmation')
      .addHelpText(
        'after',
        '\nPending deliveries are cancelled, and the next endpoint gets a new secret. Scope webhooks:write.',
      ),
    deleteEndpoint,
  )
  work(
    command
      .command('test')
      .description('ask the store to send a test event')
      .addHelpText(
        'after',
        '\nThe event has the type "test"; it creates no order and spends nothing. Scope webhooks:write.',
      ),
    async ({ out, shop }) => {
      const result = await (await shop()).webhookEndpoint.test()
      out.show(
        result,
        () => `${out.paint.green('✔')} A test event is queued. Check its delivery: shopwire webhook`,
      )
    },
  )
  work<VerifyOptions>(
    command
      .command('verify')
      .description('check the signature of an event that you saved')
      .requiredOption('--file <file>', 'file with the body, byte for byte as it arrived')
      .requiredOption('--headers <file>', 'file with its headers: `Name: value` lines or a JSON object')
      .option('--secret-file <file>', 'the signing secret (also: SHOPWIRE_WEBHOOK_SECRET)')
      .option('--ignore-time', 'also accept an event older than 300 seconds, as a saved one is')
      .addHelpText(
        'after',
        `\nNothing is sent. Exits with 1 when the signature is not valid.\n${examples('shopwire webhook verify --file body.json --headers headers.txt --secret-file whsec.txt --ignore-time')}`,
      ),
    verifyEvent,
  )
}

interface YesOption {
  readonly yes?: true
}

interface VerifyOptions {
  readonly file: string
  readonly headers: string
  readonly secretFile?: string
  readonly ignoreTime?: true
}

async function setEndpoint(context: Context, { yes }: YesOption, url = ''): Promise<Outcome> {
  const { out } = context
  const shop = await context.shop()
  const now = await shop.webhookEndpoint.get().catch((error: unknown) => {
    if (error instanceof PermissionError && error.type === 'insufficient_scope') return undefined
    throw error
  })
  if (now?.webhook_url && now.webhook_url !== url && now.pending > 0) {
    const what = `${count(now.pending, 'event')} pending for ${now.webhook_url} will be cancelled. Continue?`
    if (!(await context.mayProceed(what, yes))) return EXIT.failed
  }
  const configured = await shop.webhookEndpoint.set(url)
  out.show(configured, () => {
    const { secret, ...health } = configured
    const about = secret
      ? `\n\n${out.paint.bold(secret)}\n${out.paint.yellow('!')} This is the signing secret. It is shown once, now, and never again. Save it on your server.`
      : `\n\n${out.paint.dim('The signing secret has not changed. It is shown only for a new endpoint.')}`
    return `${out.paint.green('✔')} Events are sent to ${printable(health.webhook_url ?? '')}${about}`
  })
}

async function deleteEndpoint(context: Context, { yes }: YesOption): Promise<Outcome> {
  const { out } = context
  if (!(await context.mayProceed('Stop all events and cancel pending deliveries?', yes))) {
    out.note('Nothing was changed.')
    return EXIT.failed
  }
  const health = await (await context.shop()).webhookEndpoint.delete()
  out.show(health, () => `${out.paint.green('✔')} No events are sent any more.`)
}

async function verifyEvent({ out }: Context, options: VerifyOptions): Promise<Outcome> {
  const secret = await needWebhookSecret(options.secretFile)
  const body = await readFile(options.file)
  const headers = parseHeaders(await readFile(options.headers, 'utf8'))
  const tolerance = options.ignoreTime ? Number.POSITIVE_INFINITY : undefined
  const event = await webhooks
    .unwrap(body, headers, { secrets: [secret], tolerance })
    .catch(async (error: unknown) => {
      if (!(error instanceof WebhookVerificationError)) throw error
      throw new CliError({
        type: error.reason,
        message: error.message,
        next: await hintFor(error, body, headers, secret),
      })
    })
  out.show({ ok: true, id: event.id, event: event.event, created_at: event.created_at }, () =>
    [
      `${out.paint.green('✔')} ${out.paint.bold('The signature is valid.')}`,
      facts(
        [
          ['Event', `${printable(event.event)}  ${printable(event.id)}`],
          ['Made', moment(event.created_at)],
        ],
        out.paint,
      ),
    ].join('\n'),
  )
}

/** Common ways in which a saved body differs from the one that was sent. */
async function hintFor(
  { reason }: WebhookVerificationError,
  body: Buffer,
  headers: Record<string, string>,
  secret: string,
): Promise<string> {
  if (reason === 'stale') return 'For an event that you saved earlier add --ignore-time.'
  if (reason === 'missing_header')
    return 'Save X-Webhook-Timestamp, X-Webhook-Id and X-Webhook-Signature beside the body.'
  if (reason !== 'no_match') return 'Save body and headers as they arrive, before anything reads them.'
  const holds = (bytes: string | Buffer, key = secret) =>
    webhooks.verify(bytes, headers, { secrets: [key], tolerance: Number.POSITIVE_INFINITY }).then(
      () => true,
      () => false,
    )
  const text = body.toString('utf8')
  if (await holds(text.replace(/\r?\n$/, '')))
    return 'The file ends in a line break that was not sent. Your editor or shell added it.'
  if (await holds(text.replace(/^\ufeff/, '')))
    return 'The file begins with a byte order mark that was not sent.'
  if (await holds(minified(text)))
    return 'The file was formatted: spaces and line breaks were added to the JSON. Save the raw bytes.'
  if (await holds(body, secret.replace(/^whsec_/, '')))
    return 'The secret is used whole, whsec_ included; this event was signed without it.'
  return 'Check that the secret is the one of this endpoint (a new endpoint has a new one), and that the file has the raw bytes.'
}

function minified(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

function healthText(health: WebhookHealth, paint: Context['out']['paint']): string {
  if (health.webhook_url === null)
    return 'No endpoint is set; no events are sent. Set one: shopwire webhook set URL'
  return facts(
    [
      ['Endpoint', paint.bold(printable(health.webhook_url))],
      ['Waiting', String(health.pending)],
      ['Given up', health.failed > 0 ? paint.red(String(health.failed)) : '0'],
      ['Delivered', health.last_delivered_at ? `last ${moment(health.last_delivered_at)}` : 'never'],
      [
        'Failed',
        health.last_failure_at
          ? `last ${moment(health.last_failure_at)}: ${printable(health.last_error ?? '')}`
          : 'never',
      ],
    ],
    paint,
  )
}
