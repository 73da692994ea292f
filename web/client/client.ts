import type { BodyOf, DashboardRoute, QueryOf, ReplyOf } from '@shopwire/contract/dashboard'
import type { Transport } from './transport.ts'

/** The routes of one application, by name. */
export type RouteTable = Readonly<Record<string, DashboardRoute>>

type NameWith<Table extends RouteTable, Method extends 'GET' | 'POST'> = {
  [Name in keyof Table]: Table[Name]['method'] extends Method ? Name : never
}[keyof Table] &
  string

export type ReadNameOf<Table extends RouteTable> = NameWith<Table, 'GET'>
export type ActNameOf<Table extends RouteTable> = NameWith<Table, 'POST'>

type Loose<Values> = { readonly [Key in keyof Values]: Values[Key] | undefined }

/** `id` where the path ends in one, `query` where the route takes one. */
export type InputOf<Route extends DashboardRoute> = (Route['path'] extends `${string}/{id}`
  ? { readonly id: string }
  : { readonly id?: never }) &
  (QueryOf<Route> extends undefined ? { readonly query?: never } : { readonly query?: Loose<QueryOf<Route>> })

export type Client<Table extends RouteTable> = ReturnType<typeof createClient<Table>>

export interface ClientOptions<Table extends RouteTable> {
  /** The method and the path of every route. */
  readonly routes: { readonly [Name in keyof Table]: readonly ['GET' | 'POST', string] }
  readonly transport: Pick<Transport, 'send'>
  /** What a request says in its address that carries no headers of ours. */
  readonly inAddress?: () => Readonly<Record<string, string | null>>
}

export function createClient<Table extends RouteTable>({
  routes,
  transport,
  inAddress = () => ({}),
}: ClientOptions<Table>) {
  return {
    /** A GET. */
    read: <Name extends ReadNameOf<Table>>(
      name: Name,
      input?: InputOf<Table[Name]>,
      signal?: AbortSignal,
    ): Promise<ReplyOf<Table[Name]>> =>
      transport.send({ method: 'GET', path: pathOf(routes[name][1], input), signal }) as Promise<
        ReplyOf<Table[Name]>
      >,

    /** A POST. Asks for a second factor where the service wants one, and then goes on by itself. */
    act: <Name extends ActNameOf<Table>>(
      name: Name,
      body: BodyOf<Table[Name]>,
    ): Promise<ReplyOf<Table[Name]>> =>
      transport.send({ method: 'POST', path: routes[name][1], body }) as Promise<ReplyOf<Table[Name]>>,

    /** For a link that downloads, and for a stream: what the browser asks for by itself, without our headers. */
    href: <Name extends ReadNameOf<Table>>(name: Name, input?: InputOf<Table[Name]>): string =>
      pathOf(routes[name][1], { ...input, query: { ...input?.query, ...inAddress() } }),
  }
}

function pathOf(path: string, input: { id?: string; query?: object } | undefined): string {
  // The service takes the segment raw: what is not an id is not found, and must not become another path.
  const full = path.replace('{id}', encodeURIComponent(input?.id ?? ''))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(input?.query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value))
  }
  return search.size > 0 ? `${full}?${search}` : full
}
