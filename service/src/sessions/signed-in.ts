import type { Role } from '@shopwire/contract/dashboard'

/** The person behind the cookie of a request. Everything comes from the database, never from the request. */
export interface SignedIn {
  /** Identifies the session in lists and in the log; useless as a cookie. */
  readonly session_id: string
  readonly person: SignedInPerson
  /** The account it acts in, with the person's role there; null for a person without one. At most one second old. */
  readonly account: AccountOfPerson | null
  /** This person has no access to anything before they have set up a second factor. */
  readonly must_enrol: boolean
  /** In milliseconds; in the past or null when no second factor was used lately. */
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
