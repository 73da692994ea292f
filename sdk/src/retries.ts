import { errorTypes, orderVerdicts } from './contract.ts'
import {
  ApiError,
  ConnectionError,
  type ErrorType,
  retryAfterOf,
  type ShopwireError,
  UnexpectedResponseError,
} from './errors.ts'

const BACKOFF_MS_FIRST = 500
const BACKOFF_MS_MAX = 8_000
/** The length of the rate-limit window. When a longer wait is required, the error is thrown instead. */
const WAIT_MS_MAX = 60_000

/** How long to wait before the same request is sent again; undefined when it must not be. */
export function waitBeforeRetryMs(error: ShopwireError, attempts: number): number | undefined {
  if (error instanceof ApiError) {
    const { retry } = factsOf(error)
    if (retry === 'fresh_signature') return attempts === 1 ? 0 : backoffMs(attempts)
    return retry === 'after_wait' ? statedWaitMs(error.headers, attempts) : undefined
  }
  if (error instanceof UnexpectedResponseError) {
    return isPassing(error.status) ? statedWaitMs(error.headers, attempts) : undefined
  }
  return error instanceof ConnectionError ? backoffMs(attempts) : undefined
}

/** Whether the service may have executed the request despite this error. */
export function isAnswerLost(error: ShopwireError): boolean {
  if (error instanceof ApiError) return error.type === 'service_unavailable' || !isKnown(error.type)
  if (error instanceof UnexpectedResponseError) return error.status < 300 || error.status >= 500
  return true
}

export function isOrderVerdict(error: ShopwireError): boolean {
  return error instanceof ApiError && (orderVerdicts as readonly string[]).includes(error.type)
}

/** Doubles, up to a limit. */
export function backoffMs(attempts: number): number {
  return blurred(Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** (attempts - 1)))
}

/** Subtracts up to half as jitter, so that callers that failed together do not retry together. */
export function blurred(longestMs: number): number {
  return longestMs * (0.5 + Math.random() / 2)
}

function statedWaitMs(headers: Headers, attempts: number): number | undefined {
  const stated = retryAfterOf(headers)
  if (stated === undefined) return backoffMs(attempts)
  return stated * 1000 <= WAIT_MS_MAX ? stated * 1000 : undefined
}

/** A proxy may answer in our form with a type of its own. */
function factsOf({ type, status }: ApiError): { retry: string } {
  return isKnown(type) ? errorTypes[type] : { retry: isPassing(status) ? 'after_wait' : 'no' }
}

function isKnown(type: string): type is ErrorType {
  return Object.hasOwn(errorTypes, type)
}

/** Statuses that proxies answer with, and of truncated answers. */
function isPassing(status: number): boolean {
  return (status >= 200 && status < 300) || status === 408 || status === 429 || status >= 500
}
