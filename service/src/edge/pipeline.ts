import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Route, scopeForBody } from '@shopwire/contract'
import { type AccessDeps, admitCaller, rateHeaders, rereadCaller } from '../access/admit-caller.ts'
import { authorise, type Caller } from '../access/caller.ts'
import { readCredentials } from '../access/credentials.ts'
import type { Clock } from '../platform/clock.ts'
import type { Throttle } from '../platform/throttle.ts'
import { Refusal, refuse } from '../platform/trouble.ts'
import type { Answer, Call, Endpoint } from './endpoint.ts'
import type { InputReader } from './read-input.ts'
import { carriesBody, receiveBody, refuseDeclaredLength } from './receive-body.ts'
import type { RouteMatch } from './route-matcher.ts'

export interface PipelineDeps {
  readonly access: AccessDeps
  readonly clock: Clock
  addressOf(request: IncomingMessage): string
  readonly interference?: Interference
}

/** What may happen to a signed request on its way in a store that is made for trying things out. A real one has none of it. */
export interface Interference {
  /** The time by which its signature is judged. */
  nowMs(request: IncomingMessage): number
  /** Its body is here, and nothing is proven yet. May refuse it. */
  received(request: IncomingMessage): void
  /** It was let in and is sound. May refuse it, or the answer, or take its time. */
  carryOut(admitted: Admitted, work: () => Promise<Answer<unknown>>): Promise<Answer<unknown>>
}

export interface Admitted {
  readonly request: IncomingMessage
  readonly route: Route
  readonly caller: Caller
  /** As the contract has it. */
  readonly body: unknown
}

/** What is known of a request so far; the log line and the answer's headers are made from it, however it ends. */
export interface Progress {
  caller?: Caller
  headers: Record<string, string>
}

/**
 * From headers to answer, in the fixed order of checks: declared length, form and clock, body, key and signature, nonce,
 * limits, suspension and scope, validation, then the endpoint's own business. Each refusal leaves by an exception.
 */
export async function runPipeline(
  deps: PipelineDeps,
  endpoint: Endpoint,
  input: InputReader,
  match: RouteMatch,
  request: IncomingMessage,
  response: ServerResponse,
  progress: Progress,
): Promise<Answer<unknown>> {
  const { route } = match
  const nowMs = deps.clock.nowMs()
  refuseDeclaredLength(request)
  if (route.scope === null) {
    refuseBody(request)
    return endpoint.handle({
      ...emptyCall,
      query: input.query(match.query),
      id: match.id,
      nowMs,
    } as unknown as AnyCall)
  }

  const { interference } = deps
  const credentials = readCredentials(request.headers, interference?.nowMs(request) ?? nowMs)
  const body = await receiveBody(request, response)
  interference?.received(request)
  const caller = await admitCaller(deps.access, credentials, {
    method: route.method,
    target: match.target,
    body,
    isOrder: route.bucket === 'orders',
  })
  progress.caller = caller
  progress.headers = rateHeaders(caller.usage)

  const { scope } = route
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
    // Not the time of the headers: a body may take its time to arrive, and what happens now happens now.
    nowMs: deps.clock.nowMs(),
  } as AnyCall
  if (!interference) return endpoint.handle(call)
  return interference.carryOut({ request, route, caller, body: value }, () => endpoint.handle(call))
}

type AnyCall = Call<'getPing'> & Call<'getStatus'>
const emptyCall = { caller: undefined, query: undefined, body: undefined, ifNoneMatch: undefined }

/** Public files are counted by address: they are larger than what asks for them. */
export function refuseTooManyCalls(
  { access, clock, addressOf }: PipelineDeps,
  calls: Throttle,
  request: IncomingMessage,
): void {
  const waitMs = calls.hit(addressOf(request), clock.nowMs())
  if (waitMs === 0) return
  access.metrics.rateLimited.inc({ policy: 'public' })
  const seconds = Math.ceil(waitMs / 1000)
  throw new Refusal(
    'rate_limited',
    `Too many files were fetched from this address. Wait ${seconds} s.`,
    {},
    { 'retry-after': String(seconds) },
  )
}

export function refuseBody(request: IncomingMessage): void {
  if (carriesBody(request)) throw bodyNotTaken(request.method ?? '')
}

function bodyNotTaken(method: string) {
  return refuse('invalid_request', `This ${method} request takes no body; leave it out.`)
}

/** The signature covers the bytes as sent, so a compressed body could be proven and still be anything. */
function refuseEncodedBody({ headers }: IncomingMessage) {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw refuse('invalid_request', 'Send the body as it is: a Content-Encoding is not taken.')
  }
}
