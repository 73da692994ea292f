import { insertPaymentEvent } from '../../funding/event-queries.ts'
import type { ReadEvent } from '../../funding/provider.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/database/db.ts'
import { receiveBody, refuseDeclaredLength } from '../receive-body.ts'
import { toRefusalAnswer } from '../refusal-answer.ts'
import type { RouteFamily } from '../route-family.ts'

export interface PaymentsFamilyDeps {
  /** With the dashboard's role, which can only add events and not read them. */
  readonly db: Db
  readonly clock: Clock
  /** Verifies Stripe's signature. Undefined: card payments are off, and the path does not exist. */
  readonly stripe?: ReadEvent | undefined
}

/** An event about a dispute contains the submitted evidence, which may be long. */
const EVENT_BYTES_MAX = 512 * 1024

/**
 * Receives events of payment providers: authenticated by their signature over the raw body, without session or cookie. An event is
 * recorded and acknowledged; the worker acts on it.
 */
export function paymentsFamily({ db, clock, stripe }: PaymentsFamilyDeps): RouteFamily {
  return {
    name: 'payments',
    prefix: '/payments',
    routes: stripe
      ? [
          {
            name: 'stripe-event',
            path: '/payments/stripe',
            methods: ['POST'],
            async answer(_match, exchange) {
              const { request, response } = exchange
              refuseDeclaredLength(request, EVENT_BYTES_MAX)
              const body = await receiveBody(request, response, EVENT_BYTES_MAX)
              const nowMs = clock.nowMs()
              const header = request.headers['stripe-signature']
              const event = await stripe(body, typeof header === 'string' ? header : undefined, nowMs)
              exchange.actor = { provider: 'stripe', ...(event && { event_id: event.event_id }) }
              if (event)
                await insertPaymentEvent(db, { provider: 'stripe', ...event, received_at: new Date(nowMs) })
              return { status: 200, body: JSON.stringify({ received: true }) }
            },
          },
        ]
      : [],
    presentError: toRefusalAnswer,
  }
}
