import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/**
 * What a name stands for right now: addresses, before them names that it is only another name for; `SERVFAIL` for a resolver
 * that is not well.
 */
export type Answers = readonly string[] | 'SERVFAIL'

export type DnsStub = Awaited<ReturnType<typeof startDnsStub>>

const [A, CNAME, AAAA] = [1, 5, 28] as const

/** A name server of a few lines on 127.0.0.1:53. Answers have no life: every look-up comes here. */
export async function startDnsStub() {
  const names = new Map<string, (lookUp: number) => Answers>()
  const lookUps = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const { name, type, end } = question(query)
    const rule = names.get(name)
    // Both families are asked for at once; only the first of the pair counts as a look-up.
    const n = (lookUps.get(name) ?? 0) + (type === A ? 1 : 0)
    lookUps.set(name, n)
    socket.send(reply(query.subarray(0, end), type, rule?.(n)), from.port, from.address)
  })
  socket.bind(53, '127.0.0.1')
  await once(socket, 'listening')
  return {
    set(name: string, answers: Answers | ((lookUp: number) => Answers)) {
      names.set(name, typeof answers === 'function' ? answers : () => answers)
      lookUps.delete(name)
    },
    close: () => socket.close(),
  }
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

function reply(question: Buffer, type: number, answers: Answers | undefined): Buffer {
  const head = Buffer.from(question)
  const code = answers === 'SERVFAIL' ? 2 : answers === undefined ? 3 : 0
  head.writeUInt16BE(0x8180 | code, 2)
  const records = Array.isArray(answers) && (type === A || type === AAAA) ? recordsOf(type, answers) : []
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

/** A pointer to the name that was asked for. */
const THE_QUESTION = Buffer.from([0xc0, 0x0c])

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  // Type, class IN, a life of no seconds, length.
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
