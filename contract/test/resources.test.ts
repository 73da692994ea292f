import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  type CartItem,
  type CatalogueQuery,
  type Item,
  type Order,
  type QuoteLine,
  repeatedItemId,
  type SchemaName,
  schemas,
  type WebhookConfiguration,
  type WebhookEvent,
} from '../src/index.ts'
import * as samples from './samples.ts'
import { validator } from './validator.ts'

const names = Object.keys(schemas) as SchemaName[]

test.each(names)('%s compiles under Ajv in strict mode', (name) => {
  expect(() => validator(name)).not.toThrow()
})

test.each(names)('%s is plain JSON: it is unchanged after serialising and parsing', (name) => {
  expect(JSON.parse(JSON.stringify(schemas[name]))).toEqual(schemas[name])
  expect(JSON.stringify(schemas[name])).not.toContain('"format"')
})

test.each(names)('every object in %s is closed', (name) => {
  for (const object of objectsIn(schemas[name])) expect(object).toHaveProperty('additionalProperties', false)
})

describe.each(Object.entries(samples.valid) as [SchemaName, object][])('%s', (name, sample) => {
  const accepts = validator(name)

  test('a full example is accepted', () => {
    expect(accepts(sample), JSON.stringify(accepts.errors)).toBe(true)
  })

  test('an unknown property is refused', () => {
    expect(accepts({ ...sample, surprise: 1 })).toBe(false)
  })

  test('a missing required property is refused, and null instead of it, too', () => {
    const schema = schemas[name] as { required?: string[] }
    for (const property of schema.required ?? []) {
      const { [property as never]: _left, ...rest } = sample
      expect(accepts(rest), property).toBe(false)
    }
  })
})

test('there is an example for every schema', () => {
  expect(Object.keys(samples.valid).sort()).toEqual(names.toSorted())
})

test.each(samples.refused)('$schema refuses $why', ({ schema, value }) => {
  expect(validator(schema)(value)).toBe(false)
})

test.each(samples.accepted)('$schema accepts $why', ({ schema, value }) => {
  const accepts = validator(schema)
  expect(accepts(value), JSON.stringify(accepts.errors)).toBe(true)
})

test('repeatedItemId finds an item that is in the cart twice, whatever the other fields are', () => {
  const [hat, scarf] = ['123456789012345678', '223456789012345678']
  expect(repeatedItemId([{ id: hat }, { id: scarf }])).toBeNull()
  expect(repeatedItemId([{ id: hat }, { id: scarf }, { id: hat }])).toBe(hat)
  expect(repeatedItemId([])).toBeNull()
  expect(repeatedItemId([{ id: '012345678901234567' }, { id: '12345678901234567' }])).toBeNull()
})

test('types follow the schemas', () => {
  expectTypeOf<CartItem>().toEqualTypeOf<{ id: string; qty?: number; expected_price_cents?: number }>()
  expectTypeOf<Item['type']>().toEqualTypeOf<'decoration' | 'effect' | 'nameplate' | 'frame' | 'bundle'>()
  expectTypeOf<Item['image']>().toEqualTypeOf<string | null>()
  expectTypeOf<Item['stock']>().toEqualTypeOf<null>()
  expectTypeOf<Order['status']>().toEqualTypeOf<'paid' | 'delivered' | 'cancelled'>()
  expectTypeOf<QuoteLine['name']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<CatalogueQuery['limit']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<WebhookConfiguration['secret']>().toEqualTypeOf<string | undefined>()
})

test("an event's type follows from its name", () => {
  const read = (event: WebhookEvent): string => {
    if (event.event === 'test') return event.data.message
    if (event.event === 'catalogue.changed') return event.data.revision
    return event.data.order.id
  }
  expect(read(samples.valid.TestEvent)).toBe(samples.valid.TestEvent.data.message)
  expect(read(samples.valid.CatalogueChangedEvent)).toBe(samples.valid.CatalogueChangedEvent.data.revision)
  expect(read(samples.valid.OrderDeliveredEvent)).toBe(samples.valid.Order.id)
})

function objectsIn(schema: unknown): object[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = 'type' in schema && schema.type === 'object' ? [schema] : []
  return [...own, ...Object.values(schema).flatMap(objectsIn)]
}
