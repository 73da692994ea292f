import type { Role } from '@shopwire/contract/dashboard'

/** A signed-in person acting in one account. Made from the session alone, never from values in the request. */
export interface Member {
  readonly person_id: string
  readonly person_name: string
  readonly email: string
  readonly account_id: string
  readonly role: Role
  readonly session_id: string
  /** The client's address, as far as the trusted proxies report it. */
  readonly address: string
  readonly request_id: string
}
