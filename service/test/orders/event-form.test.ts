import type { WebhookEventName } from '@shopwire/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { composeEvent } from '../../src/orders/fulfilment/compose-event.ts'
import { openShop, type Shop } from '../../testing/shop.ts'

/**
 * The body of an accepted event is not stored: when it is sent again or shown, it is composed again and has to be the same, also after
 * an upgrade. Whoever changes the form of events keeps this one for the events that were made before, by a version in their rows.
 */
const DELIVERED = 'ord_01k00000000000000000000001'
const CANCELLED = 'ord_01k00000000000000000000002'
const EVENT = 'evt_01k00000000000000000000009'
const LINES =
  '"lines":[{"id":"100000000000000017","name":"Amber \\"Anchor\\"","qty":2,"unit_price_cents":450}]'

let shop: Shop
let account_id: string

beforeAll(async () => {
  shop = await openShop()
  account_id = (await shop.operator.createAccount('Form')).id
  const paidAt = '2026-01-02T03:04:05.678Z'
  const endedAt = '2026-01-02T03:04:07Z'
  const place = { account_id, order_id: DELIVERED, line: 1, unit: 1 }
  const link = await shop.vault.sealForOrder('https://gift.example/one?a=1&b=2', place)
  const bytes = (value: Uint8Array) => `'\\x${Buffer.from(value).toString('hex')}'`
  await shop.database.asOwner(`
    insert into orders (account_id, id, idempotency_key, request_hash, status, total_cents, key_id, created_at, delivered_at,
                        cancelled_at, cancel_reason)
    values ('${account_id}', '${DELIVERED}', 'form-1', 'x', 'delivered', 900, 'test', '${paidAt}', '${endedAt}', null, null),
           ('${account_id}', '${CANCELLED}', 'form-2', 'x', 'cancelled', 900, 'test', '${paidAt}', null, '${endedAt}', 'why');
    insert into order_lines (account_id, order_id, line, item_id, name, qty, unit_price_cents)
    select account_id, id, 1, '100000000000000017', 'Amber "Anchor"', 2, 450 from orders where account_id = '${account_id}';
    insert into link_fingerprints (hash, seen_at) values (${bytes(link.link_hash)}, '${endedAt}');
    insert into order_links (account_id, order_id, line, unit, link_sealed, link_kek_id, link_hash, source, obtained_at)
    values ('${account_id}', '${DELIVERED}', 1, 1, ${bytes(link.link_sealed)}, '${link.link_kek_id}', ${bytes(link.link_hash)},
            'pool', '${endedAt}')`)
})
afterAll(() => shop.close())

test.each<[WebhookEventName, string | null, number | null, string]>([
  [
    'order.accepted',
    DELIVERED,
    null,
    `{"order":{"id":"${DELIVERED}","status":"paid","currency":"USD","total_cents":900,"created_at":"2026-01-02T03:04:05.678Z","delivered_at":null,${LINES},"links":[]}}`,
  ],
  [
    'order.delivered',
    DELIVERED,
    null,
    `{"order":{"id":"${DELIVERED}","status":"delivered","currency":"USD","total_cents":900,"created_at":"2026-01-02T03:04:05.678Z","delivered_at":"2026-01-02T03:04:07.000Z",${LINES},"links":["https://gift.example/one?a=1&b=2"]}}`,
  ],
  [
    'order.cancelled',
    CANCELLED,
    null,
    `{"order":{"id":"${CANCELLED}","status":"cancelled","currency":"USD","total_cents":900,"created_at":"2026-01-02T03:04:05.678Z","delivered_at":null,${LINES},"links":[]}}`,
  ],
  ['catalogue.changed', null, 42, '{"revision":"42","refresh":true}'],
  ['test', null, null, '{"message":"A test. No order was made and nothing was spent."}'],
])('the body of %s has the bytes that it always had', async (type, order_id, revision, data) => {
  const event_created_at = new Date('2026-01-02T03:04:08.009Z')
  const event = { account_id, event_id: EVENT, type, order_id, revision, event_created_at }
  expect(JSON.stringify(await composeEvent(shop.database.worker, shop.vault, event))).toBe(
    `{"id":"${EVENT}","created_at":"2026-01-02T03:04:08.009Z","event":"${type}","data":${data}}`,
  )
})
