import type { IncomingMessage } from 'node:http'
import { BODY_ARRIVAL_MS_MAX, type Route, routes } from '@shopwire/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import { limitConnections } from './connections.ts'
import type { Answer, Endpoint } from './endpoint.ts'
import { type PipelineDeps, type Progress, runPipeline } from './pipeline.ts'
import { createInputReader } from './read-input.ts'
import { CallerGone, carriesBody, headersEndedAt, markHeadersEnd } from './receive-body.ts'
import { COMMON_HEADERS, type RefusalAnswer, toRefusalAnswer } from './refusal-answer.ts'
import { closeGently, refuseOnSockets } from './socket-refusals.ts'
import { createTicketOffice, type RoutedTicket, type Ticket } from './ticket.ts'

export interface EdgeDeps extends PipelineDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly connectionsPerAddressMax: number
}

/** All that happens to one request, kept beside it until its log line is written. */
interface Exchange extends Progress {
  readonly request_id: string
  readonly ticket: Ticket
  refused?: RefusalAnswer
  error?: unknown
}

const HEADERS_BYTES_MAX = 16_384
const HEADERS_ARRIVAL_MS_MAX = 10_000
const IDLE_MS_MAX = 10_000
const CONNECTIONS_CHECK_MS = 250
const NO_ROUTE = '/-'

/** The HTTP surface: Fastify carries the requests, the contract's route table says which there are. */
export function createEdge(deps: EdgeDeps, endpoints: readonly Endpoint[]): FastifyInstance {
  const mounted = endpoints.map((endpoint) => ({ endpoint, route: routeOf(endpoint) }))
  const issueTicket = createTicketOffice(mounted.map(({ route }) => route))
  const exchanges = new WeakMap<IncomingMessage, Exchange>()
  const exchangeOf = (request: FastifyRequest) => exchanges.get(request.raw) as Exchange

  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Fastify's router decodes, and folds spellings together. Ours has read the raw target already; it is handed a name.
    rewriteUrl(request) {
      markHeadersEnd(request)
      const ticket = issueTicket(request)
      exchanges.set(request, { ticket, request_id: newId('req', Date.now()), headers: {} })
      // A content type that Fastify cannot read would be refused by it; to us any is right, the bytes are signed.
      delete request.headers['content-type']
      return 'route' in ticket ? `/${ticket.route.name}` : NO_ROUTE
    },
    requestTimeout: HEADERS_ARRIVAL_MS_MAX + BODY_ARRIVAL_MS_MAX + 1_000,
    keepAliveTimeout: IDLE_MS_MAX,
    forceCloseConnections: 'idle',
    http: {
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: HEADERS_ARRIVAL_MS_MAX,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Node's own refusal of a missing Host has no body; the ticket office refuses it instead.
      requireHostHeader: false,
    },
    clientErrorHandler: () => {},
  })
  app.server.removeAllListeners('clientError')
  refuseOnSockets(app.server, (request_id, answer) => {
    deps.log.info({ request_id, status: answer.status, error_type: answer.type }, 'refused on the socket')
  })
  limitConnections(app.server, deps.connectionsPerAddressMax)
  // Otherwise Node would say "go on" before we know whether we want the body, and refuse other expectations without JSON.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (request, response) => app.server.emit('request', request, response))
  }

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.setNotFoundHandler((request) => {
    const { ticket } = exchangeOf(request)
    throw 'refusal' in ticket ? ticket.refusal : new Error('a ticket named a route that is not there')
  })
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof CallerGone) return reply.hijack()
    const exchange = exchangeOf(request)
    exchange.refused = toRefusalAnswer(error)
    exchange.error = error
    const { status, body, headers } = exchange.refused
    return send(reply, exchange, { status, body: body, headers })
  })
  app.addHook('onResponse', async (request, reply) => record(deps, exchangeOf(request), request, reply))

  for (const { endpoint, route } of mounted) {
    const input = createInputReader(route)
    app.route({
      method: route.method,
      url: `/${route.name}`,
      async handler(request, reply) {
        const exchange = exchangeOf(request)
        const ticket = exchange.ticket as RoutedTicket
        const answer = await runPipeline(deps, endpoint, input, ticket, request.raw, reply.raw, exchange)
        return send(reply, exchange, { ...answer, body: JSON.stringify(answer.body) })
      },
    })
  }
  return app
}

function routeOf(endpoint: Endpoint): Route {
  const route = routes.find(({ name }) => name === endpoint.name)
  if (!route) throw new Error(`${endpoint.name} is not in the contract`)
  return route
}

function send(reply: FastifyReply, exchange: Exchange, answer: Answer<string>): FastifyReply {
  const { raw } = reply.request
  reply
    .code(answer.status)
    .headers(COMMON_HEADERS)
    .headers(exchange.headers)
    .header('x-request-id', exchange.request_id)
  if (answer.headers) reply.headers(answer.headers)
  if (carriesBody(raw) && !raw.complete) {
    // Whatever is left of the body must not be read as the next request.
    reply.header('connection', 'close')
    closeGently(raw.socket)
  }
  return reply.send(answer.body)
}

/** One line per request, with what it ended in. Never its headers, query or body. */
function record(deps: EdgeDeps, exchange: Exchange, request: FastifyRequest, reply: FastifyReply) {
  const { ticket, caller, refused, error } = exchange
  const route = 'route' in ticket ? ticket.route.name : 'none'
  const seconds = (performance.now() - headersEndedAt(request.raw)) / 1000
  deps.metrics.requestDuration.observe({ method: request.method, route, status: reply.statusCode }, seconds)
  const line = {
    request_id: exchange.request_id,
    method: request.method,
    route,
    status: reply.statusCode,
    ms: Math.round(seconds * 1_000_000) / 1000,
    ...(caller && { key_id: caller.key_id, account_id: caller.account_id }),
    ...(refused && { error_type: refused.type }),
  }
  if (error instanceof Refusal) deps.log.info({ ...line, why: error.facts }, 'request')
  else if (error instanceof Unavailable) {
    deps.metrics.unavailable.inc({ part: error.part })
    deps.log.warn({ ...line, err: error }, 'request')
  } else if (error !== undefined) deps.log.error({ ...line, err: error }, 'request')
  else deps.log.info(line, 'request')
}
