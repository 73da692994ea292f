import { randomBytes } from 'node:crypto'
import { webhookHeaders } from '@shopwire/contract/headers'
import { signWebhook } from '@shopwire/contract/signing'

export interface EventToSend {
  readonly headers: Record<string, string>
  readonly body: string
}

export interface Signing {
  /** Offset of the timestamp from now, in seconds. */
  readonly offsetS?: number
  /** Also signed with this one, as for a day after a rotation. */
  readonly previous?: string
  /** The id of an event that was sent before; a new one otherwise. */
  readonly id?: string
  /** Another serialisation of the event. */
  readonly write?: (event: object) => string
}

/** An event as the store would send it: `like` gives everything but the id. */
export function genuine(like: string | object, secret: string, signing: Signing = {}): EventToSend {
  const { offsetS = 0, previous, id = newEventId(), write = JSON.stringify } = signing
  const body = write({ ...(typeof like === 'string' ? (JSON.parse(like) as object) : like), id })
  const timestamp = String(Math.floor(Date.now() / 1000) + offsetS)
  const signed = (key: string) => signWebhook(key, { timestamp, id, body: Buffer.from(body) })
  return {
    body,
    headers: {
      'content-type': 'application/json',
      [webhookHeaders.timestamp]: timestamp,
      [webhookHeaders.id]: id,
      [webhookHeaders.signature]: signed(secret),
      ...(previous !== undefined && { [webhookHeaders.previousSignature]: signed(previous) }),
    },
  }
}

/** Hex digits are a subset of the alphabet of ids. */
export function newEventId(): string {
  return `evt_${randomBytes(13).toString('hex')}`
}
