import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http'
import { Server as NetServer } from 'node:net'
import { finished, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BODY_ARRIVAL_MS_MAX } from '@shopwire/contract'
import type { Log } from '../platform/observability/log.ts'
import type { Tracing } from '../platform/observability/tracing.ts'
import { Refusal, type RefusalType } from '../platform/trouble.ts'
import { limitConnections } from './connections.ts'
import { beginTrace, type OpenExchange, openExchange, recordWhenOver } from './exchange.ts'
import type { EdgeMetrics } from './metrics.ts'
import { serialisePipelinedRequests } from './pipelining.ts'
import { CallerGoneError, carriesBody, markHeadersEnd } from './receive-body.ts'
import { COMMON_HEADERS, toRefusalAnswer } from './refusal-answer.ts'
import type { Answer, AnswerBody, PresentedError, RouteFamily } from './route-family.ts'
import { createRouteMatcher } from './route-matcher.ts'
import { lingerOnClose, refuseOnSockets } from './socket-refusals.ts'

export interface EdgeDeps {
  readonly log: Log
  readonly metrics: Pick<EdgeMetrics, 'requestTimer' | 'unavailable' | 'connectionsRefused'>
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly tracing?: Tracing | undefined
  /** Wraps the handler of all requests. */
  around?(serve: ServeRequest): ServeRequest
}

export type ServeRequest = (request: IncomingMessage, response: ServerResponse) => void

const HEADERS_BYTES_MAX = 16_384
const HEADERS_ARRIVAL_MS_MAX = 10_000
const IDLE_MS_MAX = 10_000
/** An idle connection is closed after this time. Longer than any answer takes. */
const STALLED_MS_MAX = 20_000
const CONNECTIONS_CHECK_MS = 250
/** How long a request may have been in transit when the port was closed: it is answered, as the last one of its connection. */
const ON_ITS_WAY_MS = 500

export interface Edge {
  readonly server: Server
  listen(where: { host: string; port: number }): Promise<void>
  /** Resolves when all requests are answered and all connections are closed. */
  close(): Promise<void>
}

/**
 * The HTTP server, on Node's own: the families define the routes. What all of them share is here: framing, limits of connections
 * and bodies, pipelining, request ids, one log line and one measurement per request.
 */
export function createEdge(deps: EdgeDeps, families: readonly RouteFamily[]): Edge {
  const matchRoute = createRouteMatcher(families)
  const serialise = serialisePipelinedRequests()

  const serve: ServeRequest = (request, response) => {
    markHeadersEnd(request)
    const exchange = openExchange(matchRoute(request), request, response)
    if (deps.tracing) beginTrace(deps.tracing, exchange)
    serialise(response, () => {
      recordWhenOver(deps, exchange)
      void answer(exchange)
    })
  }

  const server = createServer(
    {
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: HEADERS_ARRIVAL_MS_MAX,
      requestTimeout: HEADERS_ARRIVAL_MS_MAX + BODY_ARRIVAL_MS_MAX + 1_000,
      keepAliveTimeout: IDLE_MS_MAX,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Node's own refusal of a missing Host has no body, so the route matcher refuses it instead.
      requireHostHeader: false,
    },
    deps.around?.(serve) ?? serve,
  )
  server.setTimeout(STALLED_MS_MAX)
  // Node drops no header: the route matcher counts them. A caller that has closed its sending side still gets its answer.
  Object.assign(server, { maxHeadersCount: 0, httpAllowHalfOpen: true })
  refuseOnSockets(server, (request_id, answer) => {
    const line = { request_id, route: 'none', status: answer.status, error_type: answer.type }
    deps.log.info(line, 'refused on the socket')
  })
  limitConnections(server, {
    max: deps.connectionsMax,
    perAddressMax: deps.connectionsPerAddressMax,
    onClosed: (limit) => deps.metrics.connectionsRefused.inc({ limit }),
  })
  // Otherwise Node would send 100 before the body is wanted, and refuse other expectations without JSON.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => server.emit('request', request, response))
  }

  async function answer(exchange: OpenExchange): Promise<void> {
    const { match } = exchange
    try {
      if ('refusal' in match) throw match.refusal
      send(exchange, await match.route.answer(match, exchange))
    } catch (error) {
      try {
        sendError(exchange, error)
      } catch (fault) {
        deps.log.error({ err: fault, request_id: exchange.request_id }, 'an error could not be answered')
        exchange.decide()
        exchange.response.destroy()
      }
    }
  }

  function sendError(exchange: OpenExchange, error: unknown): void {
    if (error instanceof CallerGoneError) {
      exchange.decide()
      return
    }
    exchange.error = error
    exchange.presented = present(exchange, error)
    send(exchange, exchange.presented)
  }

  function send(exchange: OpenExchange, { status, headers, body }: Answer<AnswerBody>): void {
    const { request, response, request_id } = exchange
    const all: OutgoingHttpHeaders = {
      ...COMMON_HEADERS,
      ...exchange.headers,
      'x-request-id': request_id,
      ...headers,
    }
    // During shutdown, a kept-alive connection would delay the end until it is closed as idle.
    if (!server.listening || endsConnection(request, exchange)) {
      all.connection = 'close'
      lingerOnClose(request.socket)
    }
    if (typeof body === 'string' || Buffer.isBuffer(body)) {
      all['content-length'] = Buffer.byteLength(body)
      response.writeHead(status, all).end(body)
    } else sendStream(exchange, status, all, body)
    exchange.decide()
  }

  /** The headers are sent with the first bytes, so that a stream that fails before them is still answered with an error. */
  function sendStream(
    exchange: OpenExchange,
    status: number,
    headers: OutgoingHttpHeaders,
    body: Readable,
  ): void {
    const { request, response } = exchange
    response.once('close', () => body.destroy())
    finished(body, { writable: false }, (error) => {
      if (!error) return
      // A stream that our side ended without an error has sent all it had.
      if (response.headersSent || error.code === 'ERR_STREAM_PREMATURE_CLOSE') {
        response.destroy()
        return
      }
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      sendError(exchange, error)
    })
    response.statusCode = status
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) response.setHeader(name, value)
    if (request.method === 'HEAD') response.end()
    else body.pipe(response)
  }

  return {
    server,
    async listen({ host, port }) {
      server.listen(port, host)
      await once(server, 'listening')
    },
    async close() {
      // Not yet the HTTP server's own close(): it closes every idle connection at once, even one on which a request is arriving.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
      await Promise.race([closed, sleep(ON_ITS_WAY_MS, undefined, { ref: false })])
      server.close()
      await closed
    },
  }
}

/** In the format of the family, if one is known. */
function present(exchange: OpenExchange, error: unknown): PresentedError {
  const { family } = exchange.match
  if (!family) return toRefusalAnswer(error)
  try {
    return family.presentError(error, exchange)
  } catch (fault) {
    exchange.error = new AggregateError(
      [error, fault],
      `the family "${family.name}" could not present an error`,
    )
    return toRefusalAnswer(exchange.error)
  }
}

/** The rest of a message that was not read to its end, or whose end is uncertain, must not be read as the next request. */
function endsConnection(request: IncomingMessage, { match, error }: OpenExchange): boolean {
  if (request.httpVersion !== '1.1') return true
  if ('refusal' in match && match.endsConnection) return true
  if (error instanceof Refusal && BODY_REFUSALS.has(error.type)) return true
  return carriesBody(request) && !request.complete
}
const BODY_REFUSALS: ReadonlySet<RefusalType> = new Set(['payload_too_large', 'request_timeout'])
