import Type, { type Static } from 'typebox'
import { EVENT_ID_PATTERN } from './ids.ts'
import { WEBHOOK_URL_LENGTH_MAX } from './limits.ts'
import { Order } from './order.ts'
import { AbsoluteUri, Count, closed, DateTime, nullable } from './shapes.ts'

export const WebhookRequest = closed({
  // The schema checks only what the interface defines as its form. Whether the address is public is checked
  // separately and answered with webhook_url_not_allowed.
  url: nullable(Type.String({ pattern: '^https://', maxLength: WEBHOOK_URL_LENGTH_MAX })),
})
export type WebhookRequest = Static<typeof WebhookRequest>

export const WebhookHealth = closed({
  webhook_url: nullable(AbsoluteUri),
  /** Deliveries still waiting or being retried, not single attempts. */
  pending: Count,
  /** Deliveries that were given up (dead letters). */
  failed: Count,
  last_delivered_at: nullable(DateTime),
  last_failure_at: nullable(DateTime),
  last_error: nullable(Type.String()),
})
export type WebhookHealth = Static<typeof WebhookHealth>

export const WebhookConfiguration = closed({
  ...WebhookHealth.properties,
  /** Present once, in the answer that created the endpoint; otherwise left out, never null. */
  secret: Type.Optional(Type.String({ minLength: 1 })),
})
export type WebhookConfiguration = Static<typeof WebhookConfiguration>

export const WebhookTestRequest = closed({})
export type WebhookTestRequest = Record<string, never>

export const WebhookTestResult = closed({ ok: Type.Literal(true), queued: Type.Literal(true) })
export type WebhookTestResult = Static<typeof WebhookTestResult>

const eventId = Type.String({ pattern: EVENT_ID_PATTERN })
const message = Type.String({ minLength: 1 })
/** In an example that somebody asked for, beside data that is not real. Left out of every other event. */
const inExamples = { message: Type.Optional(message) }

export const OrderAcceptedEvent = closed({
  id: eventId,
  event: Type.Literal('order.accepted'),
  created_at: DateTime,
  data: closed({ order: Order, ...inExamples }),
})
export type OrderAcceptedEvent = Static<typeof OrderAcceptedEvent>

/** The only event whose order carries links. */
export const OrderDeliveredEvent = closed({
  id: eventId,
  event: Type.Literal('order.delivered'),
  created_at: DateTime,
  data: closed({ order: Order, ...inExamples }),
})
export type OrderDeliveredEvent = Static<typeof OrderDeliveredEvent>

export const OrderCancelledEvent = closed({
  id: eventId,
  event: Type.Literal('order.cancelled'),
  created_at: DateTime,
  data: closed({ order: Order, ...inExamples }),
})
export type OrderCancelledEvent = Static<typeof OrderCancelledEvent>

/** Names the new revision and carries no items: a receiver reads the catalogue again. */
export const CatalogueChangedEvent = closed({
  id: eventId,
  event: Type.Literal('catalogue.changed'),
  created_at: DateTime,
  data: closed({ revision: Type.String({ minLength: 1 }), refresh: Type.Literal(true), ...inExamples }),
})
export type CatalogueChangedEvent = Static<typeof CatalogueChangedEvent>

export const TestEvent = closed({
  id: eventId,
  event: Type.Literal('test'),
  created_at: DateTime,
  data: closed({ message }),
})
export type TestEvent = Static<typeof TestEvent>

/** Distinguished by `event`. A member of `data` that an event does not use is left out, never null. */
export const WebhookEvent = Type.Union([
  OrderAcceptedEvent,
  OrderDeliveredEvent,
  OrderCancelledEvent,
  CatalogueChangedEvent,
  TestEvent,
])
export type WebhookEvent = Static<typeof WebhookEvent>

export type WebhookEventName = WebhookEvent['event']
