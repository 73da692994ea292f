import type { FastifyReply } from 'fastify'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { Refusal, Unavailable } from '../platform/trouble.ts'
import type { Progress } from './pipeline.ts'
import { headersEndedAt } from './receive-body.ts'
import type { RefusalAnswer } from './refusal-answer.ts'
import type { Match } from './route-matcher.ts'

/** All that happens to one request, kept beside it until its log line is written. */
export interface Exchange extends Progress {
  readonly request_id: string
  readonly match: Match
  /** Holds once there is an answer, or nobody left to answer. */
  readonly decided: Promise<void>
  decide(): void
  refused?: RefusalAnswer
  error?: unknown
}

/** In the log only: the caller hung up before it was answered. */
const GONE_STATUS = 499

export function openExchange(match: Match): Exchange {
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    match,
    request_id: newId('req', Date.now()),
    headers: {},
    decided: promise,
    decide: resolve,
  }
}

/**
 * One line per request, with what it ended in, once it is decided and the connection is done with it: a caller that hangs
 * up meanwhile is logged all the same. Never its headers, query or body.
 */
export function recordWhenOver(
  deps: { log: Log; metrics: Metrics },
  exchange: Exchange,
  reply: FastifyReply,
) {
  reply.raw.once('close', () => void exchange.decided.then(() => record(deps, exchange, reply)))
}

function record({ log, metrics }: { log: Log; metrics: Metrics }, exchange: Exchange, reply: FastifyReply) {
  const { match, caller, refused, error } = exchange
  const { method, raw } = reply.request
  const route = 'route' in match ? match.route.name : 'file' in match ? 'file' : 'none'
  const status = reply.raw.writableFinished ? reply.statusCode : GONE_STATUS
  const seconds = (performance.now() - headersEndedAt(raw)) / 1000
  metrics.requestDuration.observe({ method, route, status }, seconds)
  const line = {
    request_id: exchange.request_id,
    method,
    route,
    status,
    ms: Math.round(seconds * 1_000_000) / 1000,
    ...(caller && { key_id: caller.key_id, account_id: caller.account_id }),
    ...(refused && { error_type: refused.type }),
  }
  if (error instanceof Refusal) log.info({ ...line, why: error.facts }, 'request')
  else if (error instanceof Unavailable) {
    metrics.unavailable.inc({ part: error.part })
    log.warn({ ...line, err: error }, 'request')
  } else if (error !== undefined) log.error({ ...line, err: error }, 'request')
  else log.info(line, 'request')
}
