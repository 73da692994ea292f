import {
  EVENT_ID_FORM,
  SIGNATURE_FORM,
  TIMESTAMP_FORM,
  WEBHOOK_RECEIVER_TOLERANCE_S,
  webhookHeaders,
} from '../contract.ts'
import { recogniseCopies } from '../copies.ts'
import { type Bytes, fromHex, hmacKey, toBytes } from '../signing.ts'
import { requireSecrets, type Secrets } from './secrets.ts'

/** The body before any parser has seen it. A string is fine when it is exactly the text that arrived. */
export type RawBody = Uint8Array | ArrayBuffer | string

/** The header objects of fetch, Node and most frameworks. */
export type HeadersLike =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** The endpoint's secret, or the new and the old one during a rotation. */
  secrets: Secrets
  /** Seconds that the event's timestamp may differ from the local clock; 300 by default. */
  tolerance?: number | undefined
  /** The clock, in milliseconds; Date.now by default. */
  now?: (() => number) | undefined
}

/**
 * - `missing_header`: timestamp, id or signature is absent
 * - `bad_format`: one of them does not have the format that the store sends
 * - `stale`: the timestamp is too far from the local clock
 * - `no_match`: no secret matches the signature, or the body was changed
 * - `bad_body`: the signature is valid, but the body is not an event
 */
export type WebhookRefusal = 'missing_header' | 'bad_format' | 'stale' | 'no_match' | 'bad_body'

const meanings: Readonly<Record<WebhookRefusal, string>> = {
  missing_header: `One of ${webhookHeaders.timestamp}, ${webhookHeaders.id} and ${webhookHeaders.signature} is missing.`,
  bad_format: 'The timestamp, the id or the signature does not have the format that the store sends.',
  stale: 'The timestamp is too far from the local clock. Either the event is replayed, or a clock is wrong.',
  no_match:
    'No secret matches the signature. Check that the secret is the one of this endpoint, and that the body is the bytes as they arrived.',
  bad_body: 'The signature is valid, but the body is not an event.',
}

/** Discard the request and answer 400. */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError'
  readonly reason: WebhookRefusal

  constructor(reason: WebhookRefusal) {
    super(meanings[reason])
    this.reason = reason
  }
}

recogniseCopies({ WebhookVerificationError })

/**
 * Returns when the event is from the store; throws a WebhookVerificationError otherwise. Signatures are compared in
 * constant time.
 */
export async function verify(body: RawBody, headers: HeadersLike, options: VerifyOptions): Promise<void> {
  const bytes = rawBytes(body)
  const secrets = requireSecrets(options.secrets)
  const timestamp = readHeader(headers, webhookHeaders.timestamp)
  const id = readHeader(headers, webhookHeaders.id)
  const signature = readHeader(headers, webhookHeaders.signature)
  if (timestamp === undefined || id === undefined || signature === undefined) {
    throw new WebhookVerificationError('missing_header')
  }
  // With a dot in the id, id and body could be split differently without changing the signed bytes.
  if (!TIMESTAMP_FORM.test(timestamp) || !EVENT_ID_FORM.test(id) || !SIGNATURE_FORM.test(signature)) {
    throw new WebhookVerificationError('bad_format')
  }
  const { tolerance = WEBHOOK_RECEIVER_TOLERANCE_S, now = Date.now } = options
  if (!(Math.abs(Math.floor(now() / 1000) - Number(timestamp)) <= tolerance)) {
    throw new WebhookVerificationError('stale')
  }
  // While a secret rotates the store signs with both, and we may hold either.
  const previous = readHeader(headers, webhookHeaders.previousSignature) ?? ''
  const presented = [signature, previous].filter((one) => SIGNATURE_FORM.test(one)).map(fromHex)
  const signed = signedBytes(timestamp, id, bytes)
  for (const secret of secrets) {
    const key = await hmacKey(secret)
    for (const one of presented) {
      if (await crypto.subtle.verify('HMAC', key, one, signed)) return
    }
  }
  throw new WebhookVerificationError('no_match')
}

export function rawBytes(body: RawBody): Bytes {
  if (typeof body === 'string' || body instanceof Uint8Array) return toBytes(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  throw new TypeError(
    `A webhook's signature covers its bytes as they arrived, and this body is ${body === undefined ? 'undefined' : 'already parsed'}. Turn off the JSON parser for this route and pass the raw bytes; @shopwire/sdk has adapters that do so for Express, Fastify, Hono, Next and Workers.`,
  )
}

/** timestamp, period, id, period, body. */
export function signedBytes(timestamp: string, id: string, body: Bytes): Bytes {
  const head = toBytes(`${timestamp}.${id}.`)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

/** Undefined when absent. A repeated header is joined with a comma, which no format accepts. */
function readHeader(headers: HeadersLike, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const wanted = name.toLowerCase()
  const found = Object.entries(headers).filter(
    ([one, value]) => one.toLowerCase() === wanted && value !== undefined,
  )
  return found.length === 0 ? undefined : found.flatMap(([, value]) => value).join(', ')
}
