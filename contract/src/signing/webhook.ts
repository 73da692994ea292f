import { createHmac, type Hmac } from 'node:crypto'
import { EVENT_ID_FORM, SIGNATURE_FORM, TIMESTAMP_FORM, webhookHeadersLower } from '../headers.ts'
import { WEBHOOK_RECEIVER_TOLERANCE_S } from '../limits.ts'
import { sameSignature } from './compare.ts'
import type { SigningKey } from './request.ts'

export type WebhookParts = {
  readonly timestamp: string
  readonly id: string
  /** The bytes as sent. */
  readonly body: Uint8Array
}

/** 64 lower-case hex characters over `timestamp.id.body`. The key is the whole secret, `whsec_` included. */
export function signWebhook(key: SigningKey, parts: WebhookParts): string {
  return webhookHmac(key, parts).digest('hex')
}

export function webhookSignatureMatches(key: SigningKey, parts: WebhookParts, presented: unknown): boolean {
  return sameSignature(presented, () => webhookHmac(key, parts).digest())
}

export type WebhookDelivery = {
  /** All secrets the receiver holds: one, or two while it rotates. */
  readonly secrets: readonly string[]
  /** Names in lower case, as Node returns them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The raw bytes, before any JSON parser has seen them. */
  readonly body: Uint8Array
  readonly nowS: number
}

export type WebhookVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'missing_header' | 'bad_format' | 'stale' | 'no_match' }

/**
 * Verifies a delivery; a receiver does this before it parses the body. During a rotation the service signs with both
 * secrets and the receiver may hold either, so any of its secrets may match either signature.
 */
export function verifyWebhook({ secrets, headers, body, nowS }: WebhookDelivery): WebhookVerdict {
  const timestamp = headers[webhookHeadersLower.timestamp]
  const id = headers[webhookHeadersLower.id]
  const signature = headers[webhookHeadersLower.signature]
  if (timestamp === undefined || id === undefined || signature === undefined) return refused('missing_header')
  if (!hasForm(timestamp, TIMESTAMP_FORM)) return refused('bad_format')
  // With a dot in the id, id and body could be split differently without changing the signed bytes.
  if (!hasForm(id, EVENT_ID_FORM)) return refused('bad_format')
  if (!hasForm(signature, SIGNATURE_FORM)) return refused('bad_format')
  if (!(Math.abs(nowS - Number(timestamp)) <= WEBHOOK_RECEIVER_TOLERANCE_S)) return refused('stale')

  const presented = [signature, headers[webhookHeadersLower.previousSignature]]
  const matches = secrets
    // An unset variable read as '' would be a key that everybody knows.
    .filter((secret) => secret !== '')
    .some((secret) => presented.some((one) => webhookSignatureMatches(secret, { timestamp, id, body }, one)))
  return matches ? { ok: true } : refused('no_match')
}

function webhookHmac(key: SigningKey, { timestamp, id, body }: WebhookParts): Hmac {
  return createHmac('sha256', key).update(`${timestamp}.${id}.`).update(body)
}

function hasForm(value: string | readonly string[], form: RegExp): value is string {
  return typeof value === 'string' && form.test(value)
}

function refused(reason: Exclude<WebhookVerdict, { ok: true }>['reason']): WebhookVerdict {
  return { ok: false, reason }
}
