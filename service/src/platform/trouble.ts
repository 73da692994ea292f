import type { ErrorType } from '@shopwire/contract'
import type { DashboardErrorType } from '@shopwire/contract/dashboard'

/**
 * Three kinds of errors, never mixed:
 * - Refusal: the caller's request is at fault. The caller gets the status of its type and a message that says what to do.
 * - Unavailable: a dependency (database, admission store) does not answer. The caller gets 503 and may retry.
 * - anything else: a defect in our code. The caller gets 500; the stack is logged.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly type: RefusalType
  /** For our log only; never sent to the caller. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    type: RefusalType,
    message: string,
    facts: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ) {
    super(message)
    this.type = type
    this.facts = facts
    this.headers = headers
  }
}

/** Only dashboard routes answer with the dashboard's types. */
export type RefusalType = ErrorType | DashboardErrorType

export function refuse(type: RefusalType, message: string, facts?: Record<string, unknown>): Refusal {
  return new Refusal(type, message, facts)
}

export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** Which part did not answer: `database`, `admission`, `catalogue` or `journal`. */
  readonly part: string

  constructor(part: string, cause: unknown) {
    super(`${part} did not answer`, { cause })
    this.part = part
  }

  /** The cause as text, if it has any. */
  get reason(): string {
    return this.cause instanceof Error ? this.cause.message : ''
  }
}

/** A state that the code rules out: a failure is a defect. Active in production too. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${what}`)
}
