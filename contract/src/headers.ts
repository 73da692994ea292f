import { EVENT_ID_PATTERN, KEY_ID_PATTERN } from './ids.ts'
import { NONCE_LENGTH_MAX, NONCE_LENGTH_MIN, TIMESTAMP_TOLERANCE_S } from './limits.ts'

// Free of node:crypto, so that a client built on WebCrypto shares the names and forms with the service.

/** As the documentation spells them. HTTP itself does not mind the case. */
export const requestHeaders = {
  key: 'X-Api-Key',
  timestamp: 'X-Api-Timestamp',
  nonce: 'X-Api-Nonce',
  signature: 'X-Api-Signature',
} as const

/** As Node's parser hands them over. */
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
  /** Present for a day after a rotation: the same bytes signed with the secret before it. */
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
/** Ten digits reach from 2001 to 2286. One spelling per moment, because the text as sent is what gets signed. */
export const TIMESTAMP_FORM = /^[1-9][0-9]{9}$/
export const NONCE_FORM = new RegExp(`^[0-9a-f]{${NONCE_LENGTH_MIN},${NONCE_LENGTH_MAX}}$`)
export const SIGNATURE_FORM = /^[0-9a-f]{64}$/

/** Whole seconds on both sides, and the sixtieth second still counts. */
export function timestampInRange(timestampS: number, nowMs: number): boolean {
  return Math.abs(Math.floor(nowMs / 1000) - timestampS) <= TIMESTAMP_TOLERANCE_S
}
