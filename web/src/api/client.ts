import type {
  BodyOf,
  DashboardRouteName,
  DashboardRouteNamed,
  QueryOf,
  ReplyOf,
} from '@shopwire/contract/dashboard'
import { ACCOUNT_PARAMETER, routes } from './routes.generated.ts'
import { shownAccount } from './shown-account.ts'
import { send } from './transport.ts'

type NameWith<Method extends 'GET' | 'POST'> = {
  [Name in DashboardRouteName]: DashboardRouteNamed<Name>['method'] extends Method ? Name : never
}[DashboardRouteName]

export type ReadName = NameWith<'GET'>
export type ActName = NameWith<'POST'>
export type Reply<Name extends DashboardRouteName> = ReplyOf<DashboardRouteNamed<Name>>
export type Body<Name extends ActName> = BodyOf<DashboardRouteNamed<Name>>
export type Query<Name extends ReadName> = QueryOf<DashboardRouteNamed<Name>>

type Loose<Values> = { readonly [Key in keyof Values]: Values[Key] | undefined }

/** `id` where the path ends in one, `query` where the route takes one. */
export type ReadInput<Name extends ReadName> = (DashboardRouteNamed<Name>['path'] extends `${string}/{id}`
  ? { readonly id: string }
  : { readonly id?: never }) &
  (Query<Name> extends undefined ? { readonly query?: never } : { readonly query?: Loose<Query<Name>> })

export const api = {
  /** A GET. */
  read: <Name extends ReadName>(
    name: Name,
    input?: ReadInput<Name>,
    signal?: AbortSignal,
  ): Promise<Reply<Name>> =>
    send({ method: 'GET', path: pathOf(name, input), signal }) as Promise<Reply<Name>>,

  /** A POST. Asks for a second factor where the service wants one, and then goes on by itself. */
  act: <Name extends ActName>(name: Name, body: Body<Name>): Promise<Reply<Name>> =>
    send({ method: 'POST', path: routes[name][1], body }) as Promise<Reply<Name>>,

  /** For a link that downloads, and for a stream: what the browser asks for by itself, without our headers. */
  href: <Name extends ReadName>(name: Name, input?: ReadInput<Name>): string =>
    pathOf(name, { ...input, query: { ...input?.query, [ACCOUNT_PARAMETER]: shownAccount() } }),
}

function pathOf(name: ReadName, input: { id?: string; query?: object } | undefined): string {
  const path: string = routes[name][1]
  // The service takes the segment raw: what is not an id is not found, and must not become another path.
  const full = path.replace('{id}', encodeURIComponent(input?.id ?? ''))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(input?.query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value))
  }
  return search.size > 0 ? `${full}?${search}` : full
}
