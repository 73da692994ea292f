import type { SchemaName } from '../resources.ts'
import type { WebhookEvent, WebhookEventName } from '../webhook.ts'
import { type Json, schemaComponents } from './components.ts'
import { examples } from './examples.ts'
import { type EventText, eventTexts } from './texts.ts'

const schemaNames = {
  'order.accepted': 'OrderAcceptedEvent',
  'order.delivered': 'OrderDeliveredEvent',
  'order.cancelled': 'OrderCancelledEvent',
  'catalogue.changed': 'CatalogueChangedEvent',
  test: 'TestEvent',
} as const satisfies Record<WebhookEventName, SchemaName>

/** An event as its receivers read about it: on the page of events and in the dashboard. */
export interface EventKind extends EventText {
  readonly type: WebhookEventName
  /** Complete in itself, with descriptions. */
  readonly schema: Json
  /** As it looks when it happened. */
  readonly usual: WebhookEvent
}

/** In the order in which a caller meets them. */
export function eventKinds(): readonly EventKind[] {
  const components = schemaComponents()
  return (Object.keys(eventTexts) as WebhookEventName[]).map((type) => {
    const name = schemaNames[type]
    return {
      type,
      ...eventTexts[type],
      schema: inlined(components[name], components) as Json,
      usual: examples[name],
    }
  })
}

/** No order gets this id: its time would be the beginning of 1970. */
const NO_ORDER = `ord_${'0'.repeat(26)}`
const MESSAGE = 'An example that was sent from the dashboard. There is no such order, and nothing was spent.'

/** What "Send this example" sends: marked by its message, which no real event has, about an order that cannot exist. */
export function exampleEvent(
  type: WebhookEventName,
  head: Pick<WebhookEvent, 'id' | 'created_at'>,
): WebhookEvent {
  const usual = examples[schemaNames[type]]
  const order = 'order' in usual.data && { order: { ...usual.data.order, id: NO_ORDER } }
  return { ...usual, ...head, data: { ...usual.data, ...order, message: MESSAGE } } as WebhookEvent
}

const REFERENCE = '#/components/schemas/'

/** With every reference replaced by what it refers to, and without the examples of the parts. */
function inlined(schema: unknown, components: Json): unknown {
  if (Array.isArray(schema)) return schema.map((one) => inlined(one, components))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref, examples: _, ...rest } = schema as { $ref?: string; examples?: unknown }
  if ($ref !== undefined) {
    const meant = inlined(components[$ref.slice(REFERENCE.length)], components)
    // What is said beside a reference is about this use of it.
    return { ...(meant as Json), ...(inlined(rest, components) as Json) }
  }
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, inlined(value, components)]))
}
