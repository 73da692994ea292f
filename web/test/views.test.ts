import { SELECTED_MAX, viewFilters } from '@shopwire/contract/dashboard'
import { expect, test } from 'vitest'
import { filtersIn, queryOf } from '#apps/dashboard/lists/view-filters.ts'
import { AUDIT_FILTERS } from '#apps/dashboard/screens/audit/audit-row.ts'
import { STATEMENT_VIEW } from '#apps/dashboard/screens/balance/statement-filters.ts'
import { DELIVERY_FILTERS } from '#apps/dashboard/screens/deliveries/delivery-query.ts'
import { ORDER_FILTERS } from '#apps/dashboard/screens/orders/order-query.ts'
import { deliveries } from '#apps/dashboard/strings/deliveries.ts'
import { orders } from '#apps/dashboard/strings/orders.ts'
import { between, SELECTED_MAX as shownMax } from '#kit/components/lists/selection.tsx'

test('the filters of each list are those that the service takes in a view of it', () => {
  const names = {
    orders: ORDER_FILTERS,
    deliveries: DELIVERY_FILTERS,
    statement: STATEMENT_VIEW,
    audit: AUDIT_FILTERS,
  }
  for (const [list, filters] of Object.entries(viewFilters))
    expect([list, [...names[list as keyof typeof names]].sort()]).toEqual([
      list,
      Object.keys(filters.properties).sort(),
    ])
})

test('the periods that people choose from are those that a view may have', () => {
  const valuesOf = (choices: readonly (readonly [string, string])[]) => choices.map(([value]) => value)
  const { created } = viewFilters.orders.properties
  const { hours } = viewFilters.deliveries.properties
  expect(created).toMatchObject({ enum: valuesOf(orders.filters.ranges) })
  expect(hours).toMatchObject({ enum: valuesOf(deliveries.filters.times) })
})

test('a view is the filters alone, whatever their order, without page and open row', () => {
  const url = { open: 'ord_1', before: 'ord_2', min: '500', status: 'paid', q: undefined }
  expect(queryOf(url, ORDER_FILTERS)).toBe('status=paid&min=500')
  expect(queryOf({ status: 'paid', min: '500' }, ORDER_FILTERS)).toBe(queryOf(url, ORDER_FILTERS))
  expect(queryOf({ open: 'ord_1' }, ORDER_FILTERS)).toBe('')
})

test('applying a view sets every filter of the list and nothing else', () => {
  expect(filtersIn('action=key&target=a%26b&open=x&href=//evil.example', AUDIT_FILTERS)).toEqual({
    person_id: undefined,
    action: 'key',
    target: 'a&b',
  })
})

test('with Shift the rows between the last one and this one are meant, in either direction', () => {
  const rows = ['a', 'b', 'c', 'd']
  expect(between(rows, 'b', 'd')).toEqual(['b', 'c', 'd'])
  expect(between(rows, 'd', 'b')).toEqual(['b', 'c', 'd'])
  expect(between(rows, undefined, 'c')).toEqual(['c'])
  expect(between(rows, 'on another page', 'c')).toEqual(['c'])
})

test('as many rows can be selected as one request takes', () => {
  expect(shownMax).toBe(SELECTED_MAX)
})
