import type { IncomingMessage, ServerResponse } from 'node:http'
import { BODY_ARRIVAL_MS_MAX } from '@shopwire/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { assert, Refusal, type RefusalType } from '../platform/trouble.ts'
import { limitConnections } from './connections.ts'
import { type OpenExchange, openExchange, recordWhenOver } from './exchange.ts'
import { serialisePipelinedRequests } from './pipelining.ts'
import { CallerGoneError, carriesBody, markHeadersEnd } from './receive-body.ts'
import { COMMON_HEADERS, toRefusalAnswer } from './refusal-answer.ts'
import type { Answer, AnswerBody, PresentedError, RouteFamily } from './route-family.ts'
import { createRouteMatcher, type Match } from './route-matcher.ts'
import { lingerOnClose, refuseOnSockets } from './socket-refusals.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the edge before anything else looks at the request. */
    exchange: OpenExchange | null
  }
}

export interface EdgeDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  /** Wraps the handler of all requests. */
  around?(serve: ServeRequest): ServeRequest
}

export type ServeRequest = (request: IncomingMessage, response: ServerResponse) => void

const HEADERS_BYTES_MAX = 16_384
const HEADERS_ARRIVAL_MS_MAX = 10_000
const IDLE_MS_MAX = 10_000
/** A connection on which nothing moves for this long is closed. Longer than it takes to make any answer. */
const STALLED_MS_MAX = 20_000
const CONNECTIONS_CHECK_MS = 250
/** The two names that Fastify's router knows: a request that has a route, and one that has none. */
const MATCHED = '/matched'
const NOT_MATCHED = '/not-matched'

/**
 * The HTTP surface: Fastify carries the requests, the families say which routes there are. What all of them share is here: framing,
 * limits of connections and bodies, pipelining, request ids, one log line and one measurement per request.
 */
export function createEdge(deps: EdgeDeps, families: readonly RouteFamily[]): FastifyInstance {
  const matchRoute = createRouteMatcher(families)
  const serialise = serialisePipelinedRequests()
  const matches = new WeakMap<IncomingMessage, Match>()

  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Fastify's router decodes and normalises paths. Ours has read the raw target already; Fastify gets one of two names.
    rewriteUrl(request) {
      markHeadersEnd(request)
      const match = matchRoute(request)
      matches.set(request, match)
      return 'route' in match ? MATCHED : NOT_MATCHED
    },
    requestTimeout: HEADERS_ARRIVAL_MS_MAX + BODY_ARRIVAL_MS_MAX + 1_000,
    keepAliveTimeout: IDLE_MS_MAX,
    connectionTimeout: STALLED_MS_MAX,
    forceCloseConnections: 'idle',
    // Fastify's own 503 while closing has another format. What still comes in is answered; the connection ends after it.
    return503OnClosing: false,
    http: {
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: HEADERS_ARRIVAL_MS_MAX,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Node's own refusal of a missing Host has no body; the route matcher refuses it instead.
      requireHostHeader: false,
    },
    clientErrorHandler: () => {},
  })
  app.server.removeAllListeners('clientError')
  // Node drops no header: the route matcher counts them. And a caller that has closed its sending side still gets its answer.
  Object.assign(app.server, { maxHeadersCount: 0, httpAllowHalfOpen: true })
  refuseOnSockets(app.server, (request_id, answer) => {
    const line = { request_id, route: 'none', status: answer.status, error_type: answer.type }
    deps.log.info(line, 'refused on the socket')
  })
  limitConnections(app.server, {
    max: deps.connectionsMax,
    perAddressMax: deps.connectionsPerAddressMax,
    onRefused: (limit) => deps.metrics.connectionsRefused.inc({ limit }),
  })
  // Otherwise Node would send 100 before we know whether we want the body, and refuse other expectations without JSON.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (request, response) => app.server.emit('request', request, response))
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.decorateRequest('exchange', null)
  // Before Fastify reads the body: it has rules of its own for some methods.
  app.addHook('onRequest', (request, reply, done) => {
    const match = matches.get(request.raw)
    assert(match, 'every request is matched before it gets here')
    const exchange = openExchange(match, request.raw, reply.raw)
    request.exchange = exchange
    // Fastify would refuse a content type that it cannot parse. The family decides which ones it accepts.
    delete request.raw.headers['content-type']
    serialise(reply.raw, () => {
      recordWhenOver(deps, exchange, reply)
      done('refusal' in match ? match.refusal : undefined)
    })
  })
  app.setNotFoundHandler(() => {
    throw new Error('a request without a route was not refused')
  })
  app.setErrorHandler((error, request, reply) => {
    const exchange = exchangeOf(request)
    if (error instanceof CallerGoneError) {
      exchange.decide()
      return reply.hijack()
    }
    exchange.error = error
    exchange.presented = present(exchange, error)
    // Of an answer that failed before its first byte.
    reply.removeHeader('content-disposition')
    return send(reply, exchange, exchange.presented)
  })
  app.route({
    method: methodsOf(families),
    url: MATCHED,
    async handler(request, reply) {
      const exchange = exchangeOf(request)
      const { match } = exchange
      assert('route' in match, 'only requests with a route get here')
      return send(reply, exchange, await match.route.answer(match, exchange))
    },
  })
  if (deps.around) {
    const [serve] = app.server.listeners('request') as [ServeRequest]
    app.server.removeAllListeners('request')
    app.server.on('request', deps.around(serve))
  }
  return app
}

function methodsOf(families: readonly RouteFamily[]): string[] {
  const routes = families.flatMap(({ routes, fallback }) => (fallback ? [...routes, fallback] : routes))
  return [...new Set(routes.flatMap(({ methods }) => methods))]
}

function exchangeOf({ exchange }: FastifyRequest): OpenExchange {
  assert(exchange, 'an exchange is opened before anything else happens')
  return exchange
}

/** In the format of the family, where one is known. */
function present(exchange: OpenExchange, error: unknown): PresentedError {
  const { family } = exchange.match
  if (!family) return toRefusalAnswer(error)
  try {
    return family.presentError(error, exchange)
  } catch (fault) {
    // Fastify's own answer would contain the message of the error.
    exchange.error = new AggregateError(
      [error, fault],
      `the family "${family.name}" could not present an error`,
    )
    return toRefusalAnswer(exchange.error)
  }
}

function send(reply: FastifyReply, exchange: OpenExchange, answer: Answer<AnswerBody>): FastifyReply {
  const { raw } = reply.request
  reply
    .code(answer.status)
    .headers(COMMON_HEADERS)
    .headers(exchange.headers)
    .header('x-request-id', exchange.request_id)
  if (answer.headers) reply.headers(answer.headers)
  // During shutdown, an open connection would delay the end until it is closed for idleness.
  const isStopping = !reply.server.server.listening
  if (isStopping || endsConnection(raw, exchange)) {
    reply.header('connection', 'close')
    lingerOnClose(raw.socket)
  }
  exchange.decide()
  return reply.send(answer.body)
}

/** The rest of a message that was not read to its end, or whose end is uncertain, must not be read as the next request. */
function endsConnection(request: IncomingMessage, { match, error }: OpenExchange): boolean {
  if (request.httpVersion !== '1.1') return true
  if ('refusal' in match && match.endsConnection) return true
  if (error instanceof Refusal && BODY_REFUSALS.has(error.type)) return true
  return carriesBody(request) && !request.complete
}
const BODY_REFUSALS: ReadonlySet<RefusalType> = new Set(['payload_too_large', 'request_timeout'])
