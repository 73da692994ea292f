import type { Readable } from 'node:stream'
import type { BodyOf, DashboardRoute, QueryOf, ReplyOf } from '@shopwire/contract/dashboard'
import type { Member } from './member.ts'
import type { Session, Visitor } from './session.ts'

/** What every handler is given: `query` and `body` have passed the schemas of the route. */
interface ValidatedCall<Route extends DashboardRoute> {
  /** The raw `{id}` segment of the path; empty where it has none. */
  readonly id: string
  readonly query: QueryOf<Route>
  readonly body: BodyOf<Route>
  readonly nowMs: number
}

/** For routes with roles: the role and the second factor are checked. */
export interface MemberCall<Route extends DashboardRoute> extends ValidatedCall<Route> {
  readonly member: Member
}

/** For routes that come before an account is known. */
export interface VisitorCall<Route extends DashboardRoute> extends ValidatedCall<Route> {
  readonly visitor: Visitor
  /** As sent. */
  readonly cookie: string | undefined
  readonly address: string
  readonly user_agent: string
  readonly request_id: string
  /** Adds a Set-Cookie header to the answer, to a refusal as well. */
  setCookie(line: string): void
}

/** For routes of a signed-in person in no particular account. */
export interface PersonCall<Route extends DashboardRoute> extends VisitorCall<Route> {
  readonly session: Session
}

export type CallOf<Route extends DashboardRoute> = Route['access'] extends 'anyone'
  ? VisitorCall<Route>
  : Route['access'] extends 'signed-in'
    ? PersonCall<Route>
    : MemberCall<Route> & (Route extends { readonly stream: string } ? StreamCall : unknown)

export interface StreamCall {
  /** The id of the last event that the browser has seen, when it connects again. */
  readonly last_event_id: string | undefined
}

/** A file for the person to keep. */
export interface Download {
  readonly filename: string
  readonly content: string | Buffer | AsyncIterable<string | Buffer>
}

export type ReplyTo<Route extends DashboardRoute> = Route extends { readonly stream: string }
  ? Readable
  : Route['reply'] extends null
    ? Download
    : ReplyOf<Route>

/** One handler for each route of a list, under its name. */
export type Area<Routes extends readonly DashboardRoute[]> = {
  readonly [Name in Routes[number]['name']]: (
    call: CallOf<Extract<Routes[number], { readonly name: Name }>>,
  ) => Promise<ReplyTo<Extract<Routes[number], { readonly name: Name }>>>
}
