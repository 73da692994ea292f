import { expect, expectTypeOf, test } from 'vitest'
import {
  BASE_PATH,
  type CatalogueQuery,
  errorTypes,
  type Order,
  type OrderRequest,
  type Route,
  type RouteBody,
  type RouteName,
  type RouteQuery,
  type RouteReply,
  routeNamed,
  routes,
  scopeForBody,
  scopes,
  type WebhookRequest,
} from '../src/index.ts'

const all: readonly Route[] = routes

/** The interface's table, row by row: method, path, scope, success statuses. */
const published = [
  ['GET', '/status', null, [200]],
  ['GET', '/ping', 'account:read', [200]],
  ['GET', '/balance', 'account:read', [200]],
  ['GET', '/catalogue', 'catalogue:read', [200]],
  ['GET', '/catalogue/{id}', 'catalogue:read', [200]],
  ['POST', '/quote', 'catalogue:read', [200]],
  ['POST', '/orders', 'orders:write', [200, 201]],
  ['GET', '/orders', 'orders:read', [200]],
  ['GET', '/orders/{id}', 'orders:read', [200]],
  ['GET', '/webhook', 'webhooks:read', [200]],
  ['POST', '/webhook', 'webhooks:write', [200]],
  ['DELETE', '/webhook', 'webhooks:write', [200]],
  ['POST', '/webhook/test', 'webhooks:write', [200]],
]

test('there are thirteen routes, and they are the published ones', () => {
  const successes = (route: Route) =>
    Object.keys(route.responses)
      .map(Number)
      .filter((status) => status < 300)
  expect(all.map((route) => [route.method, route.path, route.scope, successes(route)])).toEqual(published)
  expect(all).toHaveLength(13)
})

test('every path is under /v1', () => {
  expect(BASE_PATH).toBe('/v1')
})

test('route names are distinct', () => {
  expect(new Set(all.map((route) => route.name)).size).toBe(13)
})

test('every scope is used by at least one route', () => {
  expect(new Set(all.map((route) => route.scope).filter((scope) => scope !== null))).toEqual(new Set(scopes))
})

test('only the public status is outside the rate limits, and only order creation counts as an order attempt', () => {
  for (const route of all) {
    const bucket = route.name === 'getStatus' ? null : route.name === 'postOrders' ? 'orders' : 'req'
    expect(route.bucket, route.name).toBe(bucket)
  }
})

test('every POST takes a body, and nothing else does', () => {
  for (const route of all) expect(route.body !== undefined, route.name).toBe(route.method === 'POST')
})

test('only the two lists take a query', () => {
  expect(all.filter((route) => route.query).map((route) => route.name)).toEqual(['getCatalogue', 'getOrders'])
})

test('only catalogue reads answer 304, without a body', () => {
  const unchanged = all.filter((route) => 304 in route.responses)
  expect(unchanged.map((route) => route.name)).toEqual(['getCatalogue', 'getCatalogueItem'])
  for (const route of unchanged) expect(route.responses[304]).toBeNull()
})

test('no route lists an error twice or one that does not exist', () => {
  for (const route of all) {
    expect(new Set(route.errors).size, route.name).toBe(route.errors.length)
    for (const type of route.errors) expect(errorTypes, route.name).toHaveProperty(type)
  }
})

test('a signed route can refuse a signature, and the public one cannot', () => {
  for (const route of all) {
    expect(route.errors.includes('authentication_failed'), route.name).toBe(route.scope !== null)
  }
})

test('setting a webhook URL also needs orders:read; clearing it does not', () => {
  const route = routeNamed('postWebhook')
  expect(scopeForBody(route, { url: 'https://shop.example/hook' })).toBe('orders:read')
  expect(scopeForBody(route, { url: null })).toBeNull()
})

test('no other route asks for a second scope, whatever its body holds', () => {
  for (const route of all.filter((one) => one.name !== 'postWebhook')) {
    expect(scopeForBody(route, { url: 'https://shop.example/hook' }), route.name).toBeNull()
  }
})

test('a body that is not an object asks for no scope and does not throw', () => {
  for (const body of [undefined, null, 'url', 1, [], {}, { url: 1 }]) {
    expect(scopeForBody(routeNamed('postWebhook'), body)).toBeNull()
  }
})

test('a route is found by its name', () => {
  for (const { name } of routes) expect(routeNamed(name).name).toBe(name)
  expect(() => routeNamed('getNothing' as RouteName)).toThrow('getNothing')
})

test('body, query and reply types follow from the route name', () => {
  expectTypeOf<RouteBody<'postOrders'>>().toEqualTypeOf<OrderRequest>()
  expectTypeOf<RouteBody<'postWebhook'>>().toEqualTypeOf<WebhookRequest>()
  expectTypeOf<RouteBody<'getPing'>>().toEqualTypeOf<undefined>()
  expectTypeOf<RouteQuery<'getCatalogue'>>().toEqualTypeOf<CatalogueQuery>()
  expectTypeOf<RouteQuery<'postOrders'>>().toEqualTypeOf<undefined>()
  expectTypeOf<RouteReply<'postOrders'>>().toEqualTypeOf<Order>()
})
