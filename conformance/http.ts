import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

/** Where a server is. Connections are not pooled, redirects not followed, bodies not decoded, nothing is retried: bytes go and come as they are. */
export interface Origin {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  /** Address to call from, where the machine has several. */
  readonly localAddress?: string
}

export type HeaderList = readonly (readonly [name: string, value: string])[]

export interface Answer {
  readonly version: string
  readonly status: number
  readonly headers: HeaderList
  readonly body: Buffer
  /** What was asked, for reports: the first line, without credentials. */
  readonly asked: string
  readonly ms: number
  /** Whether the other side closed the connection; only known when it was waited for. */
  readonly isClosed: boolean
}

export interface ExchangeOptions {
  /** How many answers to wait for on this connection. */
  readonly answers?: number
  /** How long to wait for the other side to close. */
  readonly closeMsMax?: number
  readonly answerMsMax?: number
}

/** No answer, or one that is not HTTP. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

const ANSWER_MS_MAX = 20_000

/** Sends bytes, with pauses (in milliseconds) between them where numbers stand, and reads that many answers. */
export async function exchange(
  origin: Origin,
  sending: Buffer | readonly (Buffer | number)[],
  { answers: wanted = 1, closeMsMax = 0, answerMsMax = ANSWER_MS_MAX }: ExchangeOptions = {},
): Promise<Answer[]> {
  const pieces = Buffer.isBuffer(sending) ? [sending] : sending
  const asked = firstLine(pieces)
  const socket = await open(origin)
  const startedMs = performance.now()
  const answers: Answer[] = []
  let received = Buffer.alloc(0)
  let isClosed = false
  let trouble = 'the connection was closed without an answer'
  const done = new Promise<void>((resolve) => {
    const read = () => {
      for (;;) {
        const parsed = readAnswer(received, isClosed, asked.startsWith('HEAD '))
        if (!parsed) break
        received = received.subarray(parsed.size)
        if (parsed.status === 100) continue
        answers.push({ ...parsed, asked, ms: performance.now() - startedMs, isClosed: false })
        if (answers.length >= wanted) return resolve()
      }
      if (isClosed) resolve()
    }
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      read()
    })
    socket.on('error', (error) => {
      trouble = error.message
    })
    socket.on('close', () => {
      isClosed = true
      read()
    })
    socket.on('end', () => {
      isClosed = true
      read()
    })
    setTimeout(() => {
      trouble = `no answer in ${answerMsMax} ms`
      resolve()
    }, answerMsMax).unref()
  })
  void send(socket, pieces)
  await done
  if (closeMsMax > 0 && !isClosed) {
    await Promise.race([once(socket, 'end').catch(() => {}), sleep(closeMsMax, undefined, { ref: false })])
  }
  socket.destroy()
  const [first] = answers
  if (!first) {
    throw new NoAnswer(
      `${asked}: ${trouble}${received.length > 0 ? `, only ${JSON.stringify(received.toString('latin1', 0, 200))}` : ''}`,
    )
  }
  return answers.map((answer) => ({ ...answer, isClosed }))
}

async function send(socket: Socket, pieces: readonly (Buffer | number)[]) {
  for (const piece of pieces) {
    if (socket.destroyed || !socket.writable) return
    if (typeof piece === 'number') await sleep(piece)
    else socket.write(piece)
  }
}

async function open({ host, port, isTls, localAddress }: Origin): Promise<Socket> {
  const where = { host, port, ...(localAddress !== undefined && { localAddress }) }
  const socket = isTls
    ? connectTls({ ...where, servername: host, ALPNProtocols: ['http/1.1'] })
    : connectTcp({ ...where, noDelay: true })
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect')
  } catch (error) {
    throw new NoAnswer(`${host}:${port} cannot be reached: ${(error as Error).message}`)
  }
  return socket
}

function firstLine(pieces: readonly (Buffer | number)[]): string {
  const head = pieces.find((piece) => Buffer.isBuffer(piece)) ?? Buffer.alloc(0)
  const [line = ''] = head.toString('latin1', 0, 300).split('\r\n')
  return line.replace(/ HTTP\/1\.1$/, '').slice(0, 160)
}

/** Undefined until all of it is there. */
function readAnswer(bytes: Buffer, isEnd: boolean, isHead: boolean) {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const
  })
  const [version = '', code = ''] = statusLine.split(' ')
  const status = Number(code)
  const body = readBody(bytes.subarray(headEnd + 4), status, headers, isEnd, isHead)
  return body && { version, status, headers, body: body.bytes, size: headEnd + 4 + body.size }
}

function readBody(rest: Buffer, status: number, headers: HeaderList, isEnd: boolean, isHead: boolean) {
  if (isHead || status === 304 || status === 204 || status === 100) return { bytes: Buffer.alloc(0), size: 0 }
  if (headerOf(headers, 'transfer-encoding')?.toLowerCase() === 'chunked') return readChunks(rest)
  const length = headerOf(headers, 'content-length')
  const size = length === undefined ? (isEnd ? rest.length : Number.POSITIVE_INFINITY) : Number(length)
  return rest.length >= size ? { bytes: Buffer.from(rest.subarray(0, size)), size } : undefined
}

function readChunks(rest: Buffer) {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(rest.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + size + 2
    if (rest.length < end) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), size: end }
    chunks.push(rest.subarray(lineEnd + 2, end - 2))
    at = end
  }
}

export function headerOf(headers: HeaderList, name: string): string | undefined {
  return headers.find(([found]) => found.toLowerCase() === name)?.[1]
}
