import type { Static } from 'typebox'
import {
  BODY_ARRIVAL_MS_MAX,
  BODY_BYTES_MAX,
  CART_LINES_MAX,
  IDEMPOTENCY_WAIT_MS_MAX,
  NONCE_LENGTH_MAX,
  NONCE_LENGTH_MIN,
  ORDER_ATTEMPTS_PER_WINDOW_MAX,
  ORDER_TOTAL_CENTS_MAX,
  RATE_WINDOW_S,
  REQUESTS_PER_WINDOW_MAX,
  TIMESTAMP_TOLERANCE_S,
  WEBHOOK_ATTEMPTS_MAX,
  WEBHOOK_HORIZON_S,
  WEBHOOK_JITTER_PERCENT_MAX,
  WEBHOOK_RECEIVER_TOLERANCE_S,
  WEBHOOK_TESTS_QUEUED_MAX,
  WEBHOOK_TIMEOUT_MS_MAX,
} from '../limits.ts'
import type { SchemaName, schemas } from '../resources.ts'
import type { RouteName } from '../routes.ts'
import type { WebhookEventName } from '../webhook.ts'

// Titles and descriptions for the published documents. The tables are typed: a route, field or event without a text
// does not compile.

export const introduction = `
A storefront that servers buy from: read a live catalogue, quote a cart, buy it whole from a prepaid balance, get gift
links, and receive signed webhooks.

**There is no sandbox. \`POST /orders\` spends real balance, and \`links\` are bearer secrets:** whoever holds an unclaimed
link can redeem it.

- All money is a whole number of US cents.
- Bodies are JSON in UTF-8, at most ${BODY_BYTES_MAX} bytes, and arrive within ${BODY_ARRIVAL_MS_MAX / 1000} seconds. Objects take no properties that are not
  listed here, and no name twice. Item ids are strings: as numbers they lose digits.
- Paths are exact: another case, a trailing slash or an escaped letter is another path. An unknown path is 404
  \`not_found\`, another method on a known path is 405 \`method_not_allowed\` with \`Allow\`; neither needs a signature.
- Every refusal is \`{"error":{"type":"…","message":"…"}}\`. Branch on \`type\`; the message is for people.
- Per account and any ${RATE_WINDOW_S} seconds: ${REQUESTS_PER_WINDOW_MAX} signed requests and, within them, ${ORDER_ATTEMPTS_PER_WINDOW_MAX} order attempts.
- New optional fields in answers and new event types may appear at any time. Anything else that would break a caller
  becomes \`/v2\`.

## Signing

Every operation but \`GET /status\` takes four headers, and OpenAPI has no scheme that describes them fully. They are listed
as four API keys in headers because that is the nearest thing; **a tool that sends fixed values for them will be
refused.** Each request, retries included, needs its own timestamp, nonce and signature.

The signature is the lower-case hex HMAC-SHA256 of five lines, keyed with the secret exactly as it was shown (its UTF-8
bytes, nothing decoded). Single newlines between the lines, none at the end:

\`\`\`
POST
/v1/quote
1794700000
00112233445566778899aabbccddeeff
<lower-case hex SHA-256 of the body's bytes; of zero bytes when there is no body>
\`\`\`

Method in upper case; path with \`/v1\` and the query exactly as sent; timestamp and nonce as sent. Serialise the body once,
sign those bytes, send those bytes. The secret itself is never sent.
`.trim()

export type Tag = 'Service' | 'Account' | 'Catalogue' | 'Orders' | 'Webhooks'

/** In the order in which they are published. */
export const tagTexts: Readonly<Record<Tag, string>> = {
  Service: 'Whether the shop is up and open. Public.',
  Account: 'Whose key this is, and what it can spend.',
  Catalogue: 'What is for sale, and what a cart would cost.',
  Orders: 'Buying, and reading what was bought.',
  Webhooks: 'Where events are sent, and the state of their deliveries.',
}

