import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  BODY_ARRIVAL_MS_MAX,
  type ErrorType,
  offersHead,
  PUBLIC_FILES_PER_WINDOW_MAX,
  RATE_WINDOW_S,
  type Route,
  routes,
} from '@shopwire/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { createThrottle } from '../platform/throttle.ts'
import { limitConnections } from './connections.ts'
import type { Answer, Endpoint } from './endpoint.ts'
import { type Exchange, openExchange, recordWhenOver } from './exchange.ts'
import { type PipelineDeps, refuseBody, refuseTooManyCalls, runPipeline } from './pipeline.ts'
import { serialisePipelinedRequests } from './pipelining.ts'
import { answerWithFile, assertOutsideContract, type PublicFiles } from './public-files.ts'
import { createInputReader } from './read-input.ts'
import { CallerGoneError, carriesBody, markHeadersEnd, refuseDeclaredLength } from './receive-body.ts'
import { COMMON_HEADERS, toRefusalAnswer } from './refusal-answer.ts'
import { createRouteMatcher, type FileMatch, type RouteMatch } from './route-matcher.ts'
import { closeGently, refuseOnSockets } from './socket-refusals.ts'

export interface EdgeDeps extends PipelineDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly publicFiles: PublicFiles
  /** Instead of the contract's. */
  readonly routes?: readonly Route[]
  /** Sees every request before anything here does. */
  around?(serve: ServeRequest): ServeRequest
}

export type ServeRequest = (request: IncomingMessage, response: ServerResponse) => void

const HEADERS_BYTES_MAX = 16_384
const HEADERS_ARRIVAL_MS_MAX = 10_000
const IDLE_MS_MAX = 10_000
/** A caller that takes nothing of its answer for this long is not waiting for it. Longer than any answer is in the making. */
const STALLED_MS_MAX = 20_000
const CONNECTIONS_CHECK_MS = 250
const NO_ROUTE = '/-'
const FILE_ROUTE = '/-file'
const PUBLIC_FILES = {
  hitsMax: PUBLIC_FILES_PER_WINDOW_MAX,
  windowMs: RATE_WINDOW_S * 1000,
  namesMax: 100_000,
}

/** The HTTP surface: Fastify carries the requests, the contract's route table says which there are. */
export function createEdge(deps: EdgeDeps, endpoints: readonly Endpoint[]): FastifyInstance {
  const mounted = endpoints.map((endpoint) => ({ endpoint, route: routeOf(deps.routes ?? routes, endpoint) }))
  assertOutsideContract(deps.publicFiles)
  const matchRoute = createRouteMatcher(
    mounted.map(({ route }) => route),
    deps.publicFiles,
  )
  const fileCalls = createThrottle(PUBLIC_FILES)
  const takeTurn = serialisePipelinedRequests()
  const exchanges = new WeakMap<IncomingMessage, Exchange>()
  const exchangeOf = (request: FastifyRequest) => exchanges.get(request.raw) as Exchange

  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Fastify's router decodes, and folds spellings together. Ours has read the raw target already; it is handed a name.
    rewriteUrl(request) {
      markHeadersEnd(request)
      const match = matchRoute(request)
      exchanges.set(request, openExchange(match))
      // A content type that Fastify cannot read would be refused by it; to us any is right, the bytes are signed.
      delete request.headers['content-type']
      if ('file' in match) return FILE_ROUTE
      return 'route' in match ? `/${match.route.name}` : NO_ROUTE
    },
    requestTimeout: HEADERS_ARRIVAL_MS_MAX + BODY_ARRIVAL_MS_MAX + 1_000,
    keepAliveTimeout: IDLE_MS_MAX,
    connectionTimeout: STALLED_MS_MAX,
    forceCloseConnections: 'idle',
    // Fastify's own 503 while closing is not in our words. What still comes in is answered; the connection ends after it.
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
  // No header is dropped unseen: the route matcher counts them. And who has sent all it will send still gets its answer.
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
  // Otherwise Node would say "go on" before we know whether we want the body, and refuse other expectations without JSON.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (request, response) => app.server.emit('request', request, response))
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // Before Fastify looks at the body: it has rules of its own for some methods.
  app.addHook('onRequest', (request, reply, done) => {
    const exchange = exchangeOf(request)
    takeTurn(reply.raw, () => {
      recordWhenOver(deps, exchange, reply)
      done('refusal' in exchange.match ? exchange.match.refusal : undefined)
    })
  })
  app.setNotFoundHandler(() => {
    throw new Error('a match named a route that is not there')
  })
  app.setErrorHandler((error, request, reply) => {
    const exchange = exchangeOf(request)
    if (error instanceof CallerGoneError) {
      exchange.decide()
      return reply.hijack()
    }
    exchange.refused = toRefusalAnswer(error)
    exchange.error = error
    return send(reply, exchange, exchange.refused)
  })

  app.get(FILE_ROUTE, async (request, reply) => {
    const exchange = exchangeOf(request)
    refuseDeclaredLength(request.raw)
    refuseTooManyCalls(deps, fileCalls, request.raw)
    refuseBody(request.raw)
    const { file } = exchange.match as FileMatch
    return send(reply, exchange, answerWithFile(file, request.raw.headers))
  })
  for (const { endpoint, route } of mounted) {
    const input = createInputReader(route)
    app.route({
      // To HEAD Node sends the headers alone, the length of the body among them.
      method: offersHead(route) ? [route.method, 'HEAD'] : route.method,
      url: `/${route.name}`,
      async handler(request, reply) {
        const exchange = exchangeOf(request)
        const match = exchange.match as RouteMatch
        const answer = await runPipeline(deps, endpoint, input, match, request.raw, reply.raw, exchange)
        const body = answer.body === null ? '' : JSON.stringify(answer.body)
        return send(reply, exchange, { ...answer, body })
      },
    })
  }
  if (deps.around) {
    const [serve] = app.server.listeners('request') as [ServeRequest]
    app.server.removeAllListeners('request')
    app.server.on('request', deps.around(serve))
  }
  return app
}

function routeOf(table: readonly Route[], endpoint: Endpoint): Route {
  const route = table.find(({ name }) => name === endpoint.name)
  if (!route) throw new Error(`${endpoint.name} is not in the contract`)
  return route
}

function send(reply: FastifyReply, exchange: Exchange, answer: Answer<string | Buffer>): FastifyReply {
  const { raw } = reply.request
  reply
    .code(answer.status)
    .headers(COMMON_HEADERS)
    .headers(exchange.headers)
    .header('x-request-id', exchange.request_id)
  if (answer.headers) reply.headers(answer.headers)
  // While we are stopping, a connection left open would hold us up until it has idled away.
  const isStopping = !reply.server.server.listening
  if (isStopping || endsConnection(raw, exchange)) {
    reply.header('connection', 'close')
    closeGently(raw.socket)
  }
  exchange.decide()
  return reply.send(answer.body)
}

/** Whatever is left of a message that was not read to its end, or whose end is in doubt, must not become the next request. */
function endsConnection(request: IncomingMessage, { match, refused }: Exchange): boolean {
  if (request.httpVersion !== '1.1') return true
  if ('refusal' in match && match.endsConnection) return true
  if (refused && BODY_REFUSALS.has(refused.type)) return true
  return carriesBody(request) && !request.complete
}
const BODY_REFUSALS: ReadonlySet<ErrorType> = new Set(['payload_too_large', 'request_timeout'])
