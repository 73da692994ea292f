import type { errorTypes } from './contract.ts'
import { recogniseCopies } from './copies.ts'
import type { Order } from './types.ts'

export type ErrorType = keyof typeof errorTypes

/** The error types that come with a status. */
type TypesOf<Status extends number> = {
  [Type in ErrorType]: (typeof errorTypes)[Type]['status'] extends Status ? Type : never
}[ErrorType]

/** Any failure between this client and the store. Wrong arguments are TypeErrors instead. */
export class ShopwireError extends Error {
  override name = 'ShopwireError'
  /** How many times the request was sent; 0 when the call ended before that. */
  attempts = 1
  /** The X-Request-Id of the last answer, if there was one: quote it when you contact the store. */
  requestId: string | undefined
  /**
   * True when an order may have been bought despite the error: an answer was lost or not waited for, or the service could not say. Send
   * the same cart under the same idempotency key again: this returns the order or places it, and never buys twice.
   * Always true for what `orders.wait` fails with: the order it waits for stays bought.
   */
  isOutcomeUnknown = false
}

/** An error answer of the service. Each status has its own class; `type` distinguishes the cases of one status. */
export class ApiError extends ShopwireError {
  override name = 'ApiError'
  readonly status: number
  readonly type: ErrorType
  readonly headers: Headers
  /** The documentation page of this type. It exists only at stores that serve their documentation. */
  readonly docUrl: string
  /** Seconds to wait before the next request, when the answer said so. */
  readonly retryAfter: number | undefined

  constructor(message: string, { status, type, headers, docUrl }: ApiErrorFacts) {
    super(message)
    this.status = status
    this.type = type as ErrorType
    this.headers = headers
    this.docUrl = docUrl
    this.requestId = headers.get('x-request-id') ?? undefined
    this.retryAfter = retryAfterOf(headers)
  }
}

/** 400 and 405: the request breaks a rule; sending it again does not help. */
export class InvalidRequestError extends ApiError {
  override name = 'InvalidRequestError'
  declare readonly type: TypesOf<400 | 405>
}

/** 401: key, signature, clock or nonce. */
export class AuthenticationError extends ApiError {
  override name = 'AuthenticationError'
  declare readonly type: TypesOf<401>
}

/** 402: nothing was bought, and the idempotency key is still free. */
export class InsufficientFundsError extends ApiError {
  override name = 'InsufficientFundsError'
  declare readonly type: TypesOf<402>
}

/** 403: the key lacks a scope, or the account is suspended. */
export class PermissionError extends ApiError {
  override name = 'PermissionError'
  declare readonly type: TypesOf<403>
}

/** 404 */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
  declare readonly type: TypesOf<404>
}

/** 408: the request did not arrive in time. */
export class RequestTimeoutError extends ApiError {
  override name = 'RequestTimeoutError'
  declare readonly type: TypesOf<408>
}

/** 409: check `type`. */
export class ConflictError extends ApiError {
  override name = 'ConflictError'
  declare readonly type: TypesOf<409>
}

/** 413 */
export class TooLargeError extends ApiError {
  override name = 'TooLargeError'
  declare readonly type: TypesOf<413>
}

/** 429: `retryAfter` says how many seconds to wait. */
export class RateLimitError extends ApiError {
  override name = 'RateLimitError'
  declare readonly type: TypesOf<429>
}

/** 500 */
export class ServerError extends ApiError {
  override name = 'ServerError'
  declare readonly type: TypesOf<500>
}

/** 503: the store is closed, or the service cannot answer now. */
export class StoreUnavailableError extends ApiError {
  override name = 'StoreUnavailableError'
  declare readonly type: TypesOf<503>
}

/** No answer, or only a part of one. `cause` is the error of fetch. */
export class ConnectionError extends ShopwireError {
  override name = 'ConnectionError'
}

/** The call's own signal was aborted; `cause` is its reason. Check `isOutcomeUnknown`: an order may be bought all the same. */
export class AbortedError extends ShopwireError {
  override name = 'AbortedError'
}

/** No full answer within `timeout`, or none in all attempts together within `within`. */
export class TimeoutError extends ConnectionError {
  override name = 'TimeoutError'
}

/** An answer that is not the service's: a proxy's page, a redirect, a body cut short. */
export class UnexpectedResponseError extends ShopwireError {
  override name = 'UnexpectedResponseError'
  readonly status: number
  readonly headers: Headers

  constructor(message: string, { status, headers }: { status: number; headers: Headers }) {
    super(message)
    this.status = status
    this.headers = headers
    this.requestId = headers.get('x-request-id') ?? undefined
  }
}

/**
 * `orders.wait` ran out of time before the order was final. The order is bought and the store continues to deliver it; a
 * webhook event reports the result.
 */
export class OrderPendingError extends ShopwireError {
  override name = 'OrderPendingError'
  override isOutcomeUnknown = true
  /** As it was last read. */
  readonly order: Order

  constructor(order: Order, waitedMs: number) {
    super(
      `${order.id} is bought and paid, and not delivered after ${waitedMs / 1000} s. Do not buy it again: a webhook event reports when it is delivered or refunded, and orders.get and orders.wait can read it at any time.`,
    )
    this.order = order
  }
}

recogniseCopies({
  ShopwireError,
  ApiError,
  InvalidRequestError,
  AuthenticationError,
  InsufficientFundsError,
  PermissionError,
  NotFoundError,
  RequestTimeoutError,
  ConflictError,
  TooLargeError,
  RateLimitError,
  ServerError,
  StoreUnavailableError,
  ConnectionError,
  AbortedError,
  TimeoutError,
  UnexpectedResponseError,
  OrderPendingError,
})

export interface ApiErrorFacts {
  readonly status: number
  readonly type: string
  readonly headers: Headers
  readonly docUrl: string
}

const classes: Readonly<Record<number, new (message: string, facts: ApiErrorFacts) => ApiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  402: InsufficientFundsError,
  403: PermissionError,
  404: NotFoundError,
  405: InvalidRequestError,
  408: RequestTimeoutError,
  409: ConflictError,
  413: TooLargeError,
  429: RateLimitError,
  500: ServerError,
  503: StoreUnavailableError,
}

export function apiError(message: string, facts: ApiErrorFacts): ApiError {
  return new (classes[facts.status] ?? ApiError)(message, facts)
}

/** Whole seconds, the only form the service sends. A date is ignored: it would depend on two clocks. */
export function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined
}
