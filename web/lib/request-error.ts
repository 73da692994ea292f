import type { DashboardErrorType } from '@shopwire/contract/dashboard'

/** `timeout`, `unreachable`: there was no answer. `offline`: nothing was sent. None of them is a type of the contract. */
export type FailureType = DashboardErrorType | 'timeout' | 'unreachable' | 'offline' | (string & {})

/** What a request to our own API can end in, other than its reply. */
export class RequestError extends Error {
  readonly type: FailureType
  /** 0: no answer. */
  readonly status: number
  readonly requestId: string | undefined

  constructor(failure: {
    readonly type: FailureType
    readonly status: number
    readonly message: string
    readonly requestId?: string | undefined
  }) {
    super(failure.message)
    this.name = 'RequestError'
    this.type = failure.type
    this.status = failure.status
    this.requestId = failure.requestId
  }
}

export const isRequestError = (error: unknown, type?: FailureType): error is RequestError =>
  error instanceof RequestError && (type === undefined || error.type === type)
