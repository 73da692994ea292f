import { OrderRequest } from '@shopwire/contract'
import { expect, test } from 'vitest'
import { IDEMPOTENCY_KEY_FORM, parseCart, writeItem } from '../src/orders/cart.ts'
import { override, simulatedEvent } from '../src/webhooks/simulated-event.ts'

test('parses ID[:QTY[@CENTS]] and formats it back unchanged', () => {
  expect(
    parseCart(['11111111111111111', '22222222222222222:3', '33333333333333333:2@499', '44444444444444444@5']),
  ).toEqual([
    { id: '11111111111111111', qty: 1 },
    { id: '22222222222222222', qty: 3 },
    { id: '33333333333333333', qty: 2, expected_price_cents: 499 },
    { id: '44444444444444444', qty: 1, expected_price_cents: 5 },
  ])
  const [item] = parseCart(['33333333333333333:2@499'])
  expect(item && writeItem(item)).toBe('33333333333333333:2@499')
})

test.each([
  '123',
  '11111111111111111:',
  '11111111111111111:x',
  '11111111111111111:1@4.99',
  '11111111111111111:-1',
  ' 11111111111111111',
])('refuses %j as an item', (text) => {
  expect(() => parseCart([text])).toThrow(/is not an item/)
})

test('refuses the same item twice', () => {
  expect(() => parseCart(['11111111111111111:1', '11111111111111111:2'])).toThrow(/twice/)
})

test("accepts exactly the idempotency keys that the store's pattern accepts", () => {
  const form = OrderRequest.properties.idempotency_key as unknown as Record<string, unknown>
  const [minLength, maxLength] = [Number(form.minLength), Number(form.maxLength)]
  expect(form.pattern).toBe('^[A-Za-z0-9._:-]+$')
  for (const key of ['a'.repeat(minLength), 'a'.repeat(maxLength), 'A1._:-xy'])
    expect(IDEMPOTENCY_KEY_FORM.test(key)).toBe(true)
  for (const key of ['a'.repeat(minLength - 1), 'a'.repeat(maxLength + 1), 'with space', 'ümlaut-1']) {
    expect(IDEMPOTENCY_KEY_FORM.test(key)).toBe(false)
  }
})

test('an override changes only the field it names', () => {
  const event = simulatedEvent('order.delivered')
  override(event, 'data.order.links.0=https://gift.example/x')
  override(event, 'data.order.lines.0.qty=3')
  override(event, 'data.extra={"a":1}')
  expect(event.data).toMatchObject({
    order: { links: ['https://gift.example/x'], lines: [{ qty: 3 }] },
    extra: { a: 1 },
  })
  for (const bad of ['nope=1', 'data.nope.x=1', 'data', 'data.__proto__.x=1', 'data.__proto__=1']) {
    expect(() => override(event, bad)).toThrow()
  }
  expect(({} as { x?: number }).x).toBeUndefined()
})
