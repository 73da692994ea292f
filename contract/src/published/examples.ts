import type { Static } from 'typebox'
import type { ErrorType } from '../errors.ts'
import { BODY_ARRIVAL_MS_MAX, BODY_BYTES_MAX, ORDER_TOTAL_CENTS_MAX } from '../limits.ts'
import type { SchemaName, schemas } from '../resources.ts'

const at = '2026-11-14T23:46:40.000Z'
const deliveredAt = '2026-11-14T23:46:41.250Z'
const itemId = '123456789012345678'
const eventId = (n: number) => `evt_01k9zq3v7m8n4p2r6s0t5w1x9${n}`

const Item: Of<'Item'> = {
  id: itemId,
  name: 'Hat',
  type: 'decoration',
  collection: 'Winter',
  price_cents: 500,
  currency: 'USD',
  image: 'https://img.example/hat.png',
  stock: null,
  sellable: true,
  available_until: at,
}

const CartItem: Of<'CartItem'> = { id: itemId, qty: 2, expected_price_cents: 500 }

const QuoteLine: Of<'QuoteLine'> = {
  id: itemId,
  qty: 2,
  status: 'ok',
  name: 'Hat',
  unit_price_cents: 500,
  line_total_cents: 1000,
}

const OrderLine: Of<'OrderLine'> = { id: itemId, name: 'Hat', qty: 2, unit_price_cents: 500 }

const OrderSummary: Of<'OrderSummary'> = {
  id: 'ord_01k9zq3v7m8n4p2r6s0t5w1x9y',
  status: 'delivered',
  currency: 'USD',
  total_cents: 1000,
  created_at: at,
}

const Order: Of<'Order'> = {
  ...OrderSummary,
  delivered_at: deliveredAt,
  lines: [OrderLine],
  links: ['https://gift.example/1', 'https://gift.example/2'],
}

export const paidOrder: Of<'Order'> = { ...Order, status: 'paid', delivered_at: null, links: [] }

const cancelledOrder: Of<'Order'> = { ...paidOrder, status: 'cancelled' }

const WebhookHealth: Of<'WebhookHealth'> = {
  webhook_url: 'https://shop.example/hook',
  pending: 0,
  failed: 0,
  last_delivered_at: at,
  last_failure_at: null,
  last_error: null,
}

const TestEvent: Of<'TestEvent'> = {
  id: eventId(5),
  created_at: at,
  event: 'test',
  data: { message: 'A test. No order was made and nothing was spent.' },
}

/** One full example per schema, every optional property in it but what marks an example event. They are published, and the tests use them. */
export const examples: { readonly [Name in SchemaName]: Of<Name> } = {
  Balance: { balance_cents: 25_000, currency: 'USD' },
  CartItem,
  CatalogueChangedEvent: {
    id: eventId(4),
    created_at: at,
    event: 'catalogue.changed',
    data: { revision: '42', refresh: true },
  },
  CataloguePage: { items: [Item], count: 1, total: 1, limit: 100, offset: 0 },
  CatalogueQuery: { limit: 2000, offset: 0, search: 'hat', category: 'winter', type: 'bundle' },
  ErrorBody: { error: { type: 'not_found', message: 'There is no item with this id.' } },
  Item,
  Order,
  OrderAcceptedEvent: { id: eventId(1), created_at: at, event: 'order.accepted', data: { order: paidOrder } },
  OrderCancelledEvent: {
    id: eventId(3),
    created_at: at,
    event: 'order.cancelled',
    data: { order: cancelledOrder },
  },
  OrderDeliveredEvent: {
    id: eventId(2),
    created_at: deliveredAt,
    event: 'order.delivered',
    data: { order: Order },
  },
  OrderLine,
  OrderRequest: { items: [CartItem], idempotency_key: 'order-0001' },
  OrderSummary,
  OrdersPage: { orders: [OrderSummary], total: 1, limit: 25, offset: 0 },
  OrdersQuery: { limit: 100, offset: 1_000_000 },
  PingResult: { ok: true, name: 'A shop', status: 'active', account_status: 'active' },
  Quote: { ok: true, currency: 'USD', total_cents: 1000, lines: [QuoteLine] },
  QuoteLine,
  QuoteRequest: { items: [CartItem] },
  ServiceStatus: { status: 'operational', api: 'up', store: 'open', queue: 0, updated: at },
  TestEvent,
  WebhookConfiguration: { ...WebhookHealth, secret: 'whsec_shown-once-and-never-again' },
  WebhookEvent: TestEvent,
  WebhookHealth,
  WebhookRequest: { url: 'https://shop.example/hook' },
  WebhookTestRequest: {},
  WebhookTestResult: { ok: true, queued: true },
}

/** An example message per error type. Only the type is stable; the message is for people. */
export const errorMessages: Readonly<Record<ErrorType, string>> = {
  invalid_request: 'items[0].qty must be <= 10.',
  order_total_exceeded: `The cart costs 620000 cents; one order may cost ${ORDER_TOTAL_CENTS_MAX}. Split it into several orders.`,
  webhook_url_not_allowed:
    'This URL cannot receive events: its address is not public. Use a public HTTPS address, port 443 or from 1024 on.',
  authentication_failed:
    'The key or the signature is not valid. Check the key id, the secret and the canonical request.',
  timestamp_out_of_range: 'X-Api-Timestamp is 94 s behind our clock, which says 1794700000.',
  nonce_reused: 'This nonce was used before. Sign again with a fresh nonce and timestamp; retries too.',
  insufficient_funds:
    'The balance does not cover the 1000 cents of this cart. Nothing was bought. Fund the account, then send the same request again.',
  insufficient_scope: 'This key lacks the scope orders:read. Use a key that has it.',
  account_suspended: 'This account is suspended. Contact the store to have it resumed.',
  not_found: 'There is no item with this id. GET /catalogue lists all there are.',
  method_not_allowed: 'PUT is not offered at this path; it takes DELETE, GET, POST.',
  request_timeout: `The body did not arrive within ${BODY_ARRIVAL_MS_MAX / 1000} seconds. Nothing was done; send it again with a fresh timestamp and nonce.`,
  price_changed: `A price is not the expected one: ${itemId} costs 550 cents. Nothing was bought.`,
  item_unavailable: `Not for sale now: ${itemId}. Nothing was bought. POST /quote shows which lines can be.`,
  idempotency_conflict:
    'This idempotency key has already bought another cart. Use a new key for a new purchase.',
  webhook_not_configured: 'There is no endpoint to send a test to. Set one with POST /webhook first.',
  payload_too_large: `The body is larger than the limit of ${BODY_BYTES_MAX} bytes.`,
  rate_limited:
    'This account has made 120 requests within 60 seconds. Wait 7 s, then sign again with a fresh timestamp and nonce.',
  internal_error: 'Something went wrong on our side. Tell us the X-Request-Id of this answer.',
  store_closed:
    'The store takes no new orders for now; nothing was bought. Try again with the same key when /status says it is open.',
  service_unavailable:
    'A part of the service did not answer in time. Try again in a moment; an order keeps its idempotency key.',
}

type Of<Name extends SchemaName> = Static<(typeof schemas)[Name]>
