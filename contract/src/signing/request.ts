import { createHmac, hash, type KeyObject } from 'node:crypto'
import { canonicalText } from '../canonical.ts'
import { sameSignature } from './compare.ts'

export type RequestParts = {
  readonly method: string
  /**
   * Path and query as on the request line. Node decodes the target as latin1, so a target with raw non-ASCII bytes
   * must be refused or converted back to UTF-8 before this call.
   */
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  /** The bytes as sent. No body is zero bytes. */
  readonly body: Uint8Array
}

/**
 * The secret as shown to its owner, or the KeyObject made of it with `createSecretKey(secret, 'utf8')`. Cache the
 * KeyObject of a frequently used key: creating it costs about as much as signing.
 */
export type SigningKey = string | KeyObject

export function canonicalRequest(parts: RequestParts): string {
  return canonicalText({ ...parts, bodySha256: sha256(parts.body) })
}

/** 64 lower-case hex characters. */
export function signRequest(key: SigningKey, parts: RequestParts): string {
  return createHmac('sha256', key).update(canonicalRequest(parts)).digest('hex')
}

/** Compares in constant time. Never throws, whatever is presented. */
export function signatureMatches(key: SigningKey, parts: RequestParts, presented: unknown): boolean {
  return sameSignature(presented, () => createHmac('sha256', key).update(canonicalRequest(parts)).digest())
}

// Most requests are reads without a body, and their hash never changes.
const SHA256_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

function sha256(body: Uint8Array): string {
  return body.byteLength === 0 ? SHA256_OF_NOTHING : hash('sha256', body, 'hex')
}
