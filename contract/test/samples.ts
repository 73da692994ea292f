import type * as contract from '../src/index.ts'

const at = '2026-11-14T23:46:40.000Z'
const orderId = 'ord_01k9zq3v7m8n4p2r6s0t5w1x9y'
const eventId = 'evt_01k9zq3v7m8n4p2r6s0t5w1x9y'
const itemId = '123456789012345678'

const Item: contract.Item = {
  ...{ id: itemId, name: 'Hat', type: 'decoration', collection: 'Winter', price_cents: 500, currency: 'USD' },
  ...{ image: 'https://img.example/hat.png', stock: null, sellable: true, available_until: at },
}
const CartItem: contract.CartItem = { id: itemId, qty: 2, expected_price_cents: 500 }
const QuoteLine: contract.QuoteLine = {
  ...{ id: itemId, qty: 2, status: 'ok', name: 'Hat', unit_price_cents: 500, line_total_cents: 1000 },
}
const OrderLine: contract.OrderLine = { id: itemId, name: 'Hat', qty: 2, unit_price_cents: 500 }
const OrderSummary: contract.OrderSummary = {
  ...{ id: orderId, status: 'delivered', currency: 'USD', total_cents: 1000, created_at: at },
}
const Order: contract.Order = {
  ...OrderSummary,
  ...{ delivered_at: at, lines: [OrderLine], links: ['https://gift.example/1', 'https://gift.example/2'] },
}
const WebhookHealth: contract.WebhookHealth = {
  ...{ webhook_url: 'https://shop.example/hook', pending: 0, failed: 0 },
  ...{ last_delivered_at: at, last_failure_at: null, last_error: null },
}
const order = { order: Order }
const TestEvent: contract.TestEvent = {
  ...{ id: eventId, event: 'test', created_at: at, data: { message: 'It works.' } },
}
const CatalogueChangedEvent: contract.CatalogueChangedEvent = {
  ...{ id: eventId, event: 'catalogue.changed', created_at: at, data: { revision: 'r42', refresh: true } },
}
const OrderAcceptedEvent: contract.OrderAcceptedEvent = {
  ...{ id: eventId, event: 'order.accepted', created_at: at, data: order },
}
const OrderDeliveredEvent: contract.OrderDeliveredEvent = {
  ...{ id: eventId, event: 'order.delivered', created_at: at, data: order },
}
const OrderCancelledEvent: contract.OrderCancelledEvent = {
  ...{ id: eventId, event: 'order.cancelled', created_at: at, data: order },
}

/** One full example per schema. */
export const valid = {
  Balance: { balance_cents: 0, currency: 'USD' } satisfies contract.Balance,
  CartItem,
  CatalogueChangedEvent,
  CataloguePage: {
    items: [Item],
    count: 1,
    total: 1,
    limit: 100,
    offset: 0,
  } satisfies contract.CataloguePage,
  CatalogueQuery: {
    ...{ limit: 2000, offset: 0, search: 'hat', category: 'winter', type: 'bundle' },
  } satisfies contract.CatalogueQuery,
  ErrorBody: { error: { type: 'not_found', message: 'No such order.' } } satisfies contract.ErrorBody,
  Item,
  Order,
  OrderAcceptedEvent,
  OrderCancelledEvent,
  OrderDeliveredEvent,
  OrderLine,
  OrderRequest: { items: [CartItem], idempotency_key: 'order-0001' } satisfies contract.OrderRequest,
  OrderSummary,
  OrdersPage: { orders: [OrderSummary], total: 1, limit: 25, offset: 0 } satisfies contract.OrdersPage,
  OrdersQuery: { limit: 100, offset: 1_000_000 } satisfies contract.OrdersQuery,
  PingResult: {
    ok: true,
    name: 'A shop',
    status: 'active',
    account_status: 'active',
  } satisfies contract.PingResult,
  Quote: { ok: true, currency: 'USD', total_cents: 1000, lines: [QuoteLine] } satisfies contract.Quote,
  QuoteLine,
  QuoteRequest: { items: [CartItem] } satisfies contract.QuoteRequest,
  ServiceStatus: {
    ...{ status: 'operational', api: 'up', store: 'open', queue: 0, updated: at },
  } satisfies contract.ServiceStatus,
  TestEvent,
  WebhookConfiguration: { ...WebhookHealth, secret: 'whsec_x' } satisfies contract.WebhookConfiguration,
  WebhookEvent: TestEvent satisfies contract.WebhookEvent,
  WebhookHealth,
  WebhookRequest: { url: 'https://shop.example/hook' } satisfies contract.WebhookRequest,
  WebhookTestRequest: {} satisfies contract.WebhookTestRequest,
  WebhookTestResult: { ok: true, queued: true } satisfies contract.WebhookTestResult,
}

