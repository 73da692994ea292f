// Used between the steps of make.sh: writes the input files for openssl and puts its output into JSON.
// It must never compute a hash or a MAC itself, or the vectors would stop being independent of our code.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

type Body = { body_utf8?: string; body_hex?: string; body_repeat?: { text: string; times: number } }

type Parts = Body & { method?: string; target?: string; timestamp: string; nonce?: string; id?: string }

/** How the wrong signature of a refused case is made. Fields left out are those of the case. */
type Wrong = Partial<Parts> & {
  /** The text that gets signed, with {placeholders}. */
  message?: string
  key_utf8?: string
  key_hex?: string
  key_base64?: string
  digest?: 'sha1' | 'sha512'
  /** A plain hash of the message, without a key. */
  keyless?: true
  /** How the result is written: {hex}, {HEX}, {base64}. */
  form?: string
  take?: number
  /** The index of one hex digit to change. */
  flip?: number
}

type Case = Parts & {
  name: string
  why: string
  secret: string
  mistake?: string
  wrong?: Wrong
  // Webhooks only
  previous_secret?: string
  now_s?: number
  receiver_secrets?: string[]
  headers?: Record<string, string | null>
  reason?: string
}

type Kind = { file: string; sources: string[]; message: string; present: (kind: Kind, one: Case) => object }

const kinds: Kind[] = [
  {
    file: 'request-signing.json',
    sources: ['request-accepted.json', 'request-mistakes.json'],
    message: '{method}\n{target}\n{timestamp}\n{nonce}\n{body_sha256}',
    present: presentRequest,
  },
  {
    file: 'webhook-signing.json',
    sources: ['webhook-accepted.json', 'webhook-mistakes.json'],
    message: '{timestamp}.{id}.{body}',
    present: presentWebhook,
  },
]

const [step = '', work = '', out = ''] = process.argv.slice(2)
/** The output of openssl, by list and file. */
const answers: Record<string, Map<string, string>> = {}

function writeBodies(): void {
  for (const { one } of allCases()) {
    writeFileSync(join(work, 'bodies', one.name), bytesOf(one))
    writeFileSync(join(work, 'bodies', `${one.name}.wrong`), bytesOf(arrivedWrong(one)))
  }
}

function writeMessages(): void {
  const jobs: string[] = []
  const job = (file: string, message: Buffer, digest: string, key: string) => {
    writeFileSync(join(work, 'messages', file), message)
    jobs.push(`${file} ${digest} ${key}\n`)
  }
  for (const { kind, one } of allCases()) {
    const right = render(kind.message, one, one.name)
    job(`${one.name}.right`, right, 'sha256', hexOf(one.secret))
    if (one.previous_secret) job(`${one.name}.previous`, right, 'sha256', hexOf(one.previous_secret))
    if (!one.wrong) continue
    const { wrong } = one
    const key = wrong.keyless ? 'none' : wrongKey(one, wrong)
    job(`${one.name}.wrong`, wrongMessage(kind, one), wrong.digest ?? 'sha256', key)
  }
  writeFileSync(join(work, 'jobs.txt'), jobs.join(''))
}

function writeVectors(): void {
  for (const kind of kinds) {
    const cases = casesOf(kind).map((one) => kind.present(kind, one))
    writeFileSync(join(out, kind.file), asciiJson({ cases }))
  }
}

function presentRequest(kind: Kind, one: Case): object {
  const canonical = render(kind.message, one, one.name).toString('utf8')
  const signature = answer('signatures.txt', `${one.name}.right`)
  const { name, why, mistake, secret, method, target, timestamp, nonce } = one
  return {
    ...{ name, why, valid: !one.wrong, mistake, secret, method, target, timestamp, nonce, ...shownBody(one) },
    body_sha256: answer('body-hashes.txt', name),
    canonical,
    signature,
    presented: one.wrong ? wrongSignature(one) : signature,
    presented_canonical: one.wrong ? wronglySigned(kind, one, canonical) : undefined,
  }
}

function presentWebhook(kind: Kind, one: Case): object {
  const signature = answer('signatures.txt', `${one.name}.right`)
  const { name, why, mistake, reason, secret, previous_secret, timestamp, id } = one
  const signed = render(kind.message, one, name)
  const headers: Record<string, string | null> = {
    'X-Webhook-Timestamp': timestamp,
    'X-Webhook-Id': id ?? '',
    'X-Webhook-Signature': one.wrong ? wrongSignature(one) : signature,
    ...(previous_secret
      ? { 'X-Webhook-Signature-Previous': answer('signatures.txt', `${name}.previous`) }
      : {}),
    ...one.headers,
  }
  return {
    ...{
      name,
      why,
      valid: !reason,
      reason,
      mistake,
      secret,
      previous_secret,
      timestamp,
      id,
      ...shownBody(one),
    },
    signed_utf8: isUtf8(signed) ? signed.toString('utf8') : undefined,
    signature,
    receiver: {
      secrets: one.receiver_secrets ?? [secret],
      now_s: one.now_s ?? Number(timestamp),
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)),
    },
  }
}

