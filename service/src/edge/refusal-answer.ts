import { errorTypes, RETRY_AFTER_OVERLOADED_S } from '@shopwire/contract'
import { dashboardErrorTypes } from '@shopwire/contract/dashboard'
import { Refusal, type RefusalType, Unavailable } from '../platform/trouble.ts'

export interface RefusalAnswer {
  readonly status: number
  readonly type: RefusalType
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** On every answer: caches must not store links and balances, and a browser must not render names or messages as a page. */
export const COMMON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const

/** The contract's error format. An error that is neither a refusal nor an unavailable dependency is a defect of ours: 500. */
export function toRefusalAnswer(error: unknown): RefusalAnswer {
  if (error instanceof Refusal) return refusalAnswer(error.type, error.message, error.headers)
  if (error instanceof Unavailable) {
    return refusalAnswer(
      'service_unavailable',
      'A part of the service did not answer in time. Try again in a moment; an order keeps its idempotency key.',
      { 'retry-after': String(RETRY_AFTER_OVERLOADED_S) },
    )
  }
  return refusalAnswer(
    'internal_error',
    'Something went wrong on our side. Tell us the X-Request-Id of this answer.',
  )
}

const statuses = { ...errorTypes, ...dashboardErrorTypes }

export function refusalAnswer(
  type: RefusalType,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): RefusalAnswer {
  return {
    type,
    status: statuses[type].status,
    body: JSON.stringify({ error: { type, message } }),
    headers,
  }
}
