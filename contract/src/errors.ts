import Type, { type Static } from 'typebox'
import { closed } from './shapes.ts'

/**
 * May the same request be sent again? "The same" means the same method, target and body under a new timestamp and
 * nonce; for an order it includes the idempotency key and the cart, so a retry never buys twice.
 *
 * - `no`: this request stays wrong however often it is sent. The caller needs another one.
 * - `after_change`: the request is sound, but something outside it must change first: the balance, the key or the
 *   way it signs, its scopes, the state of the account, the stock, the webhook endpoint.
 * - `after_wait`: nothing needs to change. Wait as long as Retry-After says, or back off when it is absent.
 * - `fresh_signature`: send it at once, signed anew. Only the timestamp or nonce was wrong.
 */
export type Retry = 'no' | 'after_change' | 'after_wait' | 'fresh_signature'

/** Every `error.type` the service can answer with. A type belongs to one status for ever. */
export const errorTypes = freeze({
  invalid_request: {
    status: 400,
    retry: 'no',
    meaning: 'The request is malformed, or a field or parameter breaks its rule.',
  },
  order_total_exceeded: {
    status: 400,
    retry: 'no',
    meaning: 'The cart costs more than one order may.',
  },
  webhook_url_not_allowed: {
    status: 400,
    retry: 'no',
    meaning: 'The webhook URL is not a public HTTPS address we deliver to.',
  },
  // One type and text for an unknown or revoked key and for a wrong signature: different answers would reveal which key ids exist.
  authentication_failed: {
    status: 401,
    retry: 'after_change',
    meaning: 'The request does not prove that it comes from a live API key.',
  },
  timestamp_out_of_range: {
    status: 401,
    retry: 'fresh_signature',
    meaning: 'The timestamp is too far from our clock.',
  },
  nonce_reused: {
    status: 401,
    retry: 'fresh_signature',
    meaning: 'The signature holds, but its nonce was spent before.',
  },
  insufficient_funds: {
    status: 402,
    retry: 'after_change',
    meaning: 'The balance does not cover the order. Nothing was bought; the idempotency key is still free.',
  },
  insufficient_scope: {
    status: 403,
    retry: 'after_change',
    meaning: 'The key lacks a scope this request needs.',
  },
  account_suspended: {
    status: 403,
    retry: 'after_change',
    meaning: 'The account is suspended.',
  },
  // Another account's order answers the same way, so that nobody can find out whether an id exists.
  not_found: {
    status: 404,
    retry: 'no',
    meaning: 'There is no such path, item or order for this account.',
  },
  method_not_allowed: {
    status: 405,
    retry: 'no',
    meaning: 'The path exists, but not for this method.',
  },
  request_timeout: {
    status: 408,
    retry: 'fresh_signature',
    meaning: 'The body did not arrive in time. The nonce was not spent, but the timestamp has aged.',
  },
  price_changed: {
    status: 409,
    retry: 'no',
    meaning:
      'A price differs from the one the cart expects. Send the cart with the price the customer accepts.',
  },
  item_unavailable: {
    status: 409,
    retry: 'after_change',
    meaning: 'An item in the cart cannot be bought now. Nothing was bought.',
  },
  idempotency_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'The idempotency key already belongs to an order with another cart.',
  },
  webhook_not_configured: {
    status: 409,
    retry: 'after_change',
    meaning: 'There is no webhook endpoint to send to.',
  },
  payload_too_large: {
    status: 413,
    retry: 'no',
    meaning: 'The body is too large.',
  },
  rate_limited: {
    status: 429,
    retry: 'after_wait',
    meaning: 'Too many requests in the window. Retry-After says when the next one will be let in.',
  },
  // Retrying is safe even for an order: an unknown outcome is reported as service_unavailable, never as this type.
  internal_error: {
    status: 500,
    retry: 'after_wait',
    meaning: 'Something broke on our side.',
  },
  store_closed: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The store takes no new orders for now. Ask /status before trying again.',
  },
  service_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'We have too much to do, could not finish, or cannot tell whether we did. The same idempotency key finds out safely.',
  },
} as const satisfies Record<string, ErrorFacts>)

export type ErrorFacts = { readonly status: number; readonly retry: Retry; readonly meaning: string }

export type ErrorType = keyof typeof errorTypes

export const ErrorBody = closed({
  error: closed({
    type: Type.Enum(Object.keys(errorTypes) as ErrorType[], { type: 'string' }),
    message: Type.String({ minLength: 1 }),
  }),
})
export type ErrorBody = Static<typeof ErrorBody>

function freeze<Table extends Record<string, ErrorFacts>>(table: Table): Readonly<Table> {
  for (const facts of Object.values(table)) Object.freeze(facts)
  return Object.freeze(table)
}
