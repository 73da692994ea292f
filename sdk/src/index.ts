export type { Call, RateLimit, RateLimits, WithResponse } from './call.ts'
export { Shopwire } from './client.ts'
export {
  AbortedError,
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type ErrorType,
  InsufficientFundsError,
  InvalidRequestError,
  NotFoundError,
  OrderPendingError,
  PermissionError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  ShopwireError,
  StoreUnavailableError,
  TimeoutError,
  TooLargeError,
  UnexpectedResponseError,
} from './errors.ts'
export type { CatalogueSnapshot, SnapshotQuery } from './resources/catalogue.ts'
export type { FinalOrder, NewOrder, PlacedOrder, WaitOptions } from './resources/orders.ts'
export type { CallOptions, ShopwireOptions } from './settings.ts'
export { canonicalRequest, type RequestToSign, signRequest } from './signing.ts'
export type * from './types.ts'
export * as webhooks from './webhooks/index.ts'
export { WebhookVerificationError } from './webhooks/verify.ts'
