import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import { headersEndedAt } from './receive-body.ts'
import type { Exchange, PresentedError } from './route-family.ts'
import type { Match } from './route-matcher.ts'

/** The state of one request until its log line is written. */
export interface OpenExchange extends Exchange {
  readonly match: Match
  /** Resolves once there is an answer, or nobody left to answer. */
  readonly decided: Promise<void>
  decide(): void
  error?: unknown
  presented?: PresentedError
}

/** In the log only: the caller hung up before it was answered. */
const GONE_STATUS = 499

export function openExchange(match: Match, request: IncomingMessage, response: ServerResponse): OpenExchange {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    match,
    request,
    response,
    request_id: newId('req', Date.now()),
    contentType: request.headers['content-type'],
    headers: {},
    decided: promise,
    decide: resolve,
  }
}

/**
 * One line per request with its outcome, written when it is decided and its response is closed, so that a caller that hangs up
 * meanwhile is logged too. Never its headers, query or body.
 */
export function recordWhenOver(
  deps: { log: Log; metrics: Metrics },
  exchange: OpenExchange,
  reply: FastifyReply,
) {
  reply.raw.once('close', () => void exchange.decided.then(() => record(deps, exchange, reply)))
}

function record(
  { log, metrics }: { log: Log; metrics: Metrics },
  exchange: OpenExchange,
  reply: FastifyReply,
) {
  const { match, presented, error } = exchange
  const { method, raw } = reply.request
  const route = 'route' in match ? match.route.name : 'none'
  const isAnswered = reply.raw.writableFinished || (exchange.isOpenEnded === true && reply.raw.headersSent)
  const status = isAnswered ? reply.statusCode : GONE_STATUS
  exchange.onEnd?.({
    status: reply.statusCode,
    refused: presented?.type ?? null,
    isSent: reply.raw.writableFinished,
  })
  const seconds = (performance.now() - headersEndedAt(raw)) / 1000
  if (!exchange.isOpenEnded) metrics.requestTimer(method, route, status).observe(seconds)
  const line = {
    request_id: exchange.request_id,
    method,
    route,
    status,
    duration_ms: Math.round(seconds * 1_000_000) / 1000,
    ...exchange.actor,
    ...(presented && { error_type: presented.type }),
  }
  if (error instanceof Refusal) log.info({ ...line, why: error.facts }, 'request')
  else if (error instanceof Unavailable) {
    metrics.unavailable.inc({ part: error.part })
    log.warn({ ...line, err: error }, 'request')
  } else if (error !== undefined) log.error({ ...line, err: error }, 'request')
  else log.info(line, 'request')
}
