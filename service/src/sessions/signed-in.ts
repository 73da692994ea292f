import type { Role } from '@shopwire/contract/dashboard'

/** Who the cookie of a request stands for. Everything comes from the database, never from the request. */
export interface SignedIn {
  /** Names the session in lists and in the log; of no use as a cookie. */
  readonly session_id: string
  readonly person: SignedInPerson
  /** The account it acts in, with the person's role there; null for a person without one. At most one second old. */
  readonly account: AccountOfPerson | null
  /** Nothing opens before this person has set up a second factor. */
  readonly must_enrol: boolean
  /** In milliseconds; in the past or null when no second factor was given lately. */
  readonly stepped_up_until_ms: number | null
  readonly expires_at_ms: number
  readonly idle_expires_at_ms: number
}

export interface SignedInPerson {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly kind: 'customer' | 'operator'
  readonly is_email_verified: boolean
}

export interface AccountOfPerson {
  readonly id: string
  readonly name: string
  readonly role: Role
}