interface RouteText {
  readonly tag: Tag
  readonly summary: string
  readonly description: string
  /** By success status. */
  readonly answers: Readonly<Record<number, string>>
}

export const routeTexts: Readonly<Record<RouteName, RouteText>> = {
  getStatus: {
    tag: 'Service',
    summary: 'Is the shop open?',
    description:
      'Public: signature headers are not looked at. HEAD is answered too, for monitors. Not limited: ask as often as once a second, which is how often the answer changes. A success says only that this endpoint answers; it is no estimate of delivery times.',
    answers: { 200: 'The state of the service and the store.' },
  },
  getPing: {
    tag: 'Account',
    summary: 'Try out a key and its signature',
    description: 'The smallest signed request there is. Nothing changes.',
    answers: { 200: 'The signature holds; this is the account behind the key.' },
  },
  getBalance: {
    tag: 'Account',
    summary: 'Read the balance',
    description: 'What orders can be paid with at this moment.',
    answers: { 200: 'The balance.' },
  },
  getCatalogue: {
    tag: 'Catalogue',
    summary: 'List items',
    description:
      'Every item the store knows, by the number its id stands for; also those that cannot be bought now, so look at `sellable`. Send the `ETag` of an earlier answer as `If-None-Match` to learn cheaply that nothing has changed.',
    answers: {
      200: 'One page of the items that match.',
      304: 'Nothing has changed since the answer with this tag.',
    },
  },
  getCatalogueItem: {
    tag: 'Catalogue',
    summary: 'Read one item',
    description: 'Any id that is not an item’s is 404, whatever it looks like.',
    answers: { 200: 'The item.', 304: 'Nothing has changed since the answer with this tag.' },
  },
  postQuote: {
    tag: 'Catalogue',
    summary: 'Price a cart',
    description:
      'Prices a cart by the rule that orders use. It spends nothing, never looks at the balance, and works while the store is closed.',
    answers: { 200: 'What each line, and the cart, would cost now.' },
  },
  postOrders: {
    tag: 'Orders',
    summary: 'Buy a cart (spends real balance)',
    description: [
      '**Spends real money.** Buys the whole cart from the balance, or nothing.',
      'The idempotency key belongs to the account and protects for ever: the same key with the same cart answers 200 with the order as it is now and charges nothing; with another cart it is 409.',
      `After no answer, or a 503, send the same key and cart again, signed afresh: a new key is a new purchase. Copies sent at the same moment buy once; one that would wait longer than ${IDEMPOTENCY_WAIT_MS_MAX / 1000} seconds for the other gets 503.`,
      'When several things stand in the way, the first of these is answered: 503 store closed, 409 item unavailable, 409 price changed, 400 total too high, 402 balance too low. After any of them nothing was bought and the key is still free.',
    ].join('\n\n'),
    answers: {
      200: 'The order that this key bought earlier, as it is now. No charge. `links` is empty unless the calling key also holds `orders:read`.',
      201: 'Bought and paid. `links` is empty until the order is delivered.',
    },
  },
  getOrders: {
    tag: 'Orders',
    summary: 'List orders',
    description: 'Newest first. Summaries without lines and links; read one order for those.',
    answers: { 200: 'One page of the account’s orders.' },
  },
  getOrder: {
    tag: 'Orders',
    summary: 'Read one order, with its gift links',
    description:
      'The source of truth about an order, whatever events arrived. Another account’s order is 404, exactly like an order that does not exist.',
    answers: { 200: 'The order as it is now.' },
  },
  getWebhook: {
    tag: 'Webhooks',
    summary: 'Read the state of deliveries',
    description: 'Without an endpoint, `webhook_url` is null and the counts are 0.',
    answers: { 200: 'The endpoint and its deliveries.' },
  },
  postWebhook: {
    tag: 'Webhooks',
    summary: 'Set or stop the endpoint',
    description:
      'A URL also needs the scope `orders:read`, because order details and gift links will be sent there; `null` does not. Another URL cancels what was queued for the old one and keeps the secret. `null` stops deliveries.',
    answers: {
      200: 'The endpoint. `secret` is there only when this call created it, once; keep it at once.',
    },
  },
  deleteWebhook: {
    tag: 'Webhooks',
    summary: 'Stop deliveries',
    description: 'The same as setting the URL to null: what was queued is cancelled. Safe to repeat.',
    answers: { 200: 'There is no endpoint any more.' },
  },
  postWebhookTest: {
    tag: 'Webhooks',
    summary: 'Queue a test event',
    description: `Queues a \`test\` event to the saved endpoint. It buys nothing. When ${WEBHOOK_TESTS_QUEUED_MAX} of the last ${RATE_WINDOW_S} seconds have not been accepted by your endpoint, the next is refused with 429 until the first of them is older than that. No more than ${WEBHOOK_TESTS_QUEUED_MAX} wait at all: a new one takes the place of the oldest.`,
    answers: { 200: 'Queued.' },
  },
}

