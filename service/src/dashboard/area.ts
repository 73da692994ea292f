import type { Readable } from 'node:stream'
import type { BodyOf, DashboardRoute, QueryOf, ReplyOf } from '@shopwire/contract/dashboard'
import type { Member } from './member.ts'

/** The input of a handler: `query` and `body` have passed the schemas of the route; the role and the second factor are checked. */
export interface MemberCall<Route extends DashboardRoute> {
  readonly member: Member
  /** The raw `{id}` segment of the path; empty if there is none. */
  readonly id: string
  readonly query: QueryOf<Route>
  readonly body: BodyOf<Route>
  readonly nowMs: number
}

export interface StreamCall {
  /** The id of the last event that the browser has received, when it reconnects. */
  readonly last_event_id: string | undefined
}

/** A file for the person to download. */
export interface Download {
  readonly filename: string
  readonly content: string | Buffer | AsyncIterable<string | Buffer>
}

type CallTo<Route extends DashboardRoute> = Route extends { readonly stream: string }
  ? MemberCall<Route> & StreamCall
  : MemberCall<Route>

export type ReplyTo<Route extends DashboardRoute> = Route extends { readonly stream: string }
  ? Readable
  : Route['reply'] extends null
    ? Download
    : ReplyOf<Route>

/** One handler for each route of a list, by the route's name. */
export type Area<Routes extends readonly DashboardRoute[]> = {
  readonly [Name in Routes[number]['name']]: (
    call: CallTo<Extract<Routes[number], { readonly name: Name }>>,
  ) => Promise<ReplyTo<Extract<Routes[number], { readonly name: Name }>>>
}
