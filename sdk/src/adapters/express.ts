import type { ReceiveOptions } from '../webhooks/receive.ts'
import { requireSecrets } from '../webhooks/secrets.ts'
import type { RawBody } from '../webhooks/verify.ts'
import { answerTo, readRaw, TOO_LARGE } from './answer.ts'

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
 * `express.raw()` left. Works with every server that follows Node's request and response; without a `next` function, what the
 * handler threw is written to stderr and answered with 500.
 */
export function webhook(
  options: ReceiveOptions,
): (request: ExpressRequest, response: ExpressResponse, next?: (error?: unknown) => void) => Promise<void> {
  requireSecrets(options.secrets)
  return async (request, response, next) => {
    try {
      // This may be whatever a parser left there; `rawBytes` rejects a parsed object with a message that says what to do.
      const raw = request.body === undefined ? await readRaw(request) : (request.body as RawBody)
      const { status, body } = raw === undefined ? TOO_LARGE : await answerTo(raw, request.headers, options)
      response.statusCode = status
      response.end(body)
    } catch (error) {
      if (next) return next(error)
      // Node's own server passes no `next`; an unhandled rejection would end the process.
      // biome-ignore lint/suspicious/noConsole: there is no framework to report the error to.
      console.error(error)
      response.statusCode = 500
      response.end('failed')
    }
  }
}
