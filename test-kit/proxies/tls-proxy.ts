import { request as forward } from 'node:http'
import { startHttpServer } from '../receivers/http-server.ts'
import { createAuthority } from '../servers/index.ts'

/** A reverse proxy that ends TLS, as one stands in front of the dashboard in production. */
export interface TlsProxy {
  /** Such as https://dashboard.localhost:40123: for SHOPWIRE_DASHBOARD_ORIGIN, with SHOPWIRE_TRUSTED_PROXY_HOPS=1. */
  readonly origin: string
  /** Of the authority that browsers and clients have to trust, as a file in PEM format. */
  readonly authorityFile: string
  /** Where requests go from now on. Until it is called they are answered with 502. */
  forwardTo(port: number): void
  close(): Promise<void>
}

/** Passes on the Host header as it came, adds the client's address, and streams both ways without collecting anything. */
export async function startTlsProxy(
  name = 'dashboard.localhost',
  ownPort?: number,
  host = '127.0.0.1',
): Promise<TlsProxy> {
  const authority = await createAuthority()
  const tls = await authority.issue(`DNS:${name}`)
  let target: number | undefined
  const server = await startHttpServer(
    (request, response) => {
      if (target === undefined) return void response.writeHead(502).end()
      const headers = {
        ...request.headers,
        'x-forwarded-for': request.socket.remoteAddress ?? '',
        'x-forwarded-proto': 'https',
      }
      const onward = forward(
        { host: '127.0.0.1', port: target, method: request.method, path: request.url, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
          // Headers of a stream must not wait for its first event.
          response.flushHeaders()
          answer.pipe(response)
        },
      )
      onward.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
      response.on('close', () => onward.destroy())
      request.pipe(onward)
    },
    { tls, host, ...(ownPort !== undefined && { port: ownPort }) },
  )
  return {
    origin: `https://${name}:${server.port}`,
    authorityFile: authority.file,
    forwardTo(port) {
      target = port
    },
    async close() {
      await server.close()
      await authority.remove()
    },
  }
}
