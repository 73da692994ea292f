import { randomBytes } from 'node:crypto'
import { requestHeaders } from '@shopwire/contract'
import { signRequest } from '@shopwire/contract/signing'

export interface Key {
  readonly id: string
  readonly secret: string
}

/** A request as it goes over the wire. Whoever has these bytes can send them again, which is the point of many tests. */
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
  { timestamp = nowS(), nonce = randomBytes(16).toString('hex') }: SigningOptions = {},
): SignedRequest {
  const parts = { method, target, timestamp: String(timestamp), nonce, body: Buffer.from(body) }
  const signature = signRequest(key.secret, parts)
  const headers = {
    [requestHeaders.key]: key.id,
    [requestHeaders.timestamp]: parts.timestamp,
    [requestHeaders.nonce]: nonce,
    [requestHeaders.signature]: signature,
  }
  return { bytes: requestBytes(method, target, headers, body), timestamp, nonce, signature }
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
