import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { newId } from '../platform/ids.ts'
import { COMMON_HEADERS, type RefusalAnswer, refusalAnswer } from './refusal-answer.ts'

/** How long a refused connection is read on and thrown away, so that its answer is not lost to a reset. */
const LINGER_MS = 1_000

/** Refusals before there is a request to speak of: a line that is not HTTP, headers that never end. */
export function refuseOnSockets(
  server: Server,
  onRefusal: (request_id: string, answer: RefusalAnswer) => void,
): void {
  const refuse = (socket: Duplex, answer: RefusalAnswer) => {
    const request_id = newId('req', Date.now())
    onRefusal(request_id, answer)
    if (!socket.writable) return void socket.destroy()
    socket.end(rawAnswer(request_id, answer))
    destroyAfterLinger(socket)
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // An answer that has begun cannot be replaced by another.
    const hasAnswer = (socket as Socket & { _httpMessage?: { headersSent: boolean } })._httpMessage
      ?.headersSent
    if (error.code === 'ECONNRESET' || hasAnswer) return void socket.destroy()
    refuse(socket, parserRefusal(error.code))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    refuse(socket, refusalAnswer('invalid_request', 'This service is not a proxy: CONNECT is not taken.'))
  })
}

/** With `Connection: close` Node ends the socket as soon as the answer is written; unread bytes would reset it. */
export function closeGently(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    destroyAfterLinger(socket)
  }
}

function destroyAfterLinger(socket: Duplex) {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.on('error', () => {}).once('close', () => clearTimeout(timer))
  socket.resume()
}

function parserRefusal(code: string | undefined): RefusalAnswer {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refusalAnswer(
        'request_timeout',
        'The request headers did not arrive in time. Send the request again.',
      )
    case 'HPE_HEADER_OVERFLOW':
      return refusalAnswer('invalid_request', 'The request headers are larger than we read.')
    default:
      return refusalAnswer('invalid_request', 'This is not a well-formed HTTP/1.1 request.')
  }
}

function rawAnswer(request_id: string, { status, body, headers }: RefusalAnswer): string {
  const all = {
    ...COMMON_HEADERS,
    ...headers,
    'x-request-id': request_id,
    date: new Date().toUTCString(),
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}
