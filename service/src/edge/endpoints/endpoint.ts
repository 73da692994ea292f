import {
  BASE_PATH,
  offersHead,
  type Route,
  type RouteBody,
  type RouteName,
  type RouteNamed,
  type RouteQuery,
  type RouteReply,
  routes,
} from '@shopwire/contract'
import type { Caller } from '../../access/caller.ts'
import type { Evidence } from '../../orders/placing/evidence.ts'
import type { Span } from '../../platform/observability/tracing.ts'
import type { Answer } from '../route-family.ts'

/** The handler of one row of the contract's route table. It calls the module that does the work and presents the result. */
export interface Endpoint {
  readonly name: RouteName
  handle(call: ValidatedCall): Promise<Answer<unknown>>
}

/** The input of every handler: `query` and `body` have passed the schemas of its route. */
export interface ValidatedCall {
  /** Undefined only on public routes. */
  readonly caller: Caller | undefined
  readonly query: unknown
  readonly body: unknown
  /** The raw `{id}` segment of the path; empty if there is none. */
  readonly id: string
  /** The entity tags that the caller already has, as sent. */
  readonly ifNoneMatch: string | undefined
  /** Reads the calling key again and authorises it; for work that finds that its access version has changed. */
  readmit(): Promise<Caller | undefined>
  readonly nowMs: number
  readonly request_id: string
  /** The request's span, while tracing is on. */
  readonly span?: Span | undefined
  /** The caller's address, as far as the trusted proxies report it. */
  address(): string
  /** Records what this request did to an order, once its answer is sent. Signed routes only. */
  note(evidence: Evidence): void
}

/** The same for one route, with the types of its row in the contract. */
export interface Call<Name extends RouteName> extends ValidatedCall {
  readonly caller: CallerOf<Name>
  readonly query: RouteQuery<Name>
  readonly body: RouteBody<Name>
  readmit(): Promise<CallerOf<Name>>
}

type CallerOf<Name extends RouteName> = RouteNamed<Name> extends { readonly scope: null } ? undefined : Caller

export function answer<const Body>(
  status: number,
  body: Body,
  headers?: Record<string, string>,
): Answer<Body> {
  return headers ? { status, body, headers } : { status, body }
}

/** Each handler is checked against its own row here. To callers the table is uniform: the schemas have made the values fit. */
export function endpoint<Name extends RouteName>(
  name: Name,
  handle: (call: Call<Name>) => Promise<Answer<RouteReply<Name>>>,
): Endpoint {
  return { name, handle }
}

export interface MountedEndpoint {
  readonly endpoint: Endpoint
  readonly route: Route
}

/** The endpoints with their rows in the contract, or in the table that a test uses instead. */
export function mountEndpoints(
  endpoints: readonly Endpoint[],
  table: readonly Route[] = routes,
): MountedEndpoint[] {
  return endpoints.map((endpoint) => {
    const route = table.find(({ name }) => name === endpoint.name)
    if (!route) throw new Error(`${endpoint.name} is not in the contract`)
    return { endpoint, route }
  })
}

/** The fields by which the edge finds an endpoint, which all route families have. */
export function placeOf(route: Route) {
  const methods = offersHead(route) ? [route.method, 'HEAD'] : [route.method]
  return { name: route.name, path: BASE_PATH + route.path, methods }
}

export function asJson(answer: Answer<unknown>): Answer<string> {
  return { ...answer, body: answer.body === null ? '' : JSON.stringify(answer.body) }
}
