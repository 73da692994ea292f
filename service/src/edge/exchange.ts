import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../platform/observability/log.ts'
import type { Span, Tracing } from '../platform/observability/tracing.ts'
import { newId } from '../platform/text/ids.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import type { EdgeMetrics } from './metrics.ts'
import { headersEndedAt } from './receive-body.ts'
import type { Exchange, PresentedError } from './route-family.ts'
import type { Match } from './route-matcher.ts'

/** The state of one request until its log line is written. */
export interface OpenExchange extends Exchange {
  readonly match: Match
  /** The request is answered, or its caller is gone. */
  decide(): void
  error?: unknown
  presented?: PresentedError
}

interface RecordDeps {
  readonly log: Log
  readonly metrics: Pick<EdgeMetrics, 'requestTimer' | 'unavailable'>
}

/** In the log only: the caller closed the connection before it was answered. */
const GONE_STATUS = 499

export function openExchange(match: Match, request: IncomingMessage, response: ServerResponse): OpenExchange {
  return {
    match,
    request,
    response,
    request_id: newId('req', Date.now()),
    headers: {},
    decide() {},
  }
}

/** By the name of its route, never by its path. */
export function beginTrace(tracing: Tracing, exchange: OpenExchange): void {
  const { match, request, request_id } = exchange
  const method = request.method ?? ''
  const attributes = { 'http.request.method': method, 'shopwire.request_id': request_id }
  exchange.span =
    'route' in match
      ? tracing.request(request_id, `${method} ${match.route.path}`, {
          ...attributes,
          'http.route': match.route.path,
          'shopwire.route': match.route.name,
        })
      : tracing.request(request_id, method, attributes)
}

/**
 * One line per request with its outcome, written when it is decided and its response is closed, so that a caller that closes the
 * connection meanwhile is logged too. Never its headers, query or body.
 */
export function recordWhenOver(deps: RecordDeps, exchange: OpenExchange) {
  const { response } = exchange
  let isDecided = false
  exchange.decide = () => {
    if (isDecided) return
    isDecided = true
    if (response.closed) record(deps, exchange)
  }
  response.once('close', () => {
    if (isDecided) record(deps, exchange)
  })
}

function record({ log, metrics }: RecordDeps, exchange: OpenExchange) {
  const { match, presented, error, request, response } = exchange
  const method = request.method ?? ''
  const route = 'route' in match ? match.route.name : 'none'
  const isAnswered = response.writableFinished || (exchange.isOpenEnded === true && response.headersSent)
  const status = isAnswered ? response.statusCode : GONE_STATUS
  exchange.onEnd?.({
    status: response.statusCode,
    refused: presented?.type ?? null,
    isSent: response.writableFinished,
  })
  const seconds = (performance.now() - headersEndedAt(request)) / 1000
  if (!exchange.isOpenEnded) metrics.requestTimer(method, route, status).observe(seconds)
  if (exchange.span) endTrace(exchange.span, exchange, status)
  const line = {
    request_id: exchange.request_id,
    method,
    route,
    status,
    duration_ms: Math.round(seconds * 1_000_000) / 1000,
    ...exchange.actor,
    ...exchange.span?.fields,
    ...(presented && { error_type: presented.type }),
  }
  if (error instanceof Refusal) log.info({ ...line, why: error.facts }, 'request')
  else if (error instanceof Unavailable) {
    metrics.unavailable.inc({ part: error.part })
    log.warn({ ...line, err: error }, 'request')
  } else if (error !== undefined) log.error({ ...line, err: error }, 'request')
  else log.info(line, 'request')
}

/** A refusal is an answer: only failures on our side are errors. */
function endTrace(span: Span, { actor = {}, presented }: OpenExchange, status: number) {
  for (const [name, value] of Object.entries(actor)) span.set({ [`shopwire.${name}`]: value })
  if (presented) span.set({ 'shopwire.refused': presented.type })
  if (status === GONE_STATUS) span.set({ 'shopwire.caller_gone': true })
  else span.set({ 'http.response.status_code': status })
  span.end(status >= 500 ? String(status) : undefined)
}
