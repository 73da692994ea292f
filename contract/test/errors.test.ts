import { expect, test } from 'vitest'
import { type ErrorType, errorTypes, type Retry } from '../src/errors.ts'
import { type Route, routes, unroutedErrors } from '../src/routes.ts'
import { validator } from './validator.ts'

const byStatus: Record<number, ErrorType[]> = {
  400: ['invalid_request', 'order_total_exceeded', 'webhook_url_not_allowed'],
  401: ['authentication_failed', 'timestamp_out_of_range', 'nonce_reused'],
  402: ['insufficient_funds'],
  403: ['insufficient_scope', 'account_suspended'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  408: ['request_timeout'],
  409: ['price_changed', 'item_unavailable', 'idempotency_conflict', 'webhook_not_configured'],
  413: ['payload_too_large'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['store_closed', 'service_unavailable'],
}

test('the error types are the agreed ones, each under its status', () => {
  const found: Record<number, string[]> = {}
  for (const [type, { status }] of Object.entries(errorTypes)) {
    found[status] ??= []
    found[status].push(type)
  }
  expect(found).toEqual(byStatus)
})

test('retry rules follow the interface: 408 with a new signature, 429 and 503 after a wait, 402 after funding', () => {
  const retry = (type: ErrorType): Retry => errorTypes[type].retry
  expect(retry('request_timeout')).toBe('fresh_signature')
  expect(retry('timestamp_out_of_range')).toBe('fresh_signature')
  expect(retry('nonce_reused')).toBe('fresh_signature')
  expect(retry('rate_limited')).toBe('after_wait')
  expect(retry('store_closed')).toBe('after_wait')
  expect(retry('service_unavailable')).toBe('after_wait')
  expect(retry('insufficient_funds')).toBe('after_change')
  expect(retry('idempotency_conflict')).toBe('no')
})

test('every error type is listed by a route or for requests that match no route', () => {
  const met = new Set<ErrorType>([
    ...(routes as readonly Route[]).flatMap((route) => route.errors),
    ...unroutedErrors,
  ])
  expect([...met].sort()).toEqual(Object.keys(errorTypes).sort())
})

test('the table is frozen', () => {
  expect(Object.isFrozen(errorTypes)).toBe(true)
  expect(Object.values(errorTypes).every((facts) => Object.isFrozen(facts))).toBe(true)
})

test('an error body has a known type, a message, and nothing else', () => {
  const isErrorBody = validator('ErrorBody')
  const error = { type: 'insufficient_funds', message: 'The balance does not cover this order.' }
  expect(isErrorBody({ error })).toBe(true)
  expect(isErrorBody({ error: { ...error, type: 'something_else' } })).toBe(false)
  expect(isErrorBody({ error: { ...error, message: '' } })).toBe(false)
  expect(isErrorBody({ error: { ...error, details: [] } })).toBe(false)
  expect(isErrorBody({ error, request_id: 'r' })).toBe(false)
  expect(isErrorBody({ error: { type: error.type } })).toBe(false)
})
