import type { IncomingHttpHeaders } from 'node:http'
import {
  KEY_ID_FORM,
  NONCE_FORM,
  requestHeadersLower,
  SIGNATURE_FORM,
  TIMESTAMP_FORM,
  TIMESTAMP_TOLERANCE_S,
  timestampInRange,
} from '@shopwire/contract'
import { refuse } from '../platform/trouble.ts'

/** The four signature headers, well-formed and within the time tolerance; nothing is verified yet. */
export interface Credentials {
  readonly key_id: string
  /** As sent: this text was signed. */
  readonly timestamp: string
  readonly signed_at: number
  readonly nonce: string
  readonly signature: string
}

/** One message for a missing, malformed, unknown or revoked key and for a wrong signature, so that it reveals nothing. */
export const NOT_PROVEN =
  'The key, the signature or one of the signature headers is not valid. Check the key id, the secret and the canonical request.'

/**
 * Checks only the form and the timestamp, so it needs neither body nor database. A header sent twice arrives joined by a comma,
 * which no valid form contains.
 */
export function readCredentials(headers: IncomingHttpHeaders, nowMs: number): Credentials {
  const key_id = headers[requestHeadersLower.key]
  const timestamp = headers[requestHeadersLower.timestamp]
  const nonce = headers[requestHeadersLower.nonce]
  const signature = headers[requestHeadersLower.signature]
  if (
    !hasForm(key_id, KEY_ID_FORM) ||
    !hasForm(timestamp, TIMESTAMP_FORM) ||
    !hasForm(nonce, NONCE_FORM) ||
    !hasForm(signature, SIGNATURE_FORM)
  ) {
    throw refuse('authentication_failed', NOT_PROVEN, { reason: 'form' })
  }
  const signed_at = Number(timestamp)
  if (!timestampInRange(signed_at, nowMs)) {
    const off = signed_at - Math.floor(nowMs / 1000)
    throw refuse(
      'timestamp_out_of_range',
      `X-Api-Timestamp is ${Math.abs(off)} s ${off > 0 ? 'ahead of' : 'behind'} our clock, which says ${Math.floor(nowMs / 1000)}; ` +
        `at most ${TIMESTAMP_TOLERANCE_S} s are allowed. Set your clock, then sign again.`,
      { off_s: off },
    )
  }
  return { key_id, timestamp, signed_at, nonce, signature }
}

function hasForm(value: string | string[] | undefined, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value)
}
