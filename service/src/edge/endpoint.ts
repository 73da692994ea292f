import type { RouteBody, RouteName, RouteQuery, RouteReply } from '@shopwire/contract'
import type { Caller } from '../access/caller.ts'

/** One row of the contract's route table, and what we do about it: declares, delegates, presents. */
export interface Endpoint<Name extends RouteName = RouteName> {
  readonly name: Name
  handle(call: Call<Name>): Promise<Answer<RouteReply<Name>>>
}

export interface Call<Name extends RouteName> {
  /** Undefined on public routes only. */
  readonly caller: CallerOf<Name>
  readonly query: RouteQuery<Name>
  readonly body: RouteBody<Name>
  /** The raw `{id}` segment of the path; empty where it has none. */
  readonly id: string
  /** The entity tags the caller already holds, as sent. */
  readonly ifNoneMatch: string | undefined
  /** Reads the calling key again and asks what it may do; for work that finds its access version changed under its feet. */
  readmit(): Promise<CallerOf<Name>>
  readonly nowMs: number
}

export interface Answer<Body> {
  readonly status: number
  readonly body: Body
  readonly headers?: Readonly<Record<string, string>>
}

type CallerOf<Name extends RouteName> = Name extends 'getStatus' ? undefined : Caller

export function answer<const Body>(
  status: number,
  body: Body,
  headers?: Record<string, string>,
): Answer<Body> {
  return headers ? { status, body, headers } : { status, body }
}

export function endpoint<Name extends RouteName>(name: Name, handle: Endpoint<Name>['handle']): Endpoint {
  // The table is uniform outside; each handler is checked against its own row here.
  return { name, handle } as unknown as Endpoint
}
