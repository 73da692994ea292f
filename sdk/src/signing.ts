/** A request as it will be sent. */
export interface RequestToSign {
  /** Any case; upper case is signed. */
  method: string
  /** Path and query exactly as sent, `/v1` included. */
  target: string
  /** Unix seconds, as sent in `X-Api-Timestamp`. */
  timestamp: string | number
  /** As sent in `X-Api-Nonce`: 32 to 64 lower-case hex characters, used once. */
  nonce: string
  /** Exactly the bytes that are sent; text is encoded as UTF-8. No body is zero bytes. */
  body?: string | Uint8Array | undefined
}

/** The `X-Api-Signature` of a request: 64 lower-case hex characters. A pure function. */
export async function signRequest(secret: string, request: RequestToSign): Promise<string> {
  return signWith(await hmacKey(secret), request)
}

/** The text that is signed; print it when a signature is refused. */
export async function canonicalRequest(request: RequestToSign): Promise<string> {
  const { method, target, timestamp, nonce, body = '' } = request
  const bodySha256 = toHex(await crypto.subtle.digest('SHA-256', toBytes(body)))
  return `${method.toUpperCase()}\n${target}\n${timestamp}\n${nonce}\n${bodySha256}`
}

export async function signWith(key: CryptoKey, request: RequestToSign): Promise<string> {
  return hmacHex(key, toBytes(await canonicalRequest(request)))
}

export async function hmacHex(key: CryptoKey, bytes: Bytes): Promise<string> {
  return toHex(await crypto.subtle.sign('HMAC', key, bytes))
}

/** The key is the secret exactly as it was shown: its UTF-8 bytes, nothing decoded or trimmed. */
export function hmacKey(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', toBytes(secret), algorithm, false, ['sign', 'verify'])
}

export type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** WebCrypto takes no views of shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>

export function toBytes(value: string | Uint8Array): Bytes {
  return typeof value === 'string' ? new TextEncoder().encode(value) : (value as Bytes)
}

export function toHex(buffer: ArrayBuffer | Uint8Array): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function fromHex(hex: string): Bytes {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
