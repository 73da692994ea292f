import type { IncomingMessage } from 'node:http'
import { type Route, type Scope, scopeForBody } from '@shopwire/contract'
import { type AccessDeps, admitCaller, rateHeaders, rereadCaller } from '../../access/admit-caller.ts'
import { authorise, type Caller } from '../../access/caller.ts'
import { readCredentials } from '../../access/credentials.ts'
import type { KeyUsage } from '../../access/key-usage.ts'
import type { Evidence, EvidenceWriter } from '../../orders/placing/evidence.ts'
import type { LoadShedding } from '../../platform/batching/load-shedding.ts'
import type { Clock } from '../../platform/clock.ts'
import { inSpan } from '../../platform/observability/tracing.ts'
import { refuse } from '../../platform/trouble.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { EdgeMetrics } from '../metrics.ts'
import { bodyNotTaken, type InputReader } from '../read-input.ts'
import { receiveBody, refuseDeclaredLength } from '../receive-body.ts'
import type { Answer, Exchange, RouteMatch } from '../route-family.ts'

export interface PipelineDeps {
  readonly access: AccessDeps
  readonly metrics: Pick<EdgeMetrics, 'orderRequests'>
  readonly clock: Clock
  readonly load: Pick<LoadShedding, 'enter'>
  readonly evidence: Pick<EvidenceWriter, 'add'>
  readonly usage: Pick<KeyUsage, 'request' | 'order' | 'quote'>
  addressOf(request: IncomingMessage): string
  readonly interference?: Interference
}

/** One signed route of the contract. */
export interface SignedRoute {
  readonly endpoint: Endpoint
  readonly route: Route
  readonly scope: Scope
  readonly input: InputReader
}

/** Faults that the emulator injects into signed requests. A real store has none. */
export interface Interference {
  /** The time that its timestamp is compared with. */
  nowMs(request: IncomingMessage): number
  /** Called when the body has arrived and nothing is verified yet. May refuse the request. */
  received(request: IncomingMessage): void
  /** Called when the request is admitted and valid. May refuse it, drop its answer or delay it. */
  carryOut(admitted: Admitted, work: () => Promise<Answer<unknown>>): Promise<Answer<unknown>>
}

export interface Admitted {
  readonly request: IncomingMessage
  readonly route: Route
  readonly caller: Caller
  /** Validated by the contract. */
  readonly body: unknown
}

/**
 * From headers to answer, in the fixed order of checks: declared length, form and clock, body, key and signature, load, nonce,
 * limits, suspension and scope, validation, then the endpoint. Every refusal is thrown.
 */
export async function runPipeline(
  deps: PipelineDeps,
  route: SignedRoute,
  match: RouteMatch,
  exchange: Exchange,
): Promise<Answer<unknown>> {
  let leave: (() => void) | undefined
  try {
    return await answerSigned(deps, route, match, exchange, (account_id) => {
      leave = deps.load.enter(account_id)
    })
  } finally {
    leave?.()
  }
}

async function answerSigned(
  deps: PipelineDeps,
  { endpoint, route, scope, input }: SignedRoute,
  match: RouteMatch,
  exchange: Exchange,
  onProven: (account_id: string) => void,
): Promise<Answer<unknown>> {
  const { request } = exchange
  const nowMs = deps.clock.nowMs()
  let buyer: Caller | undefined
  if (route.bucket === 'orders') {
    exchange.onEnd = ({ refused, status }) => {
      if (refused !== null) deps.metrics.orderRequests.inc({ outcome: refused })
      else if (buyer && status === BOUGHT) deps.usage.order(buyer, request, nowMs)
    }
  }
  if (route.name === 'postQuote') {
    exchange.onEnd = ({ refused }) => {
      if (buyer && refused === null) deps.usage.quote(buyer, request, nowMs)
    }
  }
  refuseDeclaredLength(request)

  const { interference } = deps
  const credentials = readCredentials(request.headers, interference?.nowMs(request) ?? nowMs)
  const body = await receiveBody(request, exchange.response)
  interference?.received(request)
  const { span } = exchange
  const signed = { method: route.method, target: match.target, body, isOrder: route.bucket === 'orders' }
  const caller = span
    ? await inSpan(span, 'admission', 'internal', {}, () =>
        admitCaller(deps.access, credentials, signed, onProven),
      )
    : await admitCaller(deps.access, credentials, signed, onProven)
  // After the signature: only an authenticated caller may add to our traces.
  span?.linkTo(request.headers.traceparent as string | undefined)
  exchange.actor = { key_id: caller.key_id, account_id: caller.account_id }
  deps.usage.request(caller, request, nowMs)
  buyer = caller
  exchange.headers = rateHeaders(caller.usage)

  authorise(caller, scope)
  if (body.length > 0 && route.body === undefined) throw bodyNotTaken(route.method)
  refuseEncodedBody(request)
  const query = input.query(match.query)
  const value = input.body(body)
  const extraScope = scopeForBody(route, value)
  if (extraScope !== null) authorise(caller, extraScope)
  const call = {
    caller,
    query,
    body: value,
    id: match.id,
    ifNoneMatch: request.headers['if-none-match'],
    async readmit() {
      const fresh = await rereadCaller(deps.access, caller)
      authorise(fresh, scope)
      return fresh
    },
    // Read the clock again: the body may have taken seconds to arrive.
    nowMs: deps.clock.nowMs(),
    request_id: exchange.request_id,
    span,
    address: () => deps.addressOf(request),
    note(evidence: Evidence) {
      const { account_id, key_id } = caller
      const { request_id } = exchange
      const { onEnd } = exchange
      exchange.onEnd = (end) => {
        onEnd?.(end)
        deps.evidence.add({ ...evidence, ...end, account_id, key_id, request_id })
      }
    },
  }
  if (!interference) return endpoint.handle(call)
  return interference.carryOut({ request, route, caller, body: value }, () => endpoint.handle(call))
}

/** The status of an order that was bought by this request, not by an earlier one. */
const BOUGHT = 201

/** The signature covers the bytes as sent. The decompressed form of a compressed body is not signed and has no limit. */
function refuseEncodedBody({ headers }: IncomingMessage) {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw refuse('invalid_request', 'Send the body uncompressed: Content-Encoding is not accepted.')
  }
}
