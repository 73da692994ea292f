import type { IncomingMessage } from 'node:http'
import { BASE_PATH, offersHead, type Route } from '@shopwire/contract'
import { Refusal, refuse } from '../platform/trouble.ts'
import type { PublicFile, PublicFiles } from './public-files.ts'

/** What a request is for, decided from its first line and headers alone: a route, or why there is none. */
export type Match = RouteMatch | FileMatch | NoMatch

export interface NoMatch {
  readonly refusal: Refusal
  /** Where the message ends is in doubt, so nothing behind it on the connection may be believed. */
  readonly endsConnection: boolean
}

export interface RouteMatch {
  readonly route: Route
  /** Path and query exactly as sent; this is what was signed. */
  readonly target: string
  /** The raw segment for `{id}`, never decoded; empty where the path has none. */
  readonly id: string
  /** What follows the question mark, undefined when there is none. */
  readonly query: string | undefined
}

export interface FileMatch {
  readonly file: PublicFile
}

/** Only these routes and files exist, and only in this spelling: another case, a trailing slash or an escape is another path. */
export function createRouteMatcher(
  routes: readonly Route[],
  files: PublicFiles,
): (request: IncomingMessage) => Match {
  const exact = new Map<string, Map<string, Route>>()
  const byId = new Map<string, Map<string, Route>>()
  for (const route of routes) {
    const path = BASE_PATH + route.path
    const [table, name] = path.endsWith('/{id}') ? [byId, path.slice(0, -'{id}'.length)] : [exact, path]
    const methods = table.get(name) ?? new Map<string, Route>()
    if (offersHead(route)) methods.set('HEAD', route)
    table.set(name, methods.set(route.method, route))
  }
  return (request) => {
    const fault = framingFault(request)
    if (fault !== undefined) return { refusal: refuse('invalid_request', fault), endsConnection: true }
    const target = request.url ?? ''
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const query = mark < 0 ? undefined : target.slice(mark + 1)
    const file = files.get(path)
    if (file) {
      return request.method === 'GET'
        ? { file }
        : { refusal: wrongMethod(request.method ?? '', ['GET']), endsConnection: false }
    }
    const slash = path.lastIndexOf('/') + 1
    const methods = exact.get(path) ?? (slash < path.length ? byId.get(path.slice(0, slash)) : undefined)
    if (!methods) {
      return {
        refusal: refuse(
          'not_found',
          `There is nothing at this path. Paths are exact and begin with ${BASE_PATH}/.`,
        ),
        endsConnection: false,
      }
    }
    const route = methods.get(request.method ?? '')
    if (!route) {
      return { refusal: wrongMethod(request.method ?? '', [...methods.keys()]), endsConnection: false }
    }
    return { route, target, query, id: exact.has(path) ? '' : path.slice(slash) }
  }
}

function wrongMethod(method: string, allowed: string[]): Refusal {
  const list = allowed.sort().join(', ')
  return new Refusal(
    'method_not_allowed',
    `${method} is not offered at this path; it takes ${list}.`,
    {},
    { allow: list },
  )
}

/** Node would drop the headers past its own limit without a word, a second Host or Transfer-Encoding among them. */
const HEADERS_MAX = 100
const TARGET_FORM = /^\/[\x21-\x22\x24-\x7e]*$/

/** What Node's parser lets through and two servers in a row might read differently. */
function framingFault(request: IncomingMessage): string | undefined {
  const { headers, rawHeaders, httpVersion } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The request line must say HTTP/1.1.'
  if (!TARGET_FORM.test(request.url ?? '')) {
    return 'The request target must be a path, such as /v1/ping: no scheme, no host, no fragment, ASCII only.'
  }
  if (rawHeaders.length / 2 > HEADERS_MAX) return `The request has more than ${HEADERS_MAX} headers.`
  let hosts = 0
  for (let n = 0; n < rawHeaders.length; n += 2) {
    const name = rawHeaders[n] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return 'The request must have one Host header.'
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined && (encoding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return 'Transfer-Encoding may only be "chunked", and only in HTTP/1.1.'
  }
  if (headers.upgrade !== undefined)
    return 'This service does not switch protocols; leave the Upgrade header out.'
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return 'The only expectation that can be met is 100-continue.'
  }
  return undefined
}
