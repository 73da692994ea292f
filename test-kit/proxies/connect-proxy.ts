import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Address, dial, join } from './relay.ts'

export type ConnectProxy = Awaited<ReturnType<typeof startConnectProxy>>

export interface ConnectProxyOptions {
  /** Where a target is led; a text such as `403 Forbidden` refuses it. As it is by default. */
  route?(host: string, port: number): Address | string
}

/** An egress proxy that says whom it was asked for. */
export async function startConnectProxy({
  route = (host, port) => ({ host, port }),
}: ConnectProxyOptions = {}) {
  const asked: string[] = []
  const refused: string[] = []
  const open = new Set<string>()
  const sockets = new Set<Socket>()
  const server = createServer((_, response) => response.writeHead(501).end())
    .on('connection', (socket) => {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    })
    .on('connect', ({ url: target = '' }, stream) => {
      const socket = stream as Socket
      const { hostname, port } = new URL(`tcp://${target}`)
      asked.push(target)
      const to = route(hostname.replace(/^\[|\]$/g, ''), Number(port))
      if (typeof to === 'string') {
        refused.push(target)
        return void socket.end(`HTTP/1.1 ${to}\r\ncontent-length: 0\r\n\r\n`)
      }
      open.add(target)
      socket.once('close', () => open.delete(target))
      const there = dial(to).once('connect', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
      join(socket, there)
    })
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** For SHOPWIRE_EGRESS_PROXY. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Every target it was asked for, as `host:port`. */
    asked,
    /** Those of them that it refused. */
    refused,
    /** Targets that it is connected to. */
    open,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
