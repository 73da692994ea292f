import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { type SignedRequest, signedRequest, thisMoment } from '../store/signed-request.ts'
import { shellQuoted } from '../terminal/shell.ts'
import { UsageError } from '../trouble.ts'

interface Options {
  readonly body?: string
  readonly bodyFile?: string
  readonly curl?: true
  readonly timestamp?: string
  readonly nonce?: string
}

/** How long the store accepts a timestamp. */
const VALID_S = 60

export function define(command: Command): void {
  command
    .argument('<method>', 'GET, POST or DELETE')
    .argument('<path>', 'path and query exactly as sent, such as "/v1/orders?limit=5"')
    .option('--body <text>', 'the body, as it is sent')
    .option('--body-file <file>', 'the body, from a file')
    .option('--curl', 'print a curl command to paste')
    .option('--timestamp <seconds>', 'Unix time to use instead of now, to compare with your own code')
    .option('--nonce <hex>', 'nonce to use instead of a random one')
    .addHelpText(
      'after',
      `
Sends nothing. A signature is valid for ${VALID_S} seconds and for one request.
${examples(
  'shopwire sign GET /v1/balance',
  'shopwire sign GET "/v1/orders?limit=5" --curl | sh',
  `shopwire sign POST /v1/quote --body '{"items":[{"id":"1144058340327047001"}]}' --curl`,
)}`,
    )
  work<Options>(command, sign)
}

async function sign(
  { out, credentials }: Context,
  options: Options,
  method = '',
  path = '',
): Promise<Outcome> {
  const who = await credentials()
  if (!URL.canParse(who.baseUrl))
    throw new UsageError(`${JSON.stringify(who.baseUrl)} is not a base URL.`, 'Run `shopwire doctor`.')
  if (!/^[A-Za-z]+$/.test(method))
    throw new UsageError(`${JSON.stringify(method)} is not a method.`, 'Use GET, POST or DELETE.')
  const target = targetOf(out, path, who.baseUrl)
  const now = thisMoment()
  const moment = { timestamp: options.timestamp ?? now.timestamp, nonce: options.nonce ?? now.nonce }
  const request = signedRequest(who, { method, target, body: await readBody(options) }, moment)
  const { url, canonical, headers } = request
  const curl = curlCommand(request, options.bodyFile)
  const expires_at = new Date((Number(moment.timestamp) + VALID_S) * 1000).toISOString()
  const document = { method: request.method, url, target, canonical, headers, curl, expires_at }
  // The output is for a shell, so it is written without escaping control characters: the body must stay as signed.
  if (options.curl && !out.isJson) out.exact(`${curl}\n`)
  else {
    out.show(document, () => {
      const lines = Object.entries(headers).map(([name, value]) => `${out.paint.cyan(name)}: ${value}`)
      return [out.paint.dim('Canonical request'), canonical, '', out.paint.dim('Headers'), ...lines].join(
        '\n',
      )
    })
  }
  out.note(out.paintError.dim(`${options.curl ? '' : '\n'}Valid for ${VALID_S} seconds and for one request.`))
  if (request.method === 'POST' && /\/orders\/?$/.test(target)) {
    out.note(`${out.paintError.yellow('!')} Sending this buys, unless its idempotency key has bought before.`)
  }
}

/** Paths in the documentation are relative to the base URL; the signed path includes it. */
function targetOf(out: Context['out'], path: string, baseUrl: string): string {
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '')
  if (/^https?:\/\//.test(path)) {
    const url = new URL(path)
    return `${url.pathname}${url.search}`
  }
  const rooted = path.startsWith('/') ? path : `/${path}`
  if (/[^\x21-\x7e]/.test(rooted)) {
    throw new UsageError(
      'A path must be ASCII without spaces.',
      'Percent-encode other characters as they will be sent: %20 for a space.',
    )
  }
  if (rooted === base || rooted.startsWith(`${base}/`)) return rooted
  out.note(out.paintError.dim(`${rooted} is signed as ${base}${rooted}, the path that is sent.`))
  return `${base}${rooted}`
}

async function readBody({ body, bodyFile }: Options): Promise<Uint8Array> {
  if (body !== undefined && bodyFile !== undefined)
    throw new UsageError('--body and --body-file cannot be combined.', 'Give one.')
  if (bodyFile !== undefined) return readFile(bodyFile)
  return Buffer.from(body ?? '', 'utf8')
}

function curlCommand({ method, url, headers, body }: SignedRequest, bodyFile: string | undefined): string {
  // --globoff and --path-as-is: curl must send the path exactly as signed, brackets and dots included.
  const words = ['curl', '-sS', '-i', '--globoff', '--path-as-is', '-X', method, shellQuoted(url)]
  for (const [name, value] of Object.entries(headers)) words.push('-H', shellQuoted(`${name}: ${value}`))
  if (body.byteLength > 0) words.push(...curlBody(body, bodyFile))
  return words.join(' ')
}

function curlBody(body: Uint8Array, bodyFile: string | undefined): string[] {
  const text = Buffer.from(body).toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(body) && !text.includes('\0')
  // --data-raw does not read a leading @ as a file name; --data-binary keeps the bytes of a file.
  if (isText) return ['--data-raw', shellQuoted(text)]
  return ['--data-binary', shellQuoted(`@${resolve(bodyFile ?? '')}`)]
}
