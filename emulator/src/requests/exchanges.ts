import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { BASE_PATH, BODY_BYTES_MAX, requestHeadersLower, routes } from '@shopwire/contract'
import { matchMistake } from '@shopwire/contract/signature-mistakes'
import { canonicalRequest } from '@shopwire/contract/signing'
import { newId, type ServeRequest } from '@shopwire/service/embedded'
import type { Faults, Taken } from '../faults/faults.ts'
import type { Journal } from '../store/journal.ts'
import type { RecordedRequest } from '../types.ts'
import type { Keys } from './keys.ts'

/** One request in progress, with what is known before the service handles it. */
export interface Exchange {
  readonly account_id: string | undefined
  /** The fault reserved for this request. */
  readonly taken: Taken | undefined
  /** Whether the service has started on it. A pipelined request on a connection that breaks is never started. */
  isBegun: boolean
  /** The name of the fault that took effect. */
  fired: string | undefined
  /** The answer is computed but not sent. */
  losesAnswer: boolean
  /** A 502 without a body is sent instead of the answer. */
  isReplaced: boolean
  /** The time for the Date header, when it differs from the clock. */
  dateMs: number | undefined
}

export interface Exchanges {
  around(serve: ServeRequest): ServeRequest
  of(request: IncomingMessage): Exchange | undefined
  /** Finds the request by key and nonce, the only parts that admission gets. */
  signedWith(key_id: string, nonce: string): Exchange | undefined
}

export interface ExchangeDeps {
  readonly journal: Journal
  readonly faults: Faults
  readonly keys: Keys
  onAnswer(request: Omit<RecordedRequest, 'seq'>): void
}

/** How much of an oversized body is recorded. */
const BODY_KEPT_BYTES = 4 * BODY_BYTES_MAX
/** How long to wait for the body of a dropped request, so that it can be shown. */
const BODY_WAIT_MS = 500
/** How long to wait after the caller disconnected, because the service may still be working on the request. */
const UNDER_WAY_MS_MAX = 10_000

/** Observes each request before the service and each answer after it, and changes them only for a fault. */
export function createExchanges(deps: ExchangeDeps): Exchanges {
  const { faults, keys } = deps
  const byRequest = new WeakMap<IncomingMessage, Exchange>()
  const bySignature = new Map<string, Exchange>()

  function open(request: IncomingMessage): Exchange {
    const key_id = header(request, requestHeadersLower.key)
    const account_id = key_id === null ? undefined : keys.accountOf(key_id)
    const route = routeOf(request)
    const isSigned = account_id !== undefined && route !== undefined
    return {
      account_id,
      taken: isSigned ? faults.take('request', { account_id, route }) : undefined,
      isBegun: false,
      fired: undefined,
      losesAnswer: false,
      isReplaced: false,
      dateMs: undefined,
    }
  }

  return {
    of: (request) => byRequest.get(request),
    signedWith: (key_id, nonce) => bySignature.get(`${key_id} ${nonce}`),
    around: (serve) => (request, response) => {
      const exchange = open(request)
      const { taken } = exchange
      const record = recorder(deps, exchange, request)
      if (taken?.name === 'dropped_connection' && taken.fire()) {
        exchange.fired = taken.name
        return drop(request, () => record({ status: null, isSent: false, answer: '', id: null }))
      }
      const signature = `${header(request, requestHeadersLower.key)} ${header(request, requestHeadersLower.nonce)}`
      byRequest.set(request, exchange)
      bySignature.set(signature, exchange)
      watchAnswer(exchange, response, (answered) => {
        if (bySignature.get(signature) === exchange) bySignature.delete(signature)
        taken?.release()
        record(answered)
      })
      serve(request, response)
    },
  }
}

interface Answered {
  readonly status: number | null
  readonly isSent: boolean
  readonly answer: string
  /** The service's request id. */
  readonly id: string | null
}

/** Calls back once, when the answer is sent, is lost, or will never be sent. */
function watchAnswer(exchange: Exchange, response: ServerResponse, done: (answered: Answered) => void) {
  const chunks: Buffer[] = []
  let status: number | null = null
  let isEnded = false
  let isDone = false
  const { socket } = response.req
  const finish = (isSent: boolean) => {
    if (isDone) return
    isDone = true
    forget()
    const id = response.getHeader('x-request-id')
    done({
      status,
      isSent,
      answer: Buffer.concat(chunks).toString('utf8'),
      id: named ?? (id ? String(id) : null),
    })
  }
  let named: string | null = null
  const keep = (chunk: unknown) => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk))
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const { writeHead, end } = response
  response.writeHead = ((code: number, ...rest: unknown[]) => {
    status = code
    const headers = rest.findLast((one) => typeof one === 'object' && one !== null) as
      | Record<string, unknown>
      | undefined
    named = headers && 'x-request-id' in headers ? String(headers['x-request-id']) : null
    if (exchange.dateMs !== undefined) response.setHeader('date', new Date(exchange.dateMs).toUTCString())
    if (exchange.losesAnswer) return response
    if (exchange.isReplaced) {
      status = 502
      return (writeHead as (...args: unknown[]) => ServerResponse).call(response, 502, {
        'content-length': 0,
      })
    }
    return (writeHead as (...args: unknown[]) => ServerResponse).call(response, code, ...rest)
  }) as typeof response.writeHead
  response.end = ((chunk?: unknown, ...rest: unknown[]) => {
    if (exchange.isReplaced) chunk = undefined
    keep(chunk)
    isEnded = true
    status ??= response.statusCode
    if (exchange.losesAnswer) {
      socket.resetAndDestroy()
      finish(false)
      return response
    }
    if (socket.destroyed) finish(false)
    return (end as (...args: unknown[]) => ServerResponse).call(response, chunk, ...rest)
  }) as typeof response.end
  response.once('finish', () => finish(true))
  const closed = () => {
    if (isEnded) finish(response.writableFinished)
    else if (!exchange.isBegun) finish(false)
    else setTimeout(() => finish(false), UNDER_WAY_MS_MAX).unref()
  }
  response.once('close', closed)
  // A pipelined request that has not started is not notified of the end of the connection.
  const forget = whenGone(socket, closed)
}

