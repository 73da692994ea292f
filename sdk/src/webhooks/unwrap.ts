import type { WebhookEvent } from '../types.ts'
import {
  type HeadersLike,
  type RawBody,
  rawBytes,
  type VerifyOptions,
  verify,
  WebhookVerificationError,
} from './verify.ts'

/**
 * Verifies the signature, then parses: returns the event, or throws a WebhookVerificationError with its reason.
 * Switch on `event.event`, and answer unknown event types with 2xx: new types may be added.
 */
export async function unwrap(
  body: RawBody,
  headers: HeadersLike,
  options: VerifyOptions,
): Promise<WebhookEvent> {
  const bytes = rawBytes(body)
  await verify(bytes, headers, options)
  const event = parse(bytes)
  if (!isEvent(event)) throw new WebhookVerificationError('bad_body')
  return event
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function isEvent(value: unknown): value is WebhookEvent {
  const { id, event, data } = (value ?? {}) as { id?: unknown; event?: unknown; data?: unknown }
  return typeof id === 'string' && typeof event === 'string' && typeof data === 'object' && data !== null
}
