import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { newId } from '../platform/text/ids.ts'
import { type Refusal, refuse } from '../platform/trouble.ts'
import { MALFORMED } from './receive-body.ts'
import { COMMON_HEADERS, type RefusalAnswer, toRefusalAnswer } from './refusal-answer.ts'

/** How long the input of a refused connection is read and discarded, so that a reset does not destroy its answer. */
const LINGER_MS = 2_000

/** Refusals before there is a request: an invalid request line, headers that never end. */
export function refuseOnSockets(
  server: Server,
  onRefusal: (request_id: string, answer: RefusalAnswer) => void,
): void {
  const refuseConnection = (socket: Duplex, refusal: Refusal) => {
    if (socket.writable) {
      const request_id = newId('req', Date.now())
      const answer = toRefusalAnswer(refusal)
      onRefusal(request_id, answer)
      socket.end(rawAnswer(request_id, answer))
    }
    destroyAfterLinger(socket)
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Its answer is already being sent; faults in the rest of its bytes do not matter.
    if (ending.has(socket)) return
    const refusal = parserRefusal(error.code)
    if (!refusal) return void socket.destroy()
    discardInput(socket)
    afterEarlierAnswers(socket, (request) => {
      // A fault inside a body belongs to the request that waits for the body, which is answered and logged as usual.
      if (!request?.emit(MALFORMED, refusal)) refuseConnection(socket, refusal)
    })
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    discardInput(socket)
    afterEarlierAnswers(socket, () =>
      refuseConnection(
        socket,
        refuse('invalid_request', 'This service is not a proxy: CONNECT is not accepted.'),
      ),
    )
  })
}

/** With `Connection: close` Node destroys the socket as soon as the answer is written, and unread input would reset the connection. */
export function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    discardInput(socket)
    destroyAfterLinger(socket)
  }
}

/**
 * A fault in the bytes after a request must not lose that request its answer: it may have bought something. Calls back with the
 * request that the bytes belong to, if its headers were complete.
 */
function afterEarlierAnswers(socket: Duplex, act: (request?: IncomingMessage) => void) {
  const answer = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage
  if (!answer) return act()
  if (answer.req.complete) return void answer.once('close', () => afterEarlierAnswers(socket, act))
  // An answer that has started cannot be replaced; one given before the body was read ends the connection.
  if (!answer.headersSent) act(answer.req)
}

/** From here on, input is neither read as a request nor causes an error. */
function discardInput(socket: Duplex) {
  ending.add(socket)
  socket.on('error', () => {})
  // The parser bypasses the stream until the stream itself has a listener.
  socket.on('data', () => {})
  socket.removeAllListeners('data')
  socket.resume()
}
const ending = new WeakSet<Duplex>()

function destroyAfterLinger(socket: Duplex) {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Undefined when the connection failed rather than the bytes. */
function parserRefusal(code = ''): Refusal | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return refuse('request_timeout', 'The request did not arrive in time. Send it again.')
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return refuse('invalid_request', 'The request headers are too large.')
  }
  return code.startsWith('HPE_')
    ? refuse('invalid_request', 'This is not a well-formed HTTP/1.1 request.')
    : undefined
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
