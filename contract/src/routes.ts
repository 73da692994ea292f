import type { Static, TSchema } from 'typebox'
import { Balance, PingResult } from './account.ts'
import { CataloguePage, CatalogueQuery, Item } from './catalogue.ts'
import type { ErrorType } from './errors.ts'
import { Order, OrderRequest, OrdersPage, OrdersQuery } from './order.ts'
import { Quote, QuoteRequest } from './quote.ts'
import type { Scope } from './scopes.ts'
import { ServiceStatus } from './service-status.ts'
import {
  WebhookConfiguration,
  WebhookHealth,
  WebhookRequest,
  WebhookTestRequest,
  WebhookTestResult,
} from './webhook.ts'

/** The prefix of every path below. It is part of the signed target. */
export const BASE_PATH = '/v1'

export type Route = {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Relative to BASE_PATH; `{id}` stands for one raw segment, never decoded. */
  readonly path: string
  /** Null: public, and signature headers are not looked at. */
  readonly scope: Scope | null
  /** Needed on top of `scope` when the body names a URL: that URL will receive orders and gift links. */
  readonly scopeWhenUrl?: Scope
  /** `orders` is counted in `req` as well. Null: not counted per account. */
  readonly bucket: 'req' | 'orders' | null
  readonly query?: TSchema
  readonly body?: TSchema
  /** Null: an answer without a body. */
  readonly responses: Readonly<Record<number, TSchema | null>>
  readonly errors: readonly ErrorType[]
}

/** Errors that any request can get before it is authenticated. */
const unsigned = ['invalid_request', 'request_timeout', 'payload_too_large', 'internal_error'] as const

const signed = [
  ...unsigned,
  'rate_limited',
  'authentication_failed',
  'timestamp_out_of_range',
  'nonce_reused',
  'insufficient_scope',
  'account_suspended',
  'service_unavailable',
] as const

/** Errors of requests that match no route. */
export const unroutedErrors = ['not_found', 'method_not_allowed'] as const satisfies readonly ErrorType[]

export const routes = [
  {
    name: 'getStatus',
    method: 'GET',
    path: '/status',
    scope: null,
    bucket: null,
    responses: { 200: ServiceStatus },
    errors: unsigned,
  },
  {
    name: 'getPing',
    method: 'GET',
    path: '/ping',
    scope: 'account:read',
    bucket: 'req',
    responses: { 200: PingResult },
    errors: signed,
  },
  {
    name: 'getBalance',
    method: 'GET',
    path: '/balance',
    scope: 'account:read',
    bucket: 'req',
    responses: { 200: Balance },
    errors: signed,
  },
  {
    name: 'getCatalogue',
    method: 'GET',
    path: '/catalogue',
    scope: 'catalogue:read',
    bucket: 'req',
    query: CatalogueQuery,
    // 304 answers an If-None-Match that names the current revision.
    responses: { 200: CataloguePage, 304: null },
    errors: signed,
  },
  {
    name: 'getCatalogueItem',
    method: 'GET',
    path: '/catalogue/{id}',
    scope: 'catalogue:read',
    bucket: 'req',
    responses: { 200: Item, 304: null },
    errors: [...signed, 'not_found'],
  },
  {
    name: 'postQuote',
    method: 'POST',
    path: '/quote',
    scope: 'catalogue:read',
    bucket: 'req',
    body: QuoteRequest,
    responses: { 200: Quote },
    errors: [...signed, 'order_total_exceeded'],
  },
  {
    name: 'postOrders',
    method: 'POST',
    path: '/orders',
    scope: 'orders:write',
    bucket: 'orders',
    body: OrderRequest,
    // 201 bought; 200 is the order this key bought earlier.
    responses: { 200: Order, 201: Order },
    errors: [
      ...signed,
      'order_total_exceeded',
      'insufficient_funds',
      'price_changed',
      'item_unavailable',
      'idempotency_conflict',
      'store_closed',
    ],
  },
  {
    name: 'getOrders',
    method: 'GET',
    path: '/orders',
    scope: 'orders:read',
    bucket: 'req',
    query: OrdersQuery,
    responses: { 200: OrdersPage },
    errors: signed,
  },
  {
    name: 'getOrder',
    method: 'GET',
    path: '/orders/{id}',
    scope: 'orders:read',
    bucket: 'req',
    responses: { 200: Order },
    errors: [...signed, 'not_found'],
  },
  {
    name: 'getWebhook',
    method: 'GET',
    path: '/webhook',
    scope: 'webhooks:read',
    bucket: 'req',
    responses: { 200: WebhookHealth },
    errors: signed,
  },
  {
    name: 'postWebhook',
    method: 'POST',
    path: '/webhook',
    scope: 'webhooks:write',
    scopeWhenUrl: 'orders:read',
    bucket: 'req',
    body: WebhookRequest,
    responses: { 200: WebhookConfiguration },
    errors: [...signed, 'webhook_url_not_allowed'],
  },
  {
    name: 'deleteWebhook',
    method: 'DELETE',
    path: '/webhook',
    scope: 'webhooks:write',
    bucket: 'req',
    responses: { 200: WebhookHealth },
    errors: signed,
  },
  {
    name: 'postWebhookTest',
    method: 'POST',
    path: '/webhook/test',
    scope: 'webhooks:write',
    bucket: 'req',
    body: WebhookTestRequest,
    responses: { 200: WebhookTestResult },
    errors: [...signed, 'webhook_not_configured'],
  },
] as const satisfies readonly Route[]

export type RouteName = (typeof routes)[number]['name']

export type RouteNamed<Name extends RouteName> = Extract<(typeof routes)[number], { readonly name: Name }>

/** The body's type, or undefined for a route that takes none. */
export type RouteBody<Name extends RouteName> =
  RouteNamed<Name> extends { readonly body: infer Body extends TSchema } ? Static<Body> : undefined

export type RouteQuery<Name extends RouteName> =
  RouteNamed<Name> extends { readonly query: infer Query extends TSchema } ? Static<Query> : undefined

/** What a success carries, over all success statuses; null where a status has no body. */
export type RouteReply<Name extends RouteName> = Reply<
  RouteNamed<Name>['responses'][keyof RouteNamed<Name>['responses']]
>

// TSchema is an empty interface, so null must be excluded first, or it would be taken for a schema.
type Reply<Response> = Response extends null ? null : Response extends TSchema ? Static<Response> : never

export function routeNamed<Name extends RouteName>(name: Name): RouteNamed<Name> {
  const found = routes.find((route) => route.name === name)
  if (!found) throw new Error(`No route is named ${name}.`)
  return found as RouteNamed<Name>
}

/**
 * Public routes also answer HEAD, which uptime monitors use: the headers of GET without its body. Signed routes do
 * not, because the signature covers the method.
 */
export function offersHead({ method, scope }: Route): boolean {
  return method === 'GET' && scope === null
}

/** The scope a validated body asks for beyond the route's own, or null. */
export function scopeForBody(route: Route, body: unknown): Scope | null {
  if (route.scopeWhenUrl === undefined) return null
  const namesUrl = typeof body === 'object' && body !== null && 'url' in body && typeof body.url === 'string'
  return namesUrl ? route.scopeWhenUrl : null
}
