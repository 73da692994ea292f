import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * The kit's own implementation of the two signatures, so that it cannot share a mistake with the service.
 * Nothing of ours is imported.
 */
export interface Parts {
  readonly method: string
  /** Path and query as they are sent. */
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  readonly body: Uint8Array
}

export function signRequest(secret: string, parts: Parts): string {
  return hmac(secret, canonical(parts))
}

export function canonical({ method, target, timestamp, nonce, body }: Parts): string {
  return [method, target, timestamp, nonce, sha256(body)].join('\n')
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export function hmac(secret: string, message: string | Uint8Array): string {
  return createHmac('sha256', Buffer.from(secret, 'utf8')).update(message).digest('hex')
}

export function newNonce(length = 32): string {
  return randomBytes(Math.ceil(length / 2))
    .toString('hex')
    .slice(0, length)
}

export function nowS(): number {
  return Math.floor(Date.now() / 1000)
}

export interface Delivered {
  readonly timestamp: string | undefined
  readonly id: string | undefined
  readonly signature: string | undefined
  readonly body: Uint8Array
}

const RECEIVER_TOLERANCE_S = 300

/** Undefined when a receiver may trust the event, else why not. */
export function webhookFault(secret: string, event: Delivered, clockS: number): string | undefined {
  const { timestamp, id, signature, body } = event
  if (secret === '') return 'there is no secret'
  if (!timestamp || !id || !signature) return 'a header is missing'
  if (id.includes('.')) return 'the id holds a period'
  if (!/^[0-9]+$/.test(timestamp)) return 'the timestamp is not made of digits'
  if (!/^[0-9a-f]{64}$/.test(signature)) return 'the signature is not 64 lower-case hex characters'
  if (Math.abs(Number(timestamp) - clockS) > RECEIVER_TOLERANCE_S)
    return 'the timestamp is more than 300 s away'
  const wanted = hmac(secret, Buffer.concat([Buffer.from(`${timestamp}.${id}.`), body]))
  return timingSafeEqual(Buffer.from(wanted), Buffer.from(signature))
    ? undefined
    : 'the signature is not that of these bytes'
}
