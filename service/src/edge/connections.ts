import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  /** For all addresses together: every socket costs memory, one with an unfinished request up to a tenth of a megabyte. */
  readonly max: number
  /** 0 means no limit: behind a proxy all callers share its address. */
  readonly perAddressMax: number
  onRefused(limit: 'all' | 'address'): void
}

/** Limits the sockets of one address, so that it cannot use up those of all others, and of all addresses, so that memory suffices. */
export function limitConnections(server: Server, { max, perAddressMax, onRefused }: ConnectionLimits): void {
  server.maxConnections = max
  server.on('drop', () => onRefused('all'))
  if (perAddressMax === 0) return
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = addressBlock(socket.remoteAddress ?? '')
    const count = (open.get(address) ?? 0) + 1
    if (count > perAddressMax) {
      onRefused('address')
      return void socket.destroy()
    }
    open.set(address, count)
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1
      if (left === 0) open.delete(address)
      else open.set(address, left)
    })
  })
}

/** The address of the caller: the socket's, or the one that the nearest trusted proxy reports. Callers can forge the rest of the header. */
export function addressReader(trustedProxyHops: number): (request: IncomingMessage) => string {
  return (request) => {
    const peer = request.socket.remoteAddress ?? ''
    if (trustedProxyHops === 0) return addressBlock(peer)
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
    return addressBlock(forwarded.at(-trustedProxyHops)?.trim() || peer)
  }
}

/** The address itself for IPv4, its /64 block for IPv6: one customer of a provider has 2^64 addresses and would never reach a limit. */
export function addressBlock(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped) return mapped[1] as string
  if (!address.includes(':')) return address
  const [front = '', back] = (address.split('%')[0] ?? '').split('::')
  const head = front === '' ? [] : front.split(':')
  const tail = back ? back.split(':') : []
  const gap = back === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...new Array<string>(gap).fill('0'), ...tail]
  return `${groups.slice(0, 4).join(':')}::/64`
}
