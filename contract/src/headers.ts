import { EVENT_ID_PATTERN, KEY_ID_PATTERN } from './ids.ts'
import { NONCE_LENGTH_MAX, NONCE_LENGTH_MIN, TIMESTAMP_TOLERANCE_S } from './limits.ts'

// Free of node:crypto, so that a client built on WebCrypto shares the names and forms with the service.

/** Spelled as in the documentation. HTTP header names are case-insensitive. */
export const requestHeaders = {
  key: 'X-Api-Key',
  timestamp: 'X-Api-Timestamp',
  nonce: 'X-Api-Nonce',
  signature: 'X-Api-Signature',
} as const

/** Spelled as Node's parser returns them. */
export const requestHeadersLower = {
  key: 'x-api-key',
  timestamp: 'x-api-timestamp',
  nonce: 'x-api-nonce',
  signature: 'x-api-signature',
} as const

export const webhookHeaders = {
  timestamp: 'X-Webhook-Timestamp',
  id: 'X-Webhook-Id',
  signature: 'X-Webhook-Signature',
  /** Present for a day after a rotation: the same bytes signed with the previous secret. */
  previousSignature: 'X-Webhook-Signature-Previous',
} as const

export const webhookHeadersLower = {
  timestamp: 'x-webhook-timestamp',
  id: 'x-webhook-id',
  signature: 'x-webhook-signature',
  previousSignature: 'x-webhook-signature-previous',
} as const

export const KEY_ID_FORM = new RegExp(KEY_ID_PATTERN)
export const EVENT_ID_FORM = new RegExp(EVENT_ID_PATTERN)
/** Ten digits reach from 2001 to 2286. Each time has only one valid spelling, because the header's text is signed as sent. */
export const TIMESTAMP_FORM = /^[1-9][0-9]{9}$/
export const NONCE_FORM = new RegExp(`^[0-9a-f]{${NONCE_LENGTH_MIN},${NONCE_LENGTH_MAX}}$`)
export const SIGNATURE_FORM = /^[0-9a-f]{64}$/

/** Compares whole seconds; a difference of exactly TIMESTAMP_TOLERANCE_S is in range. */
export function timestampInRange(timestampS: number, nowMs: number): boolean {
  return Math.abs(Math.floor(nowMs / 1000) - timestampS) <= TIMESTAMP_TOLERANCE_S
}
