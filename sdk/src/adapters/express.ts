import type { ReceiveOptions } from '../webhooks/receive.ts'
import type { RawBody } from '../webhooks/verify.ts'
import { answerTo } from './answer.ts'

/** Far more than any event has. */
const BODY_BYTES_MAX = 1_048_576

/** What we use of Express's request, which is Node's. */
export interface ExpressRequest extends AsyncIterable<Uint8Array> {
  headers: Record<string, string | string[] | undefined>
  body?: unknown
}

export interface ExpressResponse {
  statusCode: number
  end(body: string): unknown
}

/**
 * `app.post('/hooks', webhook({ secrets, onEvent }))`, before any `express.json()`. It reads the body itself, or takes what
 * `express.raw()` left. Works with every server that follows Node's request and response.
 */
export function webhook(
  options: ReceiveOptions,
): (request: ExpressRequest, response: ExpressResponse, next: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const raw = await readRaw(request)
      const { status, body } = raw
        ? await answerTo(raw, request.headers, options)
        : { status: 413, body: 'too large' }
      response.statusCode = status
      response.end(body)
    } catch (error) {
      next(error)
    }
  }
}

/** Undefined when there is too much of it. */
async function readRaw(request: ExpressRequest): Promise<RawBody | undefined> {
  // Whatever a parser left there is told apart later, and a parsed object refused with advice.
  if (request.body !== undefined) return request.body as RawBody
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