type Sample = { schema: contract.SchemaName; why: string; value: unknown }

const items = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: String(10n ** 17n + BigInt(n)) }))
const keyed = (idempotency_key: string) => ({ items: [CartItem], idempotency_key })
const line = (changes: object) => ({ ...CartItem, ...changes })
const hook = (length: number) => ({ url: `https://${'a'.repeat(length - 'https://'.length)}` })

export const refused: Sample[] = [
  { schema: 'CartItem', why: 'an id of 16 digits', value: line({ id: '1'.repeat(16) }) },
  { schema: 'CartItem', why: 'an id of 21 digits', value: line({ id: '1'.repeat(21) }) },
  { schema: 'CartItem', why: 'an id as a number', value: line({ id: Number('12345678901234567') }) },
  { schema: 'CartItem', why: 'an id with a newline after it', value: line({ id: `${itemId}\n` }) },
  { schema: 'CartItem', why: 'digits of another script', value: line({ id: '١'.repeat(17) }) },
  { schema: 'CartItem', why: 'qty 0', value: line({ qty: 0 }) },
  { schema: 'CartItem', why: 'qty 11', value: line({ qty: 11 }) },
  { schema: 'CartItem', why: 'half a unit', value: line({ qty: 1.5 }) },
  { schema: 'CartItem', why: 'qty as text', value: line({ qty: '2' }) },
  { schema: 'CartItem', why: 'qty null', value: line({ qty: null }) },
  { schema: 'CartItem', why: 'an expected price of 0', value: line({ expected_price_cents: 0 }) },
  { schema: 'CartItem', why: 'an expected price of 500001', value: line({ expected_price_cents: 500_001 }) },
  { schema: 'QuoteRequest', why: 'an empty cart', value: { items: [] } },
  { schema: 'QuoteRequest', why: '26 lines', value: { items: items(26) } },
  { schema: 'OrderRequest', why: 'a key of 7 characters', value: keyed('k'.repeat(7)) },
  { schema: 'OrderRequest', why: 'a key of 101 characters', value: keyed('k'.repeat(101)) },
  { schema: 'OrderRequest', why: 'a key with a space', value: keyed('order 0001') },
  { schema: 'OrderRequest', why: 'a key with a newline after it', value: keyed('order-0001\n') },
  { schema: 'CatalogueQuery', why: 'limit 0', value: { limit: 0 } },
  { schema: 'CatalogueQuery', why: 'limit 2001', value: { limit: 2001 } },
  { schema: 'CatalogueQuery', why: 'offset 1000001', value: { offset: 1_000_001 } },
  { schema: 'CatalogueQuery', why: 'a limit still in text', value: { limit: '10' } },
  { schema: 'CatalogueQuery', why: '101 characters to search', value: { search: '🎁'.repeat(101) } },
  { schema: 'CatalogueQuery', why: 'a type that does not exist', value: { type: 'hat' } },
  { schema: 'CatalogueQuery', why: 'an empty type', value: { type: '' } },
  { schema: 'OrdersQuery', why: 'limit 101', value: { limit: 101 } },
  { schema: 'OrdersQuery', why: 'a negative offset', value: { offset: -1 } },
  { schema: 'WebhookRequest', why: 'plain http', value: { url: 'http://shop.example/hook' } },
  { schema: 'WebhookRequest', why: 'HTTPS in upper case', value: { url: 'HTTPS://shop.example/hook' } },
  { schema: 'WebhookRequest', why: 'a URL of 2049 characters', value: hook(2049) },
  { schema: 'WebhookTestRequest', why: 'an array', value: [] },
  { schema: 'WebhookConfiguration', why: 'a null secret', value: { ...WebhookHealth, secret: null } },
  { schema: 'Item', why: 'a stock count', value: { ...Item, stock: 3 } },
  { schema: 'Item', why: 'a negative price', value: { ...Item, price_cents: -1 } },
  { schema: 'Item', why: 'a price with a fraction', value: { ...Item, price_cents: 0.5 } },
  { schema: 'Item', why: 'another currency', value: { ...Item, currency: 'EUR' } },
  { schema: 'Item', why: 'a relative image', value: { ...Item, image: '/hat.png' } },
  {
    schema: 'Item',
    why: 'a date without milliseconds',
    value: { ...Item, available_until: '2026-11-14T23:46:40Z' },
  },
  {
    schema: 'Item',
    why: 'a date with an offset',
    value: { ...Item, available_until: '2026-11-14T23:46:40.000+00:00' },
  },
  { schema: 'OrderSummary', why: 'gift links', value: { ...OrderSummary, links: [] } },
  { schema: 'WebhookEvent', why: 'an unknown name', value: { ...TestEvent, event: 'order.paid' } },
  {
    schema: 'WebhookEvent',
    why: 'the data of another event',
    value: { ...TestEvent, data: { order: Order } },
  },
  {
    schema: 'WebhookEvent',
    why: 'an unused member as null',
    value: { ...TestEvent, data: { message: 'x', order: null } },
  },
  { schema: 'WebhookEvent', why: 'an id with a dot', value: { ...TestEvent, id: `${eventId}.1` } },
]

