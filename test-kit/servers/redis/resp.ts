import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { REDIS_COMMAND_MS_MAX } from '../limits.ts'
import { HOST } from '../network/ports.ts'

export type RedisReply = string | number | null | RedisReply[]

/** Credentials and TLS settings of a server. */
export interface RedisDoor {
  readonly port: number
  readonly password?: string | undefined
  /** The authority its certificate is from; without it the connection is not encrypted. */
  readonly caFile?: string | undefined
}

/** Sends one command on a new connection: slow, but no connection stays open when a server is killed. */
export function sendCommand(
  { port, password, caFile }: RedisDoor,
  args: string[],
  msMax = REDIS_COMMAND_MS_MAX,
): Promise<RedisReply> {
  const commands = password ? [['AUTH', password], args] : [args]
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const socket =
      caFile === undefined
        ? connect({ port, host: HOST })
        : connectTls({ port, host: HOST, ca: readFileSync(caFile) })
    const finish = (act: () => void) => {
      clearTimeout(timer)
      socket.destroy()
      act()
    }
    const timer = setTimeout(
      () => finish(() => reject(new Error(`no answer to ${args[0]} from port ${port} in ${msMax} ms`))),
      msMax,
    )
    socket.on(caFile === undefined ? 'connect' : 'secureConnect', () =>
      socket.write(commands.map(encode).join('')),
    )
    socket.on('error', (error) => finish(() => reject(error)))
    socket.on('close', () =>
      finish(() => reject(new Error(`port ${port} closed the connection on ${args[0]}`))),
    )
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      try {
        const replies = readReplies(received, commands.length)
        if (replies) finish(() => resolve(replies.at(-1) ?? null))
      } catch (error) {
        finish(() => reject(error))
      }
    })
  })
}

function encode(args: string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`
}

/** Undefined until all of them have arrived. */
function readReplies(bytes: Buffer, count: number): RedisReply[] | undefined {
  const replies: RedisReply[] = []
  let at = 0
  while (replies.length < count) {
    const read = readReply(bytes, at)
    if (!read) return undefined
    replies.push(read.value)
    at = read.end
  }
  return replies
}

function readReply(bytes: Buffer, from: number): { value: RedisReply; end: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n', from)
  if (lineEnd < 0) return undefined
  const kind = String.fromCharCode(bytes[from] ?? 0)
  const line = bytes.toString('utf8', from + 1, lineEnd)
  const next = lineEnd + 2
  if (kind === '+') return { value: line, end: next }
  if (kind === ':') return { value: Number(line), end: next }
  if (kind === '-') throw new Error(line)
  if (kind === '$') return readBulk(bytes, next, Number(line))
  if (kind === '*') return readArray(bytes, next, Number(line))
  throw new Error(`not a Redis reply: ${kind}${line}`)
}

function readBulk(bytes: Buffer, from: number, length: number) {
  if (length < 0) return { value: null, end: from }
  const end = from + length
  return bytes.length < end + 2 ? undefined : { value: bytes.toString('utf8', from, end), end: end + 2 }
}

function readArray(bytes: Buffer, from: number, length: number) {
  if (length < 0) return { value: null, end: from }
  const value: RedisReply[] = []
  let end = from
  for (let index = 0; index < length; index += 1) {
    const read = readReply(bytes, end)
    if (!read) return undefined
    value.push(read.value)
    end = read.end
  }
  return { value, end }
}
