import { type ReceiveOptions, receive } from '../webhooks/receive.ts'
import { type HeadersLike, type RawBody, WebhookVerificationError } from '../webhooks/verify.ts'

/** No event is nearly this large. */
const BODY_BYTES_MAX = 1_048_576

export interface Answer {
  readonly status: number
  readonly body: string
}

/**
 * Builds the endpoint's answer. An error thrown by the handler is left to the framework, which answers 5xx, so the
 * store sends the event again.
 */
export async function answerTo(
  body: RawBody,
  headers: HeadersLike,
  options: ReceiveOptions,
): Promise<Answer> {
  try {
    const outcome = await receive(body, headers, options)
    // Not 2xx: the delivery being handled may still fail, and then this one is needed.
    return outcome === 'busy' ? { status: 409, body: 'busy' } : { status: 200, body: outcome }
  } catch (error) {
    if (error instanceof WebhookVerificationError) return { status: 400, body: error.reason }
    throw error
  }
}

/** For frameworks that use the web's Request and Response. */
export async function respondTo(request: Request, options: ReceiveOptions): Promise<Response> {
  if (request.bodyUsed) {
    throw new TypeError(
      'The body of this request was already read. A webhook signature covers its raw bytes: pass the request with its body unread.',
    )
  }
  const raw = await readRaw(chunksOf(request.body))
  const { status, body } = raw ? await answerTo(raw, request.headers, options) : TOO_LARGE
  return new Response(body, { status })
}

export const TOO_LARGE: Answer = { status: 413, body: 'too large' }

/** Undefined when the body is larger than any event: without a limit, an unauthenticated sender could fill the memory. */
export async function readRaw(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const kept: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) return undefined
    kept.push(chunk)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of kept) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

/** Not every runtime can iterate over a stream. */
async function* chunksOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void> {
  const reader = stream?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    // The rest of the body is not needed. Cancelling a stream that has ended or failed throws, which is harmless here.
    await reader.cancel().catch(() => {})
  }
}
