import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** One address may not take all the sockets there are. 0 means no limit: behind a proxy all callers share its address. */
export function limitConnections(server: Server, perAddressMax: number): void {
  if (perAddressMax === 0) return
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const count = (open.get(address) ?? 0) + 1
    if (count > perAddressMax) return void socket.destroy()
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
    if (trustedProxyHops === 0) return peer
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
    return forwarded.at(-trustedProxyHops)?.trim() || peer
  }
}