const waitingForEnd = new WeakMap<Socket, Set<() => void>>()

/** One listener per connection, however many requests it carries. */
function whenGone(socket: Socket, act: () => void): () => void {
  const known = waitingForEnd.get(socket)
  const acts = known ?? new Set()
  if (!known) {
    waitingForEnd.set(socket, acts)
    socket.once('close', () => {
      for (const one of acts) one()
    })
  }
  acts.add(act)
  return () => acts.delete(act)
}

/** Records the exchange in the journal. */
function recorder(
  { journal, faults, keys, onAnswer }: ExchangeDeps,
  exchange: Exchange,
  request: IncomingMessage,
) {
  const startedMs = performance.now()
  const at = new Date().toISOString()
  const body = tee(request)
  const target = request.url ?? ''
  const method = request.method ?? ''
  const key_id = header(request, requestHeadersLower.key)
  const timestamp = header(request, requestHeadersLower.timestamp)
  const nonce = header(request, requestHeadersLower.nonce)
  const signature = header(request, requestHeadersLower.signature)

  return ({ status, isSent, answer, id }: Answered) => {
    const duration_ms = Math.round((performance.now() - startedMs) * 100) / 100
    const bytes = body()
    const error_type = errorTypeOf(status, answer)
    const isClosed = error_type === 'store_closed' && faults.isArmedForAll('store_closed')
    const isSigned = timestamp !== null && nonce !== null
    const parts = isSigned ? { method, target, timestamp, nonce, body: bytes } : undefined
    const caller = {
      ...(key_id && { keyId: key_id }),
      ...(request.headers.host && { host: request.headers.host }),
    }
    const write = (secret: string | undefined) => {
      const isWrong = error_type === 'authentication_failed' && signature !== null
      const line = {
        id: id ?? newId('req', Date.now()),
        at,
        duration_ms,
        method,
        target,
        account_id: exchange.account_id ?? null,
        key_id,
        timestamp,
        nonce,
        idempotency_key: idempotencyKeyIn(bytes),
        headers: headersOf(request),
        body: bytes.toString('utf8'),
        status,
        sent: isSent,
        error_type,
        answer,
        canonical: parts ? canonicalRequest(parts) : null,
        mistake: isWrong && parts && secret ? matchMistake({ ...parts, ...caller, secret, signature }) : null,
        fault: exchange.fired ?? (isClosed ? 'store_closed' : null),
      }
      journal.add('request', line)
      onAnswer(line)
    }
    const known = key_id === null ? undefined : keys.knownSecret(key_id)
    if (known !== undefined || key_id === null) return write(known)
    void keys.secretOf(key_id).then(write, () => write(undefined))
  }
}

/** Records the body's bytes as they are read, and whether they are read at all. */
function tee(request: IncomingMessage): () => Buffer {
  const chunks: Buffer[] = []
  let size = 0
  const { push } = request
  request.push = (chunk: unknown, ...rest: []) => {
    if (chunk instanceof Uint8Array && size < BODY_KEPT_BYTES) {
      chunks.push(Buffer.from(chunk))
      size += chunk.length
    }
    return push.call(request, chunk, ...rest)
  }
  return () => Buffer.concat(chunks)
}

function drop(request: IncomingMessage, done: () => void) {
  const { socket } = request
  const timer = setTimeout(end, BODY_WAIT_MS)
  let isOver = false
  function end() {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    socket.resetAndDestroy()
    done()
  }
  request.on('error', () => {})
  request.once('end', end).once('close', end).resume()
}

/** The route in the form of `on`; undefined for unsigned routes. */
function routeOf({ method, url = '' }: IncomingMessage): string | undefined {
  const [path = ''] = url.split('?', 1)
  const route = routes.find((one) => {
    if (one.method !== method || one.scope === null) return false
    const whole = BASE_PATH + one.path
    if (!whole.endsWith('{id}')) return whole === path
    const front = whole.slice(0, -'{id}'.length)
    return path.startsWith(front) && path.length > front.length && !path.slice(front.length).includes('/')
  })
  return route && `${route.method} ${route.path}`
}

function header({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name]
  return typeof value === 'string' ? value : null
}

/** Headers in their original spelling. Repeated headers are joined, as HTTP allows. */
function headersOf({ rawHeaders }: IncomingMessage): Record<string, string> {
  // A Map: a header may be called constructor, or __proto__.
  const headers = new Map<string, string>()
  for (let place = 0; place + 1 < rawHeaders.length; place += 2) {
    const [name = '', value = ''] = rawHeaders.slice(place, place + 2)
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value)
  }
  return Object.fromEntries(headers)
}

function errorTypeOf(status: number | null, answer: string): string | null {
  if (status === null || status < 400) return null
  try {
    return String((JSON.parse(answer) as { error: { type: string } }).error.type)
  } catch {
    return null
  }
}

function idempotencyKeyIn(body: Buffer): string | null {
  try {
    const { idempotency_key } = JSON.parse(body.toString('utf8')) as { idempotency_key?: unknown }
    return typeof idempotency_key === 'string' ? idempotency_key : null
  } catch {
    return null
  }
}
