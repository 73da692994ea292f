import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { startConnectProxy } from '../proxies/connect-proxy.ts'
import { createAuthority } from '../servers/index.ts'
import { startHttpServer } from './http-server.ts'

/** A public address, which the proxy leads to the receiver: the SSRF guard has no test mode. */
export const PUBLIC_ADDRESS = '93.184.216.34'

export type PublicReceiver = Awaited<ReturnType<typeof startPublicReceiver>>

/** Takes events over HTTPS, behind an egress proxy through which its public address is reached, and everything else as it is. */
export async function startPublicReceiver() {
  const authority = await createAuthority()
  const arrivals: { headers: IncomingHttpHeaders; body: string }[] = []
  let answer = { status: 204, text: '' }
  const server = await startHttpServer(
    async (request, response) => {
      const body = await text(request)
      arrivals.push({ headers: request.headers, body })
      response.writeHead(answer.status).end(answer.text)
    },
    { tls: await authority.issue(`IP:${PUBLIC_ADDRESS}`) },
  )
  const proxy = await startConnectProxy(PUBLIC_ADDRESS, server.port)
  return {
    url: `https://${PUBLIC_ADDRESS}/hooks`,
    /** For SHOPWIRE_EGRESS_PROXY. */
    proxyUrl: proxy.url,
    /** For NODE_EXTRA_CA_CERTS. */
    authority: authority.file,
    arrivals,
    answersWith(status: number, text: string) {
      answer = { status, text }
    },
    async close() {
      proxy.close()
      await server.close()
      await authority.remove()
    },
  }
}
