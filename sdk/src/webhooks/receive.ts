import type { WebhookEvent } from '../types.ts'
import type { Once } from './once.ts'
import { unwrap } from './unwrap.ts'
import type { HeadersLike, RawBody, VerifyOptions } from './verify.ts'

export type EventHandler = (event: WebhookEvent) => unknown

export interface ReceiveOptions extends VerifyOptions {
  /** Called with every event whose signature is valid. The store waits 10 seconds for an answer: queue what takes longer. */
  onEvent: EventHandler
  /** Makes `onEvent` run once per event. Without it, `onEvent` may get the same event several times. */
  once?: Once | undefined
}

/**
 * Does everything a receiver does except the HTTP answer: answer 2xx for `handled` and `duplicate`, anything else for
 * `busy`. Rethrows the handler's error; answer 5xx then, and the store sends the event again.
 */
export async function receive(
  body: RawBody,
  headers: HeadersLike,
  { onEvent, once, ...options }: ReceiveOptions,
): Promise<'handled' | 'duplicate' | 'busy'> {
  const event = await unwrap(body, headers, options)
  const claim = (await once?.claim(event.id)) ?? 'first'
  if (claim !== 'first') return claim === 'done' ? 'duplicate' : 'busy'
  try {
    await onEvent(event)
  } catch (error) {
    await once?.settle(event.id, false)
    throw error
  }
  await once?.settle(event.id, true)
  return 'handled'
}
