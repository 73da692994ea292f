import type { Order, WebhookEvent, WebhookEventName } from '@shopwire/contract'
import { signWebhook, webhookHeaders } from '@shopwire/contract/signing'
import { madeFrom, wrapped } from './markdown.ts'

/** Shown on the page, so that a reader can check the signatures. It signs nothing else. */
const SECRET = 'whsec_this-one-is-only-for-the-documentation'

const order: Order = {
  id: 'ord_01m7evcqc1fjdv5d2cs5b99qzw',
  status: 'paid',
  currency: 'USD',
  total_cents: 998,
  created_at: '2026-11-15T05:37:58.145Z',
  delivered_at: null,
  lines: [{ id: '1144058340327047001', name: 'Aurora Ring', qty: 2, unit_price_cents: 499 }],
  links: [],
}

interface Sample<Event extends WebhookEvent> {
  readonly when: string
  readonly yours: string
  readonly body: Event
}

/** One example per event, in the order in which a caller meets them. An event without one does not compile. */
const eventSamples: {
  readonly [Name in WebhookEventName]: Sample<Extract<WebhookEvent, { event: Name }>>
} = {
  'order.accepted': {
    when: 'Sent once for every order, in the commit that takes the money.',
    yours: 'No action is needed.',
    body: {
      id: 'evt_01m7evcqc1e8s9p4g6rv2k3n5t',
      created_at: '2026-11-15T05:37:58.145Z',
      event: 'order.accepted',
      data: { order },
    },
  },
  'order.delivered': {
    when: 'Sent once, in the commit that delivers. `links` has one link per unit, in the order of the lines.',
    yours: 'Give the links to your customer. Keep them out of logs: anyone who has one can redeem it.',
    body: {
      id: 'evt_01m7evcr9mf7ktdy3h5w8a2c4e',
      created_at: '2026-11-15T05:37:59.092Z',
      event: 'order.delivered',
      data: {
        order: {
          ...order,
          status: 'delivered',
          delivered_at: '2026-11-15T05:37:59.092Z',
          links: ['https://gift.example/3f9c1b7e-ring-1', 'https://gift.example/a84d20c5-ring-2'],
        },
      },
    },
  },
  'order.cancelled': {
    when: 'Sent once, in the commit that refunds. The whole price is back on the balance.',
    yours: 'Inform your customer and refund the payment.',
    body: {
      id: 'evt_01m7evjx2pefrb6q9s0t1v3w7y',
      created_at: '2026-11-15T05:41:21.494Z',
      event: 'order.cancelled',
      data: { order: { ...order, status: 'cancelled' } },
    },
  },
  'catalogue.changed': {
    when: 'Sent when items changed, at most once a minute. It contains the newest revision and no items.',
    yours:
      '[Read the catalogue again](../guides/sync-the-catalogue.md). If two arrive in a row, one refresh is enough.',
    body: {
      id: 'evt_01m7evm0ahfxs8n2k4p6r8t0v2',
      created_at: '2026-11-15T05:43:06.001Z',
      event: 'catalogue.changed',
      data: { revision: '42', refresh: true },
    },
  },
  test: {
    when: 'Sent when you ask for it with `POST /v1/webhook/test`.',
    yours: 'Answer 200.',
    body: {
      id: 'evt_01m7evn7q3e1d5g9j3m7q1s5w9',
      created_at: '2026-11-15T05:43:46.275Z',
      event: 'test',
      data: { message: 'A test. No order was made and nothing was spent.' },
    },
  },
}

export function eventsPage(): string {
  const sections = Object.entries(eventSamples).map(
    ([name, { when, yours, body }]) =>
      `## \`${name}\`\n\n${wrapped(`${when} ${yours}`)}\n\n${delivery(body)}\n`,
  )
  return `${madeFrom('tools/reference/events-page.ts')}
# Events

What your endpoint [receives](../guides/receive-webhooks.md): headers, then the body on one line. Line breaks are added
here; the signatures are over the body without them, with the secret \`${SECRET}\`.

New event types may appear: answer 200 to unknown ones. A member of \`data\` that an event does not use is left out.

${sections.join('\n')}`
}

function delivery(event: WebhookEvent): string {
  const body = JSON.stringify(event)
  const timestamp = String(Math.ceil(Date.parse(event.created_at) / 1000))
  const signature = signWebhook(SECRET, { timestamp, id: event.id, body: Buffer.from(body) })
  return `\`\`\`http
POST /hooks/shopwire HTTP/1.1
Content-Type: application/json; charset=utf-8
${webhookHeaders.timestamp}: ${timestamp}
${webhookHeaders.id}: ${event.id}
${webhookHeaders.signature}: ${signature}

${JSON.stringify(event, null, 2)}
\`\`\``
}