export const accepted: Sample[] = [
  { schema: 'CartItem', why: 'an id alone', value: { id: '1'.repeat(17) } },
  {
    schema: 'CartItem',
    why: 'the largest values',
    value: { id: '9'.repeat(20), qty: 10, expected_price_cents: 500_000 },
  },
  { schema: 'QuoteRequest', why: '25 lines', value: { items: items(25) } },
  { schema: 'OrderRequest', why: 'a key of 8 characters', value: keyed('Aa0._:-z') },
  { schema: 'OrderRequest', why: 'a key of 100 characters', value: keyed('k'.repeat(100)) },
  { schema: 'CatalogueQuery', why: 'no parameters', value: {} },
  {
    schema: 'CatalogueQuery',
    why: '100 characters of two code units each',
    value: { search: '🎁'.repeat(100) },
  },
  { schema: 'CatalogueQuery', why: 'an empty search', value: { search: '', category: '' } },
  { schema: 'QuoteLine', why: 'an item nobody knows', value: { id: itemId, qty: 1, status: 'sold_out' } },
  {
    schema: 'Item',
    why: 'a frame without image and end',
    value: { ...Item, type: 'frame', image: null, available_until: null },
  },
  { schema: 'Item', why: 'a price of 0', value: { ...Item, price_cents: 0 } },
  {
    schema: 'Order',
    why: 'a fresh order',
    value: { ...Order, status: 'paid', delivered_at: null, links: [] },
  },
  { schema: 'WebhookRequest', why: 'null', value: { url: null } },
  { schema: 'WebhookRequest', why: 'a URL of 2048 characters', value: hook(2048) },
  { schema: 'WebhookConfiguration', why: 'no secret', value: WebhookHealth },
  {
    schema: 'WebhookHealth',
    why: 'no endpoint',
    value: { ...WebhookHealth, webhook_url: null, last_delivered_at: null },
  },
  { schema: 'WebhookEvent', why: 'an order event', value: OrderDeliveredEvent },
  { schema: 'WebhookEvent', why: 'a catalogue event', value: CatalogueChangedEvent },
]
