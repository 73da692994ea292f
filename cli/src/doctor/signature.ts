import { readFile } from 'node:fs/promises'
import { matchMistake } from '@shopwire/contract/signature-mistakes'
import {
  canonicalRequest,
  KEY_ID_FORM,
  NONCE_FORM,
  requestHeadersLower,
  SIGNATURE_FORM,
  signatureMatches,
  signRequest,
  TIMESTAMP_FORM,
} from '@shopwire/contract/signing'
import type { Context, Outcome } from '../context.ts'
import { isServed } from '../store/served.ts'
import { printable } from '../terminal/paint.ts'
import { EXIT, UsageError } from '../trouble.ts'
import { parseRequest, type RecordedRequest } from './recorded-request.ts'

export interface SignatureOptions {
  readonly method?: string
  readonly path?: string
  readonly timestamp?: string
  readonly nonce?: string
  readonly signature?: string
  readonly body?: string
  readonly bodyFile?: string
  readonly request?: string
}

interface SentRequest {
  readonly method: string
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  readonly signature: string
  readonly body: Uint8Array
  readonly keyId: string | undefined
  readonly host: string | undefined
}

/** Finds the mistake behind a wrong signature, locally with the profile's secret. The request is not sent; the store is only asked whether it serves the page about mistakes. */
export async function explainSignature(context: Context, options: SignatureOptions): Promise<Outcome> {
  const { out } = context
  const { secret, keyId: ownKey, baseUrl } = await context.credentials()
  const sent = await readRequest(options)
  const isRight = signatureMatches(secret, sent, sent.signature)
  const { keyId, host, ...parts } = sent
  const mistake = isRight
    ? null
    : matchMistake({ secret, ...parts, keyId: keyId ?? ownKey, ...(host !== undefined && { host }) })
  const canonical = canonicalRequest(sent)
  const notes = formNotes(sent, ownKey)
  const ok = isRight && notes.length === 0
  const page = `${baseUrl.replace(/\/v1\/?$/, '')}/docs/reference/signature-mistakes`
  const doc_url = mistake && (await isServed(page)) ? page : null
  const document = {
    ok,
    signature_is_right: isRight,
    mistake,
    notes,
    canonical,
    expected_signature: signRequest(secret, sent),
    doc_url,
  }
  out.show(document, () => {
    const { paint } = out
    const verdict = isRight
      ? [`${paint.green('✔')} ${paint.bold('The signature is right')} for this request and this secret.`]
      : mistake
        ? [
            `${paint.red('✖')} ${paint.bold(`${mistake.title}.`)}`,
            `  ${paint.dim('Fix')}   ${mistake.fix}`,
            `  ${paint.dim('Name')}  ${mistake.name}`,
            ...(doc_url ? [`  ${paint.dim('Read')}  ${doc_url}`] : []),
          ]
        : [
            `${paint.red('✖')} ${paint.bold('The signature is wrong')}, but not by a known mistake.`,
            `  ${paint.dim('Fix')}   Compare your canonical text with the one below, byte for byte; check that the secret is the one of this key.`,
          ]
    const remarks = notes.map((note) => `${paint.yellow('!')} ${note}`)
    const signed =
      mistake && mistake.signed !== canonical
        ? [paint.dim('Signed text:'), printableLines(mistake.signed), '']
        : []
    const right = isRight
      ? []
      : ['', ...signed, paint.dim('Text that must be signed:'), printableLines(canonical)]
    return [...verdict, ...remarks, ...right].join('\n')
  })
  return ok ? EXIT.ok : EXIT.failed
}

async function readRequest(options: SignatureOptions): Promise<SentRequest> {
  const recorded: Partial<RecordedRequest> =
    options.request === undefined ? {} : parseRequest(await readFile(options.request))
  const header = (name: string) => recorded.headers?.[name]
  const need = (value: string | undefined, option: string): string => {
    if (value !== undefined) return value
    throw new UsageError(
      `${option} is missing.`,
      'Give --method, --path, --timestamp, --nonce and --signature as they were sent, or a saved request with --request FILE.',
    )
  }
  return {
    method: need(options.method ?? recorded.method, '--method'),
    target: need(options.path ?? recorded.target, '--path'),
    timestamp: need(options.timestamp ?? header(requestHeadersLower.timestamp), '--timestamp'),
    nonce: need(options.nonce ?? header(requestHeadersLower.nonce), '--nonce'),
    signature: need(options.signature ?? header(requestHeadersLower.signature), '--signature'),
    body: await readBody(options, recorded),
    keyId: header(requestHeadersLower.key),
    host: header('host'),
  }
}

async function readBody(
  { body, bodyFile }: SignatureOptions,
  recorded: Partial<RecordedRequest>,
): Promise<Uint8Array> {
  if (bodyFile !== undefined) return readFile(bodyFile)
  if (body !== undefined) return Buffer.from(body, 'utf8')
  const length = Number(recorded.headers?.['content-length'] ?? 0)
  if (recorded.body === undefined && length > 0) {
    throw new UsageError(
      `The request was sent with ${length} bytes of body, which curl -v does not print.`,
      'Add it with --body-file FILE.',
    )
  }
  return recorded.body ?? new Uint8Array()
}

/** Problems that the store refuses whatever the signature is. */
function formNotes(sent: SentRequest, ownKey: string): string[] {
  const { timestamp, nonce, signature, target, keyId } = sent
  const notes: string[] = []
  if (!TIMESTAMP_FORM.test(timestamp)) {
    notes.push(
      `The timestamp ${printable(JSON.stringify(timestamp))} must be Unix seconds: ten digits.${/^\d{13}$/.test(timestamp) ? ' These are milliseconds; divide by 1000 and round down.' : ''}`,
    )
  }
  if (!NONCE_FORM.test(nonce)) {
    notes.push(
      `The nonce must be 32 to 64 lower-case hex characters.${/^[0-9a-f-]{36}$/i.test(nonce) ? ' A UUID has hyphens; take them out and write it in lower case.' : ''}`,
    )
  }
  if (!SIGNATURE_FORM.test(signature)) notes.push('The signature must be 64 lower-case hex characters.')
  if (!target.startsWith('/')) notes.push('The path begins with a slash.')
  if (keyId !== undefined && !KEY_ID_FORM.test(keyId)) notes.push('X-Api-Key is not a key id.')
  else if (keyId !== undefined && keyId !== ownKey) {
    notes.push(
      `The request was signed for ${keyId}, and the secret here belongs to ${ownKey}. Choose the right one with --profile.`,
    )
  }
  return notes
}

function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}
