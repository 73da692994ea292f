import type { IncomingMessage, ServerResponse } from 'node:http'
import { COMMON_HEADERS, refuse, toRefusalAnswer } from '@shopwire/service/embedded'

const BODY_BYTES_MAX = 1_000_000

export function answerJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, COMMON_HEADERS)
  response.end(JSON.stringify(value))
}

export function answerRefusal(response: ServerResponse, error: unknown): void {
  const { status, body, headers } = toRefusalAnswer(error)
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { ...COMMON_HEADERS, ...headers })
  response.end(body)
}

/** Not an error type of the store: used only by the control interface. */
export function answerOwnRefusal(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
): void {
  answerJson(response, status, { error: { type, message } })
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) throw refuse('payload_too_large', `At most ${BODY_BYTES_MAX} bytes are read.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The JSON object of the body; an empty body is an empty object. */
export async function readObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  const text = (await readBody(request)).toString('utf8')
  if (text === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse('invalid_request', 'The body is not JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse('invalid_request', 'The body must be a JSON object.')
  return value as Record<string, unknown>
}