export interface EventText {
  readonly summary: string
  readonly description: string
  /** What a receiver does with it. */
  readonly yours: string
}

/** In the order in which a caller meets them. */
export const eventTexts: Readonly<Record<WebhookEventName, EventText>> = {
  'order.accepted': {
    summary: 'An order was bought',
    description: 'Sent once, in the commit that takes the money. The order is `paid` and has no links yet.',
    yours: 'No action is needed.',
  },
  'order.delivered': {
    summary: 'An order’s gift links are ready',
    description:
      'Sent once, in the commit that delivers. The only event with links: one per unit, in the order of the lines.',
    yours: 'Give the links to your customer. Keep them out of logs: anyone who has one can redeem it.',
  },
  'order.cancelled': {
    summary: 'An order was cancelled and refunded',
    description: 'Sent once, in the commit that puts the whole price back on the balance.',
    yours: 'Inform your customer and refund the payment.',
  },
  'catalogue.changed': {
    summary: 'Items changed',
    description:
      'At most once a minute, many changes together. It contains the newest revision and no items.',
    yours: 'Read the catalogue again. If two arrive in a row, one refresh is enough.',
  },
  test: {
    summary: 'You asked for a test',
    description: 'What `POST /webhook/test` queues.',
    yours: 'Answer 200.',
  },
}

export const deliveryText = `
Check the signature over the raw bytes before parsing: the lower-case hex HMAC-SHA256, keyed with the webhook secret exactly as
shown, of timestamp, period, event id, period, raw body. Compare in constant time, refuse a timestamp more than
${WEBHOOK_RECEIVER_TOLERANCE_S} seconds off, and handle each id once: events may come twice and in any order.

Any 2xx within ${WEBHOOK_TIMEOUT_MS_MAX / 1000} seconds accepts the event. Anything else, a redirect included, is tried again after 1 minute, then twice as
long each time (up to ${WEBHOOK_JITTER_PERCENT_MAX} % is added) up to an hour; ${WEBHOOK_ATTEMPTS_MAX} attempts in all, and none later than ${WEBHOOK_HORIZON_S / 3600} hours after the event. Id and
body stay the same, timestamp and signature are fresh with every attempt.
`.trim()

export const headerTexts = {
  key: 'The public id of the API key. It identifies; it proves nothing without the signature.',
  timestamp: `Unix seconds, ten digits, within ${TIMESTAMP_TOLERANCE_S} seconds of the service’s clock. Part of what is signed.`,
  nonce: `${NONCE_LENGTH_MIN} to ${NONCE_LENGTH_MAX} lower-case hex characters, used once; fresh for every attempt, retries too. Part of what is signed.`,
  signature:
    'The lower-case hex HMAC-SHA256 of the canonical request, keyed with the API secret; see Signing in the introduction. It is computed anew for every request and cannot be configured as a fixed value.',
} as const

interface SchemaText<Name extends SchemaName> {
  readonly about: string
  readonly fields: FieldTexts<Static<(typeof schemas)[Name]>>
}

