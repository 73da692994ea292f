import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { webhookHeadersLower } from '@shopwire/contract'
import { verifyWebhook } from '@shopwire/contract/signing'
import type { Journal } from '@shopwire/test-kit/invariants'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import type { Certificate } from '@shopwire/test-kit/servers'

export interface Received {
  readonly id: string
  readonly event: string
  readonly url: string
  readonly body: string
  readonly headers: IncomingMessage['headers']
  readonly isGenuine: boolean
  /** When the first of it came. */
  readonly atMs: number
}

/** How a receiver answers; it has read and written down the event by then. */
export type Manner = (exchange: {
  readonly got: Received
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The TCP socket below TLS, which is needed to send a reset. */
  readonly wire: Socket
}) => void

export interface ReceiverOptions {
  readonly tls?: ServerOptions
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** A receiver that keeps the five rules: checks the raw bytes first, in constant time, by its own clock, each id once. */
export async function startReceiver(
  place: { address: string; port: number; origin: string; certificate: Certificate; journal: Journal },
  { tls = {} }: ReceiverOptions = {},
) {
  const received: Received[] = []
  const handled = new Set<string>()
  const wires = new Map<number, Socket>()
  let secrets: string[] = []
  let manner: Manner = ({ response }) => response.writeHead(204).end()

  const server = await startHttpServer(
    async (request, response) => {
      const atMs = Date.now()
      const body = await buffer(request).catch(() => undefined)
      // Cut off in the middle: nothing was received.
      if (!body) return
      const { headers } = request
      const isGenuine = verifyWebhook({ secrets, headers, body, nowS: Date.now() / 1000 }).ok
      const { id, event } = JSON.parse(body.toString()) as { id: string; event: string }
      if (isGenuine) handled.add(id)
      const url = `https://${headers.host}${request.url}`
      const receipt = place.journal.received({
        event_id: id,
        url,
        body,
        is_genuine: isGenuine,
        signed_at: new Date(Number(headers[webhookHeadersLower.timestamp]) * 1000),
      })
      const got: Received = { id, event, url, body: body.toString(), headers, isGenuine, atMs }
      received.push(got)
      const noteAnswer = () => response.headersSent && receipt.answered(response.statusCode)
      response.on('finish', noteAnswer).on('close', noteAnswer)
      manner({ got, request, response, wire: wires.get(request.socket.remotePort ?? 0) as Socket })
      noteAnswer()
    },
    {
      host: place.address,
      port: place.port,
      tls: { ...place.certificate, ...tls },
      onConnection: (wire) => void wires.set(wire.remotePort ?? 0, wire),
    },
  )
  return {
    origin: place.origin,
    received,
    handled,
    setSecrets(...shared: string[]) {
      secrets = shared
    },
    behaves(how: Manner) {
      manner = how
    },
    close: server.close,
  }
}
