import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { startConnectProxy } from '../proxies/connect-proxy.ts'
import { createAuthority } from '../servers/index.ts'

/** A public address, as endpoints must have; the egress proxy leads it to a receiver on this machine. */
const RECEIVER = '93.184.216.34'

export interface SentEvent {
  readonly event: string
  readonly data: { readonly order: { readonly id: string } }
}

/** A caller's receiver, and the egress proxy through which it is reached. Other addresses are reached as they are. */
export async function startHostedReceiver() {
  const authority = await createAuthority()
  const certificate = await authority.issue(`IP:${RECEIVER}`)
  const accepted: string[] = []
  let refuses: (event: SentEvent) => boolean = () => false
  const server = createServer(certificate, async (request, response) => {
    const event = JSON.parse(await text(request)) as SentEvent
    const isRefused = refuses(event)
    if (!isRefused) accepted.push(`${event.event} ${event.data.order?.id}`)
    response.writeHead(isRefused ? 503 : 200).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await startConnectProxy(RECEIVER, (server.address() as AddressInfo).port)
  return {
    url: `https://${RECEIVER}/hook`,
    /** For the programs, so that they reach it and trust it. */
    settings: {
      SHOPWIRE_EGRESS_PROXY: proxy.url,
      NODE_EXTRA_CA_CERTS: authority.file,
    },
    /** Each accepted event, as `order.delivered ord_…`. */
    accepted,
    /** Answers with 503 what this says; a new rule replaces the one before. */
    refuse(rule: (event: SentEvent) => boolean) {
      refuses = rule
    },
    async close() {
      server.closeAllConnections()
      server.close()
      proxy.close()
      await authority.remove()
    },
  }
}
