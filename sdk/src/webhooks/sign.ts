import { webhookHeaders } from '../contract.ts'
import { hmacHex, hmacKey, toHex } from '../signing.ts'
import type { WebhookEvent } from '../types.ts'
import { type RawBody, rawBytes, signedBytes } from './verify.ts'

export interface SignOptions {
  secret: string
  /** Unix seconds; now by default. */
  timestamp?: number | undefined
  /** Also signs with this one, as the store does for a day after a rotation. */
  previousSecret?: string | undefined
}

export interface SignedEvent {
  body: string
  headers: Record<string, string>
}

/** An event as the store would send it, for testing a receiver. `id` and `created_at` are generated when left out. */
export async function sign(event: EventToSign, options: SignOptions): Promise<SignedEvent> {
  const { secret, previousSecret, timestamp = Math.floor(Date.now() / 1000) } = options
  const id = event.id ?? newEventId()
  const created_at = event.created_at ?? new Date(timestamp * 1000).toISOString()
  const body = JSON.stringify({ id, event: event.event, created_at, data: event.data })
  const signature = (key: string) => signatureOf(key, String(timestamp), id, body)
  return {
    body,
    headers: {
      'Content-Type': 'application/json',
      [webhookHeaders.timestamp]: String(timestamp),
      [webhookHeaders.id]: id,
      [webhookHeaders.signature]: await signature(secret),
      ...(previousSecret !== undefined && {
        [webhookHeaders.previousSignature]: await signature(previousSecret),
      }),
    },
  }
}

export async function signatureOf(
  secret: string,
  timestamp: string,
  id: string,
  body: RawBody,
): Promise<string> {
  return hmacHex(await hmacKey(secret), signedBytes(timestamp, id, rawBytes(body)))
}

export type EventToSign = WebhookEvent extends infer Event
  ? Event extends WebhookEvent
    ? Pick<Event, 'event' | 'data'> & { id?: string | undefined; created_at?: string | undefined }
    : never
  : never

/** Hex digits are a subset of the alphabet of ids. */
function newEventId(): string {
  return `evt_${toHex(crypto.getRandomValues(new Uint8Array(13)))}`
}
