import type * as Contract from '@shopwire/contract'
import { schemas } from '@shopwire/contract'
import { expect, test } from 'vitest'
import type * as Sdk from '../src/index.ts'

// The published types are generated from the OpenAPI document; here they are compared with the types inferred from the schemas.
type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : never) : never

/** Removes the explicit `undefined` of optional properties. */
type Plain<T> = T extends readonly (infer Element)[]
  ? Plain<Element>[]
  : T extends object
    ? { [Name in keyof T]: Plain<Exclude<T[Name], undefined>> }
    : T

const compared = {
  Balance: true satisfies Same<Sdk.Balance, Contract.Balance>,
  CartItem: true satisfies Same<Sdk.CartItem, Contract.CartItem>,
  CatalogueChangedEvent: true satisfies Same<Sdk.CatalogueChangedEvent, Contract.CatalogueChangedEvent>,
  CataloguePage: true satisfies Same<Sdk.CataloguePage, Contract.CataloguePage>,
  CatalogueQuery: true satisfies Same<Sdk.CatalogueQuery, Contract.CatalogueQuery>,
  Item: true satisfies Same<Sdk.Item, Contract.Item>,
  Order: true satisfies Same<Sdk.Order, Contract.Order>,
  OrderAcceptedEvent: true satisfies Same<Sdk.OrderAcceptedEvent, Contract.OrderAcceptedEvent>,
  OrderCancelledEvent: true satisfies Same<Sdk.OrderCancelledEvent, Contract.OrderCancelledEvent>,
  OrderDeliveredEvent: true satisfies Same<Sdk.OrderDeliveredEvent, Contract.OrderDeliveredEvent>,
  OrderLine: true satisfies Same<Sdk.OrderLine, Contract.OrderLine>,
  OrderSummary: true satisfies Same<Sdk.OrderSummary, Contract.OrderSummary>,
  OrdersPage: true satisfies Same<Sdk.OrdersPage, Contract.OrdersPage>,
  OrdersQuery: true satisfies Same<Sdk.OrdersQuery, Contract.OrdersQuery>,
  PingResult: true satisfies Same<Sdk.PingResult, Contract.PingResult>,
  Quote: true satisfies Same<Sdk.Quote, Contract.Quote>,
  QuoteLine: true satisfies Same<Sdk.QuoteLine, Contract.QuoteLine>,
  ServiceStatus: true satisfies Same<Sdk.ServiceStatus, Contract.ServiceStatus>,
  TestEvent: true satisfies Same<Sdk.TestEvent, Contract.TestEvent>,
  WebhookConfiguration: true satisfies Same<Sdk.WebhookConfiguration, Contract.WebhookConfiguration>,
  WebhookEvent: true satisfies Same<Sdk.WebhookEvent, Contract.WebhookEvent>,
  WebhookHealth: true satisfies Same<Sdk.WebhookHealth, Contract.WebhookHealth>,
  WebhookTestResult: true satisfies Same<Sdk.WebhookTestResult, Contract.WebhookTestResult>,
} as const

test('every published type of an answer or event equals the type in the contract', () => {
  const requests = ['ErrorBody', 'OrderRequest', 'QuoteRequest', 'WebhookRequest', 'WebhookTestRequest']
  expect(Object.keys(compared).sort()).toEqual(
    Object.keys(schemas)
      .filter((name) => !requests.includes(name))
      .sort(),
  )
})

test('the `type` of an error class is limited to its error types', () => {
  const types: Sdk.ConflictError['type'][] = ['price_changed', 'item_unavailable', 'idempotency_conflict']
  // @ts-expect-error a rate limit is no conflict
  types.push('rate_limited')
  expect(types).toHaveLength(4)
})
