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

/** One message for an unknown or revoked key and for a wrong signature, so that it reveals nothing. */
export const NOT_PROVEN =
  'The key or the signature is not valid. Check the key id, the secret and the canonical request.'

/**
 * Checks only the form and the timestamp, so it needs neither body nor database. A header sent twice arrives joined by a comma,
 * which is invalid in every one of these forms.
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
    throw refuse('authentication_failed', formProblems(headers), { reason: 'form' })
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

const FORMS = [
  ['X-Api-Key', requestHeadersLower.key, KEY_ID_FORM, 'must be a key id, such as key_c1_ and 26 characters'],
  ['X-Api-Timestamp', requestHeadersLower.timestamp, TIMESTAMP_FORM, 'must be Unix seconds in ten digits'],
  ['X-Api-Nonce', requestHeadersLower.nonce, NONCE_FORM, 'must be 32 to 64 lower-case hex characters'],
  ['X-Api-Signature', requestHeadersLower.signature, SIGNATURE_FORM, 'must be 64 lower-case hex characters'],
] as const

/** Forms are public and depend on no key. The value is not repeated: a secret may be in the wrong header. */
function formProblems(headers: IncomingHttpHeaders): string {
  return FORMS.flatMap(([name, header, form, rule]) => {
    const value = headers[header]
    if (hasForm(value, form)) return []
    return value === undefined ? `${name} is missing.` : `${name} ${rule}.`
  }).join(' ')
}

function hasForm(value: string | string[] | undefined, form: RegExp): value is string {
  return typeof value === 'string' && form.test(value)
}