type FieldTexts<Shape> = { readonly [Field in keyof Shape]-?: string }

const page = {
  total: 'All that match, on all pages.',
  limit: 'The limit that was applied.',
  offset: 'How many were skipped.',
}
const event = {
  id: 'Unique; the same over all attempts, and equal to `X-Webhook-Id`.',
  event: 'What happened.',
  created_at: 'When it happened.',
}
const inExamples =
  '`message` is there only in an example that was sent from the dashboard: nothing in it is real.'
const orderSummary = {
  id: 'Opaque.',
  status:
    '`paid` awaits delivery; `delivered` and `cancelled` are final. A cancelled order was refunded in full.',
  currency: 'Always `USD`.',
  total_cents: 'What was charged.',
  created_at: 'When it was bought.',
}
const health = {
  webhook_url: 'Where events go; null when there is no endpoint.',
  pending: 'Deliveries that wait or are being retried; not single attempts.',
  failed: 'Deliveries given up.',
  last_delivered_at: 'When an event was last accepted.',
  last_failure_at: 'When an attempt last failed.',
  last_error:
    'Why the last failed attempt failed: `dns`, `blocked`, `connect`, `tls`, `timeout`, `reset`, `bad_response`, `internal`, or `http_` and the status.',
}

export const schemaTexts: { readonly [Name in SchemaName]: SchemaText<Name> } = {
  Balance: {
    about: 'What an account can spend.',
    fields: { balance_cents: 'In US cents; never below 0.', currency: 'Always `USD`.' },
  },
  CartItem: {
    about: 'One line of a cart.',
    fields: {
      id: 'The item’s id, as a string.',
      qty: 'How many; 1 when left out.',
      expected_price_cents:
        'The unit price your customer saw. When the price is another by now, nothing is bought. Left out, the price of the moment is charged.',
    },
  },
  CatalogueChangedEvent: {
    about: 'The catalogue has a new revision.',
    fields: { ...event, data: `The newest revision. ${inExamples}` },
  },
  CataloguePage: {
    about: 'A page of items.',
    fields: { items: 'Ordered by the number the id stands for.', count: 'Items on this page.', ...page },
  },
  CatalogueQuery: {
    about: 'What GET /catalogue can be asked.',
    fields: {
      limit: 'Items on a page.',
      offset: 'Matching items to skip.',
      search: 'Text anywhere in the name, in any case. Empty: no filter.',
      category: 'Text anywhere in the collection’s name, in any case. Empty: no filter.',
      type: 'Only items of this type.',
    },
  },
  ErrorBody: {
    about: 'Every refusal has this shape and no other.',
    fields: { error: '`type` is stable and for programs, `message` is for people and may change.' },
  },
  Item: {
    about: 'Something the store sells, or has sold.',
    fields: {
      id: 'Digits, as a string: as a number it would lose some.',
      name: 'For people.',
      type: 'What kind of item it is.',
      collection: 'The collection’s name.',
      price_cents: 'Unit price in US cents.',
      currency: 'Always `USD`.',
      image: 'A preview. Always null for a `frame`, which is put together from layers.',
      stock: 'Always null: availability is `sellable`, not a count.',
      sellable: 'Whether it can be bought now.',
      available_until: 'From this instant on it is not sellable; null when no end is set.',
    },
  },
  Order: {
    about: 'A purchase. Names and prices are those of the moment it was bought.',
    fields: {
      ...orderSummary,
      delivered_at: 'When its links became ready; null until then.',
      lines: 'As they were ordered.',
      links:
        'One gift link per unit, in the order of the lines; empty unless delivered, and when the store has erased them, some time after the delivery. Sensitive: whoever holds an unclaimed link can redeem it. Never log or cache this field.',
    },
  },
  OrderAcceptedEvent: {
    about: 'An order was bought.',
    fields: { ...event, data: `The paid order. ${inExamples}` },
  },
  OrderCancelledEvent: {
    about: 'An order was refunded.',
    fields: { ...event, data: `The cancelled order. ${inExamples}` },
  },
  OrderDeliveredEvent: {
    about: 'An order’s links are ready.',
    fields: { ...event, data: `The delivered order, with its links. ${inExamples}` },
  },
  OrderLine: {
    about: 'One line of a purchase.',
    fields: {
      id: 'The item’s id.',
      name: 'Its name at purchase.',
      qty: 'How many.',
      unit_price_cents: 'The price paid for each.',
    },
  },
  OrderRequest: {
    about: 'A cart to buy.',
    fields: {
      items: `1 to ${CART_LINES_MAX} lines with distinct ids; together at most ${ORDER_TOTAL_CENTS_MAX} cents.`,
      idempotency_key: 'Yours: one per purchase, kept over all retries of it. A new key is a new purchase.',
    },
  },
  OrderSummary: { about: 'An order as lists show it.', fields: orderSummary },
  OrdersPage: { about: 'A page of orders.', fields: { orders: 'Newest first.', ...page } },
  OrdersQuery: {
    about: 'What GET /orders can be asked.',
    fields: { limit: 'Orders on a page.', offset: 'Orders to skip.' },
  },
  PingResult: {
    about: 'The account behind a key.',
    fields: {
      ok: 'Always true.',
      name: 'The account’s name.',
      status: '`active`; other values are reserved.',
      account_status: '`active`; other values are reserved.',
    },
  },
  Quote: {
    about: 'What a cart would cost now.',
    fields: {
      ok: 'True only when every line is `ok`: the same order would pass now, the balance aside.',
      currency: 'Always `USD`.',
      total_cents: 'At current prices; a `sold_out` line adds nothing.',
      lines: 'One for each line of the cart.',
    },
  },
  QuoteLine: {
    about: 'What one line would cost. An id that nobody knows is `sold_out` and has neither name nor prices.',
    fields: {
      id: 'As asked.',
      qty: 'As asked, or 1.',
      status:
        '`price_changed` when the price is not the expected one, `sold_out` when it cannot be bought, which wins.',
      name: 'The item’s name.',
      unit_price_cents: 'The price now.',
      line_total_cents:
        'The price now, times `qty`. Left out of a `sold_out` line, so that those shown add up to the total.',
    },
  },
  QuoteRequest: {
    about: 'A cart to price.',
    fields: {
      items: `1 to ${CART_LINES_MAX} lines with distinct ids; together at most ${ORDER_TOTAL_CENTS_MAX} cents.`,
    },
  },
  ServiceStatus: {
    about: 'The state of the service and the store.',
    fields: {
      status: '`degraded` when the store is closed, work piles up, or a part of the service does not answer.',
      api: '`unavailable` when signed requests cannot be served.',
      store: 'Whether new orders are taken.',
      queue: 'Orders that are paid and not yet delivered.',
      updated: 'When these values were sampled.',
    },
  },
  TestEvent: { about: 'A test.', fields: { ...event, data: 'A text.' } },
  WebhookConfiguration: {
    about: 'The endpoint after it was set.',
    fields: {
      ...health,
      secret:
        'The signing secret, only in the answer that created the endpoint; otherwise left out. Keep it at once, on your server.',
    },
  },
  WebhookEvent: {
    about: 'What an endpoint receives; distinguished by `event`.',
    fields: { ...event, data: '' },
  },
  WebhookHealth: { about: 'The endpoint and the state of its deliveries.', fields: health },
  WebhookRequest: {
    about: 'Where to send events.',
    fields: {
      url: 'A public `https://` address, or null to stop. No credentials, no fragment; port 443 or from 1024 on.',
    },
  },
  WebhookTestRequest: { about: 'An empty object.', fields: {} },
  WebhookTestResult: {
    about: 'The test is queued.',
    fields: { ok: 'Always true.', queued: 'Always true.' },
  },
}
