import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { PORT_ATTEMPTS_MAX } from '../limits.ts'

/**
 * What a name resolves to at the moment: addresses, optionally after a chain of CNAMEs; `SERVFAIL` for a name server
 * that fails, `NXDOMAIN` for a name that does not exist, `SILENCE` for no answer at all.
 */
export type DnsAnswers = readonly string[] | 'SERVFAIL' | 'NXDOMAIN' | 'SILENCE'
export type DnsRule = (lookUp: number, family: 4 | 6) => DnsAnswers

export type DnsStub = Awaited<ReturnType<typeof startDnsStub>>

const [A, CNAME, AAAA] = [1, 5, 28] as const
/** Larger answers are sent over TCP only, as name servers do. */
const UDP_BYTES_MAX = 1_232
const TRUNCATED = 0x0200
const CODES = { SERVFAIL: 2, NXDOMAIN: 3 } as const

/** A small name server on 127.0.0.1. Answers have a TTL of 0, so that every look-up is sent here. */
export async function startDnsStub(port = 53) {
  const names = new Map<string, { rule: DnsRule; afterMs: number }>()
  const lookUps = new Map<string, number>()
  const answerTo = (query: Buffer, send: (answer: Buffer) => void) => {
    const { name, type, end } = question(query)
    const { rule, afterMs } = names.get(name) ?? UNKNOWN
    // Both address families are queried at once; only the first query of the pair counts as a look-up.
    const n = (lookUps.get(name) ?? 0) + (type === A ? 1 : 0)
    lookUps.set(name, n)
    const answers = rule(n, type === AAAA ? 6 : 4)
    if (answers === 'SILENCE') return
    const answer = reply(query.subarray(0, end), type, answers)
    if (afterMs === 0) send(answer)
    // The stub may have been closed meanwhile.
    else setTimeout(() => void (isOpen && send(answer)), afterMs)
  }
  let isOpen = true
  const { socket, overTcp } = await listenOnBoth(port)
  socket.on('message', (query, from) =>
    answerTo(query, (answer) => socket.send(fitted(answer, query), from.port, from.address)),
  )
  overTcp.on('connection', (client) => serveTcp(client, answerTo))
  return {
    port: socket.address().port,
    set(name: string, answers: DnsAnswers | DnsRule, { afterMs = 0 } = {}) {
      names.set(name, { rule: typeof answers === 'function' ? answers : () => answers, afterMs })
      lookUps.delete(name)
    },
    lookUps: (name: string) => lookUps.get(name) ?? 0,
    close() {
      isOpen = false
      socket.close()
      overTcp.close()
    },
  }
}

/** One port for UDP and TCP. Port 0 is any that is free for both: the one that is free for UDP may be in use for TCP. */
async function listenOnBoth(port: number, attemptsLeft = PORT_ATTEMPTS_MAX) {
  const overTcp = createServer()
  overTcp.listen(port, '127.0.0.1')
  await once(overTcp, 'listening')
  const socket = createSocket('udp4')
  try {
    socket.bind((overTcp.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'listening')
    return { socket, overTcp }
  } catch (error) {
    socket.close()
    overTcp.close()
    if (port !== 0 || attemptsLeft === 1) throw error
    return listenOnBoth(port, attemptsLeft - 1)
  }
}

const UNKNOWN = { rule: (): DnsAnswers => 'NXDOMAIN', afterMs: 0 }

/** Without its records when it is too large: the client asks again over TCP. */
function fitted(answer: Buffer, query: Buffer): Buffer {
  if (answer.length <= UDP_BYTES_MAX) return answer
  const head = reply(query.subarray(0, question(query).end), A, [])
  head.writeUInt16BE(head.readUInt16BE(2) | TRUNCATED, 2)
  return head
}

/** Each message has its length before it. */
function serveTcp(client: Socket, answerTo: (query: Buffer, send: (answer: Buffer) => void) => void) {
  let received = Buffer.alloc(0)
  client.on('error', () => {})
  client.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const query = received.subarray(2, 2 + received.readUInt16BE(0))
      received = received.subarray(2 + query.length)
      answerTo(query, (answer) => {
        const length = Buffer.alloc(2)
        length.writeUInt16BE(answer.length)
        client.write(Buffer.concat([length, answer]))
      })
    }
  })
}

function question(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function reply(question: Buffer, type: number, answers: Exclude<DnsAnswers, 'SILENCE'>): Buffer {
  const head = Buffer.from(question)
  const code = typeof answers === 'string' ? CODES[answers] : 0
  head.writeUInt16BE(0x8180 | code, 2)
  const isKnown = typeof answers !== 'string' && (type === A || type === AAAA)
  const records = isKnown ? recordsOf(type, answers) : []
  head.writeUInt16BE(records.length, 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  return Buffer.concat([head, ...records])
}

function recordsOf(type: typeof A | typeof AAAA, answers: readonly string[]): Buffer[] {
  const aliases = answers.filter((answer) => /[g-z]/.test(answer))
  const addresses = answers.filter(
    (answer) => !aliases.includes(answer) && answer.includes(':') === (type === AAAA),
  )
  const owners = [THE_QUESTION, ...aliases.map(nameBytes)]
  const last = owners.at(-1) as Buffer
  return [
    ...aliases.map((alias, n) => record(owners[n] as Buffer, CNAME, nameBytes(alias))),
    ...addresses.map((address) => record(last, type, type === A ? ipv4Bytes(address) : ipv6Bytes(address))),
  ]
}

/** A compression pointer to the name in the question. */
const THE_QUESTION = Buffer.from([0xc0, 0x0c])

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  // Type, class IN, a TTL of 0, length.
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, fixed, data])
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.alloc(1)])
}

function ipv4Bytes(address: string): Buffer {
  return Buffer.from(address.split('.').map(Number))
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::')
  const parts = (text: string) => (text === '' ? [] : text.split(':'))
  const missing = 8 - parts(head).length - parts(tail).length
  const all = [...parts(head), ...Array<string>(missing).fill('0'), ...parts(tail)]
  return Buffer.concat(all.map((part) => Buffer.from(part.padStart(4, '0'), 'hex')))
}
