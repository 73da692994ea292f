import { type ReceiveOptions, receive } from '../webhooks/receive.ts'
import { type HeadersLike, type RawBody, WebhookVerificationError } from '../webhooks/verify.ts'

export interface Answer {
  readonly status: number
  readonly body: string
}

/** What an endpoint answers. What the handler throws is left to the framework, which answers 5xx: the event comes again. */
export async function answerTo(
  body: RawBody,
  headers: HeadersLike,
  options: ReceiveOptions,
): Promise<Answer> {
  try {
    const outcome = await receive(body, headers, options)
    // Not 2xx: the delivery under way may yet fail, and then this one is needed.
    return outcome === 'busy' ? { status: 409, body: 'busy' } : { status: 200, body: outcome }
  } catch (error) {
    if (error instanceof WebhookVerificationError) return { status: 400, body: error.reason }
    throw error
  }
}

/** For everything that speaks Request and Response. */
export async function respondTo(request: Request, options: ReceiveOptions): Promise<Response> {
  if (request.bodyUsed) {
    throw new TypeError(
      'The body of this request was read before. A webhook needs its raw bytes: hand over the request unread.',
    )
  }
  const { status, body } = await answerTo(await request.arrayBuffer(), request.headers, options)
  return new Response(body, { status })
}
