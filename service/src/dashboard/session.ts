import type { Role } from '@shopwire/contract/dashboard'

/** A signed-in person. What they may do depends on the account that the session is in, never on what a request says. */
export interface Session {
  readonly id: string
  readonly person_id: string
  readonly person_name: string
  readonly email: string
  /** The account they act in, with their role there at this moment. Undefined: a member of none, or none chosen yet. */
  readonly account: { readonly id: string; readonly role: Role } | undefined
  /** Until when a second factor counts as fresh; 0 when none was given. */
  readonly stepped_up_until_ms: number
}

/** Who sent a request, as far as its cookies tell. */
export interface Visitor {
  readonly session: Session | undefined
  /** What a page of this visitor sends in X-Csrf-Token. Undefined: no page was given one, so no action is taken. */
  readonly csrf_token: string | undefined
}

/** What the edge and the live streams need of sessions. */
export interface Sessions {
  /** From the Cookie header as sent. Membership and role are as recent as the second. */
  identify(cookie: string | undefined, nowMs: number): Promise<Visitor>
  /** Those of these sessions that have not ended and whose person is still a member of the session's account. */
  stillOpen(sessions: readonly OpenSession[], nowMs: number): Promise<ReadonlySet<string>>
}

export interface OpenSession {
  readonly session_id: string
  readonly person_id: string
  readonly account_id: string
}
