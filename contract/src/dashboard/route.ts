import type { Static, TSchema } from 'typebox'
import type { Role } from './roles.ts'

/**
 * One row of the dashboard's API. Reads are GET and change nothing; actions are POST, name what they act on in the body, and carry the
 * CSRF token. The account comes from the session. A request to a route for roles also names the account that its page shows, and is
 * refused when that is another one: somebody with two windows may have switched accounts in the other.
 */
export interface DashboardRoute {
  readonly name: string
  readonly method: 'GET' | 'POST'
  /** Where it ends in `/{id}`, that is one raw segment, never decoded. */
  readonly path: string
  /**
   * `anyone`: no session needed. `signed-in`: a session, in no particular account. Otherwise the roles that may, in the account that
   * the request names.
   */
  readonly access: 'anyone' | 'signed-in' | readonly Role[]
  /** Also for somebody who still has to set up a second factor: how they do it, and how they leave. */
  readonly isEnrolment?: true
  /** A second factor must have been given in the last five minutes. */
  readonly isStepUp?: true
  readonly query?: TSchema
  readonly body?: TSchema
  /** Null: the answer is a file (`download`) or a stream (`stream`), not JSON. */
  readonly reply: TSchema | null
  readonly download?: 'text/csv' | 'application/pdf' | 'application/json'
  readonly stream?: 'text/event-stream'
}

/** The header in which a request names the account that its page shows. */
export const ACCOUNT_HEADER = 'x-shopwire-account'

/** The same in the query, where a browser asks by itself and adds no header: for files and streams, which have no `reply`. */
export const ACCOUNT_PARAMETER = 'account'

export type QueryOf<Route extends DashboardRoute> = Route extends {
  readonly query: infer Query extends TSchema
}
  ? Static<Query>
  : undefined

export type BodyOf<Route extends DashboardRoute> = Route extends { readonly body: infer Body extends TSchema }
  ? Static<Body>
  : undefined

// TSchema is an empty interface, so null must be excluded first, or it would be taken for a schema.
export type ReplyOf<Route extends DashboardRoute> = Route['reply'] extends null
  ? null
  : Route['reply'] extends TSchema
    ? Static<Route['reply']>
    : never
