import type { BodyOf, DashboardRoute, QueryOf, ReplyOf } from '@shopwire/contract/dashboard'

/**
 * The input of an identity route. These routes start and end sessions, so they see the cookies and may set some; every other route
 * gets a `Member`. Origin, Sec-Fetch-Site and the CSRF token are checked before, and `query` and `body` have passed the schemas.
 * Whether somebody is signed in, and has stepped up where the route requires it, is checked before as well.
 */
export interface IdentityCall<Route extends DashboardRoute = DashboardRoute> {
  /** The Cookie header as it came; undefined without one. */
  readonly cookie: string | undefined
  readonly address: string
  readonly user_agent: string
  readonly request_id: string
  readonly id: string
  readonly query: QueryOf<Route>
  readonly body: BodyOf<Route>
  readonly nowMs: number
}

export interface IdentityAnswer<Reply> {
  readonly reply: Reply
  /** Values of Set-Cookie, one header each. */
  readonly setCookie?: readonly string[]
  /** Answer 303 with this Location instead of the reply. */
  readonly redirect?: string
}

export type IdentityArea<Routes extends readonly DashboardRoute[]> = {
  readonly [Name in Routes[number]['name']]: (
    call: IdentityCall<Extract<Routes[number], { readonly name: Name }>>,
  ) => Promise<IdentityAnswer<ReplyOf<Extract<Routes[number], { readonly name: Name }>>>>
}
