import type { ErrorType } from '@shopwire/contract'

/**
 * Three kinds of trouble, never mixed:
 * - a Refusal is the caller's: it gets the status of its type and a sentence that says what to do;
 * - Unavailable is the world's: a database or a nonce store that does not answer; 503, try again;
 * - anything else is ours: 500, logged with its stack.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly type: ErrorType
  /** For our log only; never sent to the caller. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    type: ErrorType,
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

export function refuse(type: ErrorType, message: string, facts?: Record<string, unknown>): Refusal {
  return new Refusal(type, message, facts)
}

export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  /** Which part did not answer: `database`, `admission` or `catalogue`. */
  readonly part: string

  constructor(part: string, cause: unknown) {
    super(`${part} did not answer`, { cause })
    this.part = part
  }
}

/** Ours: a state that the code says cannot be. Kept on in production. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${what}`)
}
