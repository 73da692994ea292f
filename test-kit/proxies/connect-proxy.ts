import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

/** An egress proxy that leads one public address to a port of this machine, and lets everything else through as it is. */
export async function startConnectProxy(publicAddress: string, port: number) {
  const server = createServer()
    .on('connect', ({ url = '' }, socket) => {
      const [host = '', itsPort] = url.split(':')
      const to = host === publicAddress ? { host: '127.0.0.1', port } : { host, port: Number(itsPort) }
      const there = connect(to, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        there.pipe(socket).pipe(there)
      })
      there.on('error', () => socket.destroy())
      socket.on('error', () => there.destroy())
    })
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** For SHOPWIRE_EGRESS_PROXY. */
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