function allCases(): { kind: Kind; one: Case }[] {
  const all = kinds.flatMap((kind) => casesOf(kind).map((one) => ({ kind, one })))
  const names = new Set(all.map(({ one }) => one.name))
  if (names.size !== all.length) throw new Error('Two cases share a name.')
  return all
}

function casesOf(kind: Kind): Case[] {
  return kind.sources.flatMap((source) => {
    const { defaults, cases } = JSON.parse(readFileSync(join(import.meta.dirname, 'cases', source), 'utf8'))
    // A case that defines a body must not also keep the default one.
    return cases.map((one: Case) => ({ ...(hasBody(one) ? withoutBody(defaults) : defaults), ...one }))
  })
}

function arrivedWrong(one: Case): Case {
  const wrong = one.wrong ?? {}
  return { ...(hasBody(wrong) ? withoutBody(one) : one), ...wrong }
}

function wrongMessage(kind: Kind, one: Case): Buffer {
  return render(one.wrong?.message ?? kind.message, arrivedWrong(one), `${one.name}.wrong`)
}

function wrongKey(one: Case, wrong: Wrong): string {
  if (wrong.key_hex !== undefined) return wrong.key_hex
  if (wrong.key_base64 !== undefined) return Buffer.from(wrong.key_base64, 'base64').toString('hex')
  return hexOf(wrong.key_utf8 ?? one.secret)
}

function wrongSignature(one: Case): string {
  const { form = '{hex}', take, flip } = one.wrong ?? {}
  const hex = answer('signatures.txt', `${one.name}.wrong`)
  const digit = flip === undefined ? '' : (hex[flip] ?? '')
  const changed =
    flip === undefined ? hex : hex.slice(0, flip) + (digit === '0' ? '1' : '0') + hex.slice(flip + 1)
  return form
    .replaceAll('{hex}', changed)
    .replaceAll('{HEX}', changed.toUpperCase())
    .replaceAll('{base64}', Buffer.from(changed, 'hex').toString('base64'))
    .slice(0, take)
}

/** The signed text of a refused case, when the mistake is in that text. */
function wronglySigned(kind: Kind, one: Case, canonical: string): string | undefined {
  const message = wrongMessage(kind, one)
  const text = isUtf8(message) ? message.toString('utf8') : undefined
  return text === canonical ? undefined : text
}

function render(template: string, parts: Case, hashName: string): Buffer {
  const hash = answer('body-hashes.txt', hashName)
  const values: Record<string, string | Buffer | undefined> = {
    ...{
      method: parts.method,
      target: parts.target,
      timestamp: parts.timestamp,
      nonce: parts.nonce,
      id: parts.id,
    },
    ...{ secret: parts.secret, body: bytesOf(parts) },
    body_sha256: hash,
    body_sha256_upper: hash.toUpperCase(),
    body_sha256_base64: Buffer.from(hash, 'hex').toString('base64'),
  }
  return Buffer.concat(
    template.split(/(\{\w+\})/).map((piece) => {
      const placeholder = /^\{(\w+)\}$/.exec(piece)?.[1]
      const value = placeholder === undefined ? piece : values[placeholder]
      if (value === undefined) throw new Error(`${hashName} has no result for ${piece}.`)
      return Buffer.from(value as string)
    }),
  )
}

/** openssl writes `<hex> *<file>`, one line per file. */
function answer(list: string, file: string): string {
  answers[list] ??= new Map(
    readFileSync(join(work, list), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => [basename(line.slice(line.indexOf('*') + 1)), line.slice(0, line.indexOf(' '))]),
  )
  const hex = answers[list].get(file)
  if (hex === undefined) throw new Error(`openssl gave no answer for ${file}.`)
  return hex
}

function bytesOf({ body_utf8, body_hex, body_repeat }: Body): Buffer {
  if (body_repeat) return Buffer.from(body_repeat.text.repeat(body_repeat.times))
  return body_hex === undefined ? Buffer.from(body_utf8 ?? '') : Buffer.from(body_hex, 'hex')
}

function shownBody(one: Body): Body {
  if (one.body_hex !== undefined) return { body_hex: one.body_hex }
  return { body_utf8: bytesOf(one).toString('utf8') }
}

function hasBody(one: Body): boolean {
  return one.body_utf8 !== undefined || one.body_hex !== undefined || one.body_repeat !== undefined
}

function withoutBody<One extends Body>(one: One): One {
  const { body_utf8: _utf8, body_hex: _hex, body_repeat: _repeat, ...rest } = one
  return rest as One
}

function isUtf8(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}

/** Only ASCII in the file: an editor or a transfer that normalises Unicode cannot change what was signed. */
function asciiJson(value: object): string {
  const text = JSON.stringify(value, null, 2)
  const escaped = text.replace(
    /[^\0-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${escaped}\n`
}

const steps: Record<string, () => void> = {
  bodies: writeBodies,
  messages: writeMessages,
  write: writeVectors,
}
const run = steps[step]
if (!run) throw new Error(`strings.ts has no step ${step}.`)
run()
