import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

export interface HttpServerOptions {
  readonly host?: string
  /** A free one by default. */
  readonly port?: number
  /** Uses HTTPS with these. */
  readonly tls?: ServerOptions | undefined
  /** Called with every TCP connection, below TLS. */
  readonly onConnection?: (socket: Socket) => void
}

/** An external server, on a real socket. */
export interface HttpServer {
  readonly port: number
  /** Ends open connections too. */
  close(): Promise<void>
}

export async function startHttpServer(
  listener: RequestListener,
  { host = '127.0.0.1', port = 0, tls, onConnection = () => {} }: HttpServerOptions = {},
): Promise<HttpServer> {
  const server = tls ? createTlsServer({ minVersion: 'TLSv1.2', ...tls }, listener) : createServer(listener)
  // A client that rejects the certificate is not a failure of this server.
  server.on('connection', onConnection).on('tlsClientError', () => {})
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
