import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { verifyWebhook } from '@shopwire/contract/signing'
import type { Certificate } from '@shopwire/engines'

export interface Received {
  readonly id: string
  readonly event: string
  readonly path: string
  readonly body: string
  readonly isGenuine: boolean
  readonly atMs: number
}

export type Manner = (request: IncomingMessage, response: ServerResponse) => void

/** A receiver that keeps the five rules: checks the raw bytes first, in constant time, by its own clock, each id once. */
export async function startReceiver(address: string, certificate: Certificate, port = 443) {
  const received: Received[] = []
  const handled = new Set<string>()
  let secrets: string[] = []
  let connections = 0
  let manner: Manner = (_request, response) => response.writeHead(204).end()

  const server = createServer({ ...certificate, minVersion: 'TLSv1.2' }, async (request, response) => {
    const body = await buffer(request)
    const isGenuine = verifyWebhook({ secrets, headers: request.headers, body, nowS: Date.now() / 1000 }).ok
    const { id, event } = JSON.parse(body.toString()) as { id: string; event: string }
    if (isGenuine) handled.add(id)
    received.push({ id, event, path: request.url ?? '', body: body.toString(), isGenuine, atMs: Date.now() })
    manner(request, response)
  })
  server.on('connection', () => {
    connections += 1
  })
  server.on('tlsClientError', () => {})
  server.listen(port, address)
  await once(server, 'listening')
  return {
    received,
    handled,
    connections: () => connections,
    knows(...shared: string[]) {
      secrets = shared
    },
    behaves(how: Manner) {
      manner = how
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
