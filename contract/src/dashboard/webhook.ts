import Type, { type Static } from 'typebox'
import { EVENT_ID_PATTERN } from '../ids.ts'
import { Count, closed, DateTime, nullable } from '../shapes.ts'
import { WebhookHealth, WebhookRequest } from '../webhook.ts'
import { builders, roles } from './roles.ts'
import type { DashboardRoute } from './route.ts'

export const webhookEventNames = [
  'order.accepted',
  'order.delivered',
  'order.cancelled',
  'catalogue.changed',
  'test',
] as const

const EventType = Type.Enum(webhookEventNames, { type: 'string' })

/** How the endpoint does, in one word. */
export const webhookStates = ['none', 'suspended', 'unused', 'healthy', 'retrying', 'failing'] as const

/** Who set the URL. For a key: whether it could still do so, since events carry what orders:read guards. */
const SetBy = closed({
  kind: Type.Enum(['key', 'person', 'operator'], { type: 'string' }),
  id: Type.String(),
  name: nullable(Type.String()),
  is_revoked: Type.Boolean(),
  lacks_orders_read: Type.Boolean(),
})

const SigningSecret = closed({
  /** Its last four characters. */
  hint: Type.String(),
  created_at: DateTime,
  /** The secret before it signs too until then; null when only one signs. */
  previous_ends_at: nullable(DateTime),
  previous_hint: nullable(Type.String()),
})

export const WebhookPage = closed({
  state: Type.Enum(webhookStates, { type: 'string' }),
  health: WebhookHealth,
  /** Of `pending`: those that were refused at least once. */
  retrying: Count,
  set_at: nullable(DateTime),
  set_by: nullable(SetBy),
  secret: nullable(SigningSecret),
  /** The latest attempts, at most twenty. */
  recent: closed({ attempts: Count, failed: Count }),
  /** The share of failed attempts at which an alert was last sent; null since the last success. */
  alerted_percent: nullable(Count),
  /** When each attempt is made at the earliest, in seconds after the event. */
  schedule_s: Type.Array(Count),
  /** The latest event of each type; absent ones have not happened. */
  events_seen: Type.Array(closed({ type: EventType, last_at: DateTime })),
})
export type WebhookPage = Static<typeof WebhookPage>

const JsonObject = Type.Record(Type.String(), Type.Unknown())

/** One type of event: when it is sent, what it looks like, and what "Send this example" sends. */
const EventKind = closed({
  type: EventType,
  summary: Type.String(),
  description: Type.String(),
  /** What a receiver does with it. */
  yours: Type.String(),
  /** JSON Schema, complete in itself. */
  schema: JsonObject,
  example: JsonObject,
})

/** `secret` is there once: when it was made. */
const WebhookChanged = closed({ page: WebhookPage, secret: Type.Optional(Type.String({ minLength: 1 })) })

export const webhookRoutes = [
  { name: 'getWebhook', method: 'GET', path: '/api/webhook', access: roles, reply: WebhookPage },
  {
    name: 'setWebhook',
    method: 'POST',
    path: '/api/webhook/set',
    access: builders,
    isStepUp: true,
    body: WebhookRequest,
    reply: WebhookChanged,
  },
  {
    name: 'testWebhook',
    method: 'POST',
    path: '/api/webhook/test',
    access: builders,
    body: closed({}),
    reply: closed({ event_id: Type.String({ pattern: EVENT_ID_PATTERN }) }),
  },
  {
    name: 'listEventKinds',
    method: 'GET',
    path: '/api/event-kinds',
    access: roles,
    reply: closed({ kinds: Type.Array(EventKind) }),
  },
  {
    name: 'sendExampleEvent',
    method: 'POST',
    path: '/api/webhook/send-example',
    access: builders,
    body: closed({ type: EventType }),
    reply: closed({ event_id: Type.String({ pattern: EVENT_ID_PATTERN }) }),
  },
  {
    name: 'rotateSecret',
    method: 'POST',
    path: '/api/webhook/rotate-secret',
    access: builders,
    isStepUp: true,
    body: closed({}),
    reply: WebhookChanged,
  },
  {
    name: 'endPreviousSecret',
    method: 'POST',
    path: '/api/webhook/end-previous-secret',
    access: builders,
    isStepUp: true,
    body: closed({}),
    reply: WebhookChanged,
  },
] as const satisfies readonly DashboardRoute[]
