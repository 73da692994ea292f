import type { IncomingMessage, ServerResponse } from 'node:http'
import { BODY_ARRIVAL_MS_MAX, BODY_BYTES_MAX } from '@shopwire/contract'
import { type Refusal, refuse } from '../platform/trouble.ts'

const NOTHING = Buffer.alloc(0)

/** Emitted on a request, with the Refusal to answer, when its body turns out not to be HTTP. */
export const MALFORMED = 'malformed'

/** A caller that declares too large a body is refused before it sends the body. */
export function refuseDeclaredLength(request: IncomingMessage, bytesMax = BODY_BYTES_MAX): void {
  const declared = request.headers['content-length']
  if (declared !== undefined && Number(declared) > bytesMax) throw tooLarge(bytesMax)
}

/** The exact bytes of the body: at most 16 KiB by default, within five seconds of the end of the headers. */
export function receiveBody(
  request: IncomingMessage,
  response: ServerResponse,
  bytesMax = BODY_BYTES_MAX,
): Promise<Buffer> {
  if (!carriesBody(request)) return Promise.resolve(NOTHING)
  // HTTP/1.0 has no interim answers; such a client would take the 100 for the final one.
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') response.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
      request.off(MALFORMED, onMalformed)
      settle()
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > bytesMax) finish(() => reject(tooLarge(bytesMax)))
    }
    const onEnd = () =>
      finish(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    const onClose = () => finish(() => reject(new CallerGoneError()))
    const onMalformed = (refusal: Refusal) => finish(() => reject(refusal))
    const timer = setTimeout(
      () => finish(() => reject(tooSlow())),
      BODY_ARRIVAL_MS_MAX - (performance.now() - headersEndedAt(request)),
    )
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
    request.on(MALFORMED, onMalformed)
  })
}

export function carriesBody({ headers }: IncomingMessage): boolean {
  const declared = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (declared !== undefined && Number(declared) > 0)
}

/** The connection ended before the request did, so there is no caller to answer. */
export class CallerGoneError extends Error {
  override readonly name = 'CallerGoneError'
}

/** Records when the headers were complete; the five seconds for the body begin here. */
export function markHeadersEnd(request: IncomingMessage): void {
  headersEnd.set(request, performance.now())
}

export function headersEndedAt(request: IncomingMessage): number {
  return headersEnd.get(request) ?? performance.now()
}
const headersEnd = new WeakMap<IncomingMessage, number>()

function tooLarge(bytesMax: number) {
  return refuse('payload_too_large', `The body is larger than the limit of ${bytesMax} bytes.`)
}

export function tooSlow() {
  return refuse(
    'request_timeout',
    `The body did not arrive within ${BODY_ARRIVAL_MS_MAX / 1000} seconds. Nothing was done; send it again with a fresh timestamp and nonce.`,
  )
}
