import { once } from 'node:events'
import { connect as open, type Socket } from 'node:net'
import { connect as openTls } from 'node:tls'
import { undocumented } from './documented.ts'

/**
 * One keep-alive connection that sends exactly the bytes it is given, as often as it is asked to. Every answer it returns is
 * one that the OpenAPI document lists; any other fails the request.
 */
export interface Connection {
  /** May be called again before the first answer is there: requests are then pipelined. */
  send(bytes: Buffer): Promise<Answer>
  close(): void
}

export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever came back; the test says what it should be
  readonly body: any
  /** By the clock that never steps, just before the first byte left and just after the last one came. */
  readonly sentMs: number
  readonly receivedMs: number
}

/** The other side refused, reset or closed the connection; whether a request that was sent was carried out is unknown. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /** False when not a byte of the request went out. */
  readonly wasSent: boolean

  constructor(why: string, wasSent: boolean) {
    super(why)
    this.wasSent = wasSent
  }
}

const ANSWER_MS_MAX = 20_000
const REQUEST_LINE = /^([A-Z]+) (\S+) HTTP\/1\.[01]\r\n/

export interface Via {
  /** Ends TLS in between; the authority that issued its certificate. */
  readonly ca?: string
  /** Of this machine, from which the connection is made. */
  readonly localAddress?: string
  /** Sent before TLS begins, as by a load balancer that speaks the PROXY protocol. */
  readonly preface?: Buffer
}

export async function connect(port: number, { ca, localAddress, preface }: Via = {}): Promise<Connection> {
  const to = { port, host: '127.0.0.1', ...(localAddress && { localAddress }) }
  const plain = open(to)
  if (preface) plain.write(preface)
  const socket: Socket = ca ? openTls({ socket: plain, host: to.host, ca }) : plain
  socket.setNoDelay(true)
  const waiting: Waiting[] = []
  let received = Buffer.alloc(0)
  const lose = (why: string) => {
    socket.destroy()
    for (const { lost } of waiting.splice(0)) lost(new ConnectionLost(why, true))
  }
  await once(socket, ca ? 'secureConnect' : 'connect').catch((error: Error) => {
    throw new ConnectionLost(error.message, false)
  })
  socket.on('error', (error) => lose(error.message))
  socket.on('close', () => lose('closed by the other side'))
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (let answer = readAnswer(received); answer; answer = readAnswer(received)) {
      received = received.subarray(answer.size)
      waiting.shift()?.answered(answer)
    }
  })
  return {
    send: (bytes) => exchangeOn(socket, waiting, bytes, lose),
    close: () => void socket.destroy(),
  }
}

/** One request on a connection of its own. */
export async function exchange(port: number, bytes: Buffer): Promise<Answer> {
  const connection = await connect(port)
  try {
    return await connection.send(bytes)
  } finally {
    connection.close()
  }
}

interface Waiting {
  answered(answer: RawAnswer): void
  lost(error: ConnectionLost): void
}

interface RawAnswer {
  status: number
  headers: Record<string, string>
  text: string
  size: number
}

function exchangeOn(
  socket: Socket,
  waiting: Waiting[],
  bytes: Buffer,
  lose: (why: string) => void,
): Promise<Answer> {
  if (socket.destroyed) return Promise.reject(new ConnectionLost('closed before the request was sent', false))
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => lose(`no answer in ${ANSWER_MS_MAX} ms`), ANSWER_MS_MAX)
    const sentMs = performance.now()
    waiting.push({
      answered({ status, headers, text }) {
        clearTimeout(timer)
        const receivedMs = performance.now()
        const body = text === '' ? undefined : JSON.parse(text)
        const [, method = '', target = ''] = REQUEST_LINE.exec(bytes.toString('latin1', 0, 4096)) ?? []
        const fault = undocumented({ method, target, status, headers, body })
        if (fault !== undefined) reject(new Error(fault))
        else resolve({ status, headers, body, sentMs, receivedMs })
      },
      lost(error) {
        clearTimeout(timer)
        reject(error)
      },
    })
    socket.write(bytes)
  })
}

/** Undefined until the whole answer is there. Every answer of the service says how long it is. */
function readAnswer(bytes: Buffer): RawAnswer | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const bodyStart = headEnd + 4
  const size = bodyStart + Number(headers['content-length'])
  if (!Number.isInteger(size)) throw new Error(`an answer without its length: ${statusLine}`)
  if (bytes.length < size) return undefined
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    text: bytes.toString('utf8', bodyStart, size),
    size,
  }
}
