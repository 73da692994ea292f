import type { IncomingMessage } from 'node:http'
import { BASE_PATH } from '@shopwire/contract'
import { Refusal, refuse } from '../platform/trouble.ts'
import type { RouteFamily, RouteMatch } from './route-family.ts'
import { claimRoutes, isWithin } from './route-table.ts'

/** What a request is for: a route, or why there is none. */
export type Match = RouteMatch | NoMatch

export interface NoMatch {
  readonly refusal: Refusal
  /** The family that presents the refusal. Undefined if none is known: then the edge presents it. */
  readonly family: RouteFamily | undefined
  /** It is uncertain where the message ends, so nothing after it on the connection may be read as a request. */
  readonly endsConnection: boolean
}

/** Only the families' routes exist, and only in this spelling: another case, a trailing slash or an escape is another path. */
export function createRouteMatcher(families: readonly RouteFamily[]): (request: IncomingMessage) => Match {
  const { exact, byId, prefixes, fallback } = claimRoutes(families)
  return (request) => {
    const fault = framingFault(request)
    if (fault !== undefined) return noMatch(refuse('invalid_request', fault), undefined, true)
    const target = request.url ?? ''
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const query = mark < 0 ? undefined : target.slice(mark + 1)
    const atPath = exact.get(path)
    const slash = path.lastIndexOf('/') + 1
    const found = atPath ?? (slash < path.length ? byId.get(path.slice(0, slash)) : undefined)
    const owner = found ? undefined : prefixes.find(({ prefix }) => isWithin(path, prefix))?.family
    const claimed = found ?? (owner ? undefined : fallback)
    if (!claimed) return noMatch(nothingHere(owner), owner)
    const { family, methods } = claimed
    const route = methods.get(request.method ?? '')
    if (!route) return noMatch(wrongMethod(request.method ?? '', [...methods.keys()]), family)
    return { family, route, target, query, id: found && !atPath ? path.slice(slash) : '' }
  }
}

function noMatch(refusal: Refusal, family: RouteFamily | undefined, endsConnection = false): NoMatch {
  return { refusal, family, endsConnection }
}

function nothingHere(owner: RouteFamily | undefined): Refusal {
  return refuse(
    'not_found',
    owner
      ? 'There is nothing at this path.'
      : `There is nothing at this path. Paths are exact and begin with ${BASE_PATH}/.`,
  )
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

/** Node would silently drop the headers beyond its own limit, possibly a second Host or Transfer-Encoding. */
const HEADERS_MAX = 100
const TARGET_FORM = /^\/[\x21-\x22\x24-\x7e]*$/

/** What Node's parser accepts although a proxy in front of it might read it differently. */
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
