import type * as contract from '../src/index.ts'
import { examples } from '../src/published/examples.ts'

/** One full example per schema. */
export const valid = examples

const {
  CartItem,
  CatalogueChangedEvent,
  Item,
  Order,
  OrderDeliveredEvent,
  OrderSummary,
  TestEvent,
  WebhookHealth,
} = valid
const itemId = Item.id
const eventId = TestEvent.id

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
  { schema: 'QuoteLine', why: 'an unknown item', value: { id: itemId, qty: 1, status: 'sold_out' } },
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
