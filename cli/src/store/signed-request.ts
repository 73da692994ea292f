import { randomBytes } from 'node:crypto'
import { canonicalRequest, requestHeaders, signRequest } from '@shopwire/contract/signing'
import type { Credentials } from '../profiles/credentials.ts'

export interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly target: string
  readonly canonical: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
}

export interface Moment {
  readonly timestamp: string
  readonly nonce: string
}

export function thisMoment(): Moment {
  return { timestamp: String(Math.floor(Date.now() / 1000)), nonce: randomBytes(16).toString('hex') }
}

/** One signed request, for commands that show or send exactly these bytes. The SDK would retry and correct the clock. */
export function signedRequest(
  { keyId, secret, baseUrl }: Credentials,
  { method, target, body = new Uint8Array() }: { method: string; target: string; body?: Uint8Array },
  { timestamp, nonce }: Moment = thisMoment(),
): SignedRequest {
  const parts = { method: method.toUpperCase(), target, timestamp, nonce, body }
  return {
    method: parts.method,
    url: `${new URL(baseUrl).origin}${target}`,
    target,
    canonical: canonicalRequest(parts),
    headers: {
      [requestHeaders.key]: keyId,
      [requestHeaders.timestamp]: timestamp,
      [requestHeaders.nonce]: nonce,
      [requestHeaders.signature]: signRequest(secret, parts),
      ...(body.byteLength > 0 && { 'Content-Type': 'application/json' }),
    },
    body,
  }
}
