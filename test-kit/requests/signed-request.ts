import { randomBytes } from 'node:crypto'
import { requestHeaders } from '@shopwire/contract'
import { type SigningKey, signRequest } from '@shopwire/contract/signing'

export interface Key {
  readonly id: string
  readonly secret: string
}

/** A request as it goes over the wire. The same bytes can be sent again, which many tests do. */
export interface SignedRequest {
  readonly bytes: Buffer
  readonly timestamp: number
  readonly nonce: string
  readonly signature: string
}

export interface SigningOptions {
  /** Unix seconds; now by default. */
  readonly timestamp?: number
  readonly nonce?: string
}

export function sign(
  key: Key,
  method: string,
  target: string,
  body = '',
  { timestamp = nowS(), nonce = newNonce() }: SigningOptions = {},
): SignedRequest {
  const headers = signedHeaders(key, method, target, body, { timestamp, nonce })
  const signature = headers[requestHeaders.signature]
  return { bytes: requestBytes(method, target, headers, body), timestamp, nonce, signature }
}

/** The four headers of a signed request, for a client of one's own. */
export function signedHeaders(
  { id, secret }: { readonly id: string; readonly secret: SigningKey },
  method: string,
  target: string,
  body = '',
  { timestamp = nowS(), nonce = newNonce() }: SigningOptions = {},
) {
  const parts = { method, target, timestamp: String(timestamp), nonce, body: Buffer.from(body) }
  return {
    [requestHeaders.key]: id,
    [requestHeaders.timestamp]: parts.timestamp,
    [requestHeaders.nonce]: nonce,
    [requestHeaders.signature]: signRequest(secret, parts),
  }
}

/** Without a signature, for the public endpoint and for what must be refused. */
export function requestBytes(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): Buffer {
  const all = {
    Host: 'shop.test',
    ...headers,
    ...(body === '' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

export function nowS(): number {
  return Math.floor(Date.now() / 1000)
}

export function newNonce(): string {
  return randomBytes(16).toString('hex')
}
