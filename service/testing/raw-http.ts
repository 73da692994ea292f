import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'

/** One answer, parsed strictly: a status line, headers, exactly Content-Length bytes. */
export interface RawAnswer {
  readonly status: number
  /** Names in lower case. Repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type RawLine = Awaited<ReturnType<typeof openLine>>

interface ReadOptions {
  /** An answer to HEAD has a length and no body. */
  readonly isHead?: boolean
}

/** A raw HTTP connection: sends exactly the bytes given, when they are given. */
export async function openLine(port: number, localAddress = '127.0.0.1') {
  const socket = createConnection({ port, host: '127.0.0.1', localAddress, noDelay: true })
  await once(socket, 'connect')
  const incoming = collect(socket)
  return {
    socket,
    /** Undefined until the server has closed its side or the connection is gone. */
    closed: incoming.closed,
    wasReset: () => incoming.wasReset,
    send(bytes: string | Uint8Array) {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    },
    /** Closes the sending side and keeps reading. */
    endSending: () => void socket.end(),
    /** The next answer; undefined when the connection ended without one. */
    async next(options: ReadOptions = {}): Promise<RawAnswer | undefined> {
      for (;;) {
        const answer = takeAnswer(incoming, options)
        if (answer) return answer
        if (incoming.isClosed) {
          if (incoming.bytes.length > 0)
            throw new Error(`half an answer: ${incoming.bytes.toString('latin1')}`)
          return undefined
        }
        await incoming.change()
      }
    },
    /** All remaining answers, up to the end of the connection. */
    async rest(options: ReadOptions = {}): Promise<RawAnswer[]> {
      const answers: RawAnswer[] = []
      for (;;) {
        const answer = await this.next(options)
        if (!answer) return answers
        answers.push(answer)
      }
    },
    close: () => void socket.destroy(),
  }
}

/** Sends the bytes and reads until the server closes. */
export async function converse(
  port: number,
  bytes: string | Uint8Array,
  options: ReadOptions = {},
): Promise<RawAnswer[]> {
  const line = await openLine(port)
  line.send(bytes)
  try {
    return await line.rest(options)
  } finally {
    line.close()
  }
}

/** The single answer to a request, after which the server closes or is asked to. */
export async function ask(
  port: number,
  bytes: string | Uint8Array,
  options: ReadOptions = {},
): Promise<RawAnswer> {
  const line = await openLine(port)
  line.send(bytes)
  try {
    const answer = await line.next(options)
    if (!answer) throw new Error('the connection was closed without an answer')
    return answer
  } finally {
    line.close()
  }
}

export type HeaderList = Readonly<Record<string, string>> | readonly (readonly [string, string])[]

/** A request as bytes. Only the Host header is added, and nothing is checked. */
export function requestBytes(
  method: string,
  target: string,
  headers: HeaderList = {},
  body: string | Uint8Array = '',
  version = 'HTTP/1.1',
): Buffer {
  const list = Array.isArray(headers) ? headers : Object.entries(headers)
  const lines = [`${method} ${target} ${version}`, 'Host: shop', ...list.map(([n, v]) => `${n}: ${v}`)]
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    typeof body === 'string' ? Buffer.from(body) : body,
  ])
}

/** The body in chunks of the given size, with the terminating one. */
export function chunked(body: string | Uint8Array, size = Number.POSITIVE_INFINITY): Buffer {
  const bytes = Buffer.from(body)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, Math.min(bytes.length, at + size))
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

interface Incoming {
  bytes: Buffer
  isClosed: boolean
  wasReset: boolean
  readonly closed: Promise<void>
  change(): Promise<void>
}

function collect(socket: Socket): Incoming {
  let wake = () => {}
  let onClosed = () => {}
  const incoming: Incoming = {
    bytes: Buffer.alloc(0),
    isClosed: false,
    wasReset: false,
    closed: new Promise((resolve) => {
      onClosed = resolve
    }),
    change: () =>
      new Promise((resolve) => {
        wake = resolve
      }),
  }
  const close = () => {
    incoming.isClosed = true
    onClosed()
    wake()
  }
  socket.on('data', (chunk: Buffer) => {
    incoming.bytes = Buffer.concat([incoming.bytes, chunk])
    wake()
  })
  socket.on('error', (error: NodeJS.ErrnoException) => {
    incoming.wasReset ||= error.code === 'ECONNRESET'
  })
  socket.on('end', close).on('close', close)
  return incoming
}

function takeAnswer(incoming: Incoming, { isHead = false }: ReadOptions): RawAnswer | undefined {
  const headEnd = incoming.bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = incoming.bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(statusLine)?.[1])
  if (!status) throw new Error(`not a status line: ${statusLine}`)
  const headers = readHeaders(lines)
  const hasBody = status >= 200 && status !== 204 && status !== 304 && !isHead
  const length = hasBody ? Number(headers['content-length'] ?? Number.NaN) : 0
  if (Number.isNaN(length)) throw new Error(`an answer without a length: ${statusLine}`)
  const bodyEnd = headEnd + 4 + length
  if (incoming.bytes.length < bodyEnd) return undefined
  const body = incoming.bytes.subarray(headEnd + 4, bodyEnd).toString('utf8')
  incoming.bytes = incoming.bytes.subarray(bodyEnd)
  return { status, headers, body }
}

function readHeaders(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): *(.*?) *$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw new Error(`not a header: ${line}`)
    const lower = name.toLowerCase()
    headers[lower] = headers[lower] === undefined ? value : `${headers[lower]}, ${value}`
  }
  return headers
}
