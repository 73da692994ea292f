import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  /** Of all addresses together: every socket costs memory, one with an unfinished request up to a tenth of a megabyte. */
  readonly max: number
  /** 0 means no limit: behind a proxy all callers share its address. */
  readonly perAddressMax: number
  onRefused(limit: 'all' | 'address'): void
}

/** One address may not take all the sockets there are, and all together not all the memory. */
export function limitConnections(server: Server, { max, perAddressMax, onRefused }: ConnectionLimits): void {
  server.maxConnections = max
  server.on('drop', () => onRefused('all'))
  if (perAddressMax === 0) return
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = neighbourhood(socket.remoteAddress ?? '')
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

/** Who is calling: the socket's address, or what the nearest trusted proxy says of it. Callers can write the rest. */
export function addressReader(trustedProxyHops: number): (request: IncomingMessage) => string {
  return (request) => {
    const peer = request.socket.remoteAddress ?? ''
    if (trustedProxyHops === 0) return neighbourhood(peer)
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
    return neighbourhood(forwarded.at(-trustedProxyHops)?.trim() || peer)
  }
}

/** One customer of a provider holds 2^64 IPv6 addresses; counted one by one they would never reach a limit. */
export function neighbourhood(address: string): string {
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
