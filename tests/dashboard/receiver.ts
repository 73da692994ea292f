import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from '@shopwire/contract/signing'
import { startConnectProxy } from '@shopwire/test-kit/proxies/connect-proxy'
import { createAuthority } from '@shopwire/test-kit/servers'

/** A public address, as endpoints must have; the egress proxy leads it to a receiver on this machine. */
const ADDRESS = '93.184.216.34'

export interface Arrival {
  readonly id: string
  readonly event: string
  readonly status: number
}

/** One customer's endpoint. It accepts what is signed with its secret, each id once. */
export interface Endpoint {
  readonly url: string
  readonly arrivals: readonly Arrival[]
  /** The secret it verifies with from now on. */
  setSecret(secret: string): void
  /** Answers everything with 503, or works again. */
  setBroken(isBroken: boolean): void
}

export interface Receivers {
  /** For SHOPWIRE_EGRESS_PROXY. */
  readonly proxyUrl: string
  /** For NODE_EXTRA_CA_CERTS. */
  readonly authorityFile: string
  open(name: string): Endpoint
  close(): Promise<void>
}

/** Customers' receivers behind one public address, and the egress proxy that leads there and lets everything else through. */
export async function startReceivers(): Promise<Receivers> {
  const authority = await createAuthority()
  const endpoints = new Map<string, (headers: NodeJS.Dict<string | string[]>, body: Buffer) => number>()
  const server = createServer(await authority.issue(`IP:${ADDRESS}`), async (request, response) => {
    const body = await buffer(request)
    response.writeHead(endpoints.get(request.url ?? '')?.(request.headers, body) ?? 404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy = await startConnectProxy(ADDRESS, (server.address() as AddressInfo).port)
  return {
    proxyUrl: proxy.url,
    authorityFile: authority.file,
    open(name) {
      const arrivals: Arrival[] = []
      let secrets: string[] = []
      let isBroken = false
      endpoints.set(`/${name}`, (headers, body) => {
        const { id, event } = JSON.parse(body.toString()) as { id: string; event: string }
        const isGenuine = verifyWebhook({ secrets, headers, body, nowS: Date.now() / 1000 }).ok
        const status = isBroken ? 503 : isGenuine ? 204 : 401
        arrivals.push({ id, event, status })
        return status
      })
      return {
        url: `https://${ADDRESS}/${name}`,
        arrivals,
        setSecret(secret) {
          secrets = [secret]
        },
        setBroken(yes) {
          isBroken = yes
        },
      }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      proxy.close()
      await authority.remove()
    },
  }
}
