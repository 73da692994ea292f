import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request as it came over the wire. */
export interface Arrived {
  readonly method: string
  /** Path and query, raw. */
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  readonly atMs: number
}

/** How the server treats one request: an answer, or an action on its socket. */
export type Step = (response: ServerResponse, arrived: Arrived, socket: Socket) => void

export interface ScriptedServer {
  readonly baseUrl: string
  /** Everything that arrived, /status included. */
  readonly arrived: Arrived[]
  stop(): Promise<void>
}

const noStepLeft = refuse(500, 'internal_error')

/** Executes its steps in order and then repeats the last one. `/status` may have a separate answer. */
export async function startServer(
  steps: readonly Step[],
  status?: Step,
  last: Step = noStepLeft,
): Promise<ScriptedServer> {
  const arrived: Arrived[] = []
  const left = [...steps]
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers, socket } = request
      const one = { method, target: url, headers, body: Buffer.concat(chunks), atMs: performance.now() }
      arrived.push(one)
      const step = status && url.endsWith('/status') ? status : (left.shift() ?? last)
      step(response, one, socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    arrived,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function answer(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'X-Request-Id': 'req_test', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export function refuse(status: number, type: string, headers: Record<string, string> = {}): Step {
  return answer(status, { error: { type, message: `${type}, as text` } }, headers)
}

/** Reads the request and closes the connection without an answer. */
export const hangUp: Step = (_response, _arrived, socket) => void socket.destroy()

/** Sends the head of an answer and half of its body, then closes the connection. */
export const cutShort: Step = (response, _arrived, socket) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' })
  response.write('{"balance_cents":')
  setImmediate(() => socket.destroy())
}

/** Sends the head of an answer and never its body. */
export const stall: Step = (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' })
  response.write('{')
}

/** Never answers. */
export const silence: Step = () => {}
