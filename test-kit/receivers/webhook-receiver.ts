import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { webhookHeadersLower } from '@shopwire/contract'
import { verifyWebhook } from '@shopwire/contract/signing'
import type { Journal } from '../invariants/index.ts'
import { startConnectProxy } from '../proxies/connect-proxy.ts'
import { createAuthority } from '../servers/index.ts'
import { startHttpServer } from './http-server.ts'

/** An event as it came, written down before it is answered. */
export interface Arrival {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever came; the test says what it should be
  readonly data: any
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Signed with a secret of its inbox, by the clock of this machine. */
  readonly isGenuine: boolean
  /** When the first of it came. */
  readonly atMs: number
  /** What it was answered with; 0 as long as it was not. */
  readonly status: number
}

export type Answering = (exchange: {
  readonly arrival: Arrival
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The TCP socket below TLS, which is needed to send a reset. */
  readonly wire: Socket
}) => void

/** Events that came to one URL, and how they are answered: with 204 as long as nothing else is said. */
export interface Inbox {
  readonly url: string
  readonly arrivals: Arrival[]
  /** The secrets it verifies with from now on. */
  setSecrets(...secrets: string[]): void
  answers(how: Answering): void
  answersWith(status: number, text?: string): void
}

/** Its own inbox takes what comes to any path that is not open. */
export interface WebhookReceiver extends Inbox {
  readonly port: number
  /** Without a path. */
  readonly origin: string
  /** An inbox at a path of its own. */
  open(name: string): Inbox
  close(): Promise<void>
}

export interface PublicReceiver extends WebhookReceiver {
  /** For the programs, so that they reach it and trust it. */
  readonly settings: { readonly SHOPWIRE_EGRESS_PROXY: string; readonly NODE_EXTRA_CA_CERTS: string }
}

export interface ReceiverOptions {
  readonly host?: string
  readonly port?: number
  readonly tls?: ServerOptions
  /** How senders reach it; http:// and its port on this machine by default. */
  readonly origin?: string
  /** Gets what came, and what was answered. */
  readonly journal?: Journal
}

/** A public address, as endpoints must have: the SSRF guard has no test mode. */
export const PUBLIC_ADDRESS = '93.184.216.34'

export async function startWebhookReceiver({
  origin: named,
  journal,
  ...place
}: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const scheme = place.tls ? 'https' : 'http'
  const inboxes = new Map<string, OpenInbox>()
  const wires = new Map<number, Socket>()
  const server = await startHttpServer(
    async (request, response) => {
      const atMs = Date.now()
      const body = await buffer(request).catch(() => undefined)
      // Cut off in the middle: nothing was received.
      if (!body) return
      const inbox = inboxes.get(request.url ?? '') ?? main
      const url = `${scheme}://${request.headers.host}${request.url}`
      const arrival = { ...inbox.read(request.headers, body), url, atMs, status: 0 }
      const receipt = journal?.received({
        event_id: arrival.id,
        url,
        body,
        is_genuine: arrival.isGenuine,
        signed_at: new Date(Number(request.headers[webhookHeadersLower.timestamp]) * 1000),
      })
      inbox.arrivals.push(arrival)
      const noteAnswer = () => {
        if (!response.headersSent) return
        arrival.status = response.statusCode
        receipt?.answered(response.statusCode)
      }
      response.on('finish', noteAnswer).on('close', noteAnswer)
      inbox.answer({ arrival, request, response, wire: wires.get(request.socket.remotePort ?? 0) as Socket })
      noteAnswer()
    },
    { ...place, onConnection: (wire) => void wires.set(wire.remotePort ?? 0, wire) },
  )
  const origin = named ?? `${scheme}://127.0.0.1:${server.port}`
  const main = openInbox(`${origin}/hook`)
  return {
    ...main,
    port: server.port,
    origin,
    open(name) {
      const inbox = openInbox(`${origin}/${name}`)
      inboxes.set(`/${name}`, inbox)
      return inbox
    },
    close: server.close,
  }
}

/** At a public address, to which an egress proxy leads; other addresses are reached through that as they are. */
export async function startPublicReceiver(): Promise<PublicReceiver> {
  const authority = await createAuthority()
  const tls = await authority.issue(`IP:${PUBLIC_ADDRESS}`)
  const receiver = await startWebhookReceiver({ origin: `https://${PUBLIC_ADDRESS}`, tls })
  const proxy = await startConnectProxy({
    route: (host, port) =>
      host === PUBLIC_ADDRESS ? { host: '127.0.0.1', port: receiver.port } : { host, port },
  })
  return {
    ...receiver,
    settings: { SHOPWIRE_EGRESS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: authority.file },
    async close() {
      proxy.close()
      await receiver.close()
      await authority.remove()
    },
  }
}

interface OpenInbox extends Inbox {
  read(headers: IncomingHttpHeaders, body: Buffer): Omit<Arrival, 'url' | 'atMs' | 'status'>
  answer: Answering
}

function openInbox(url: string): OpenInbox {
  let secrets: string[] = []
  const inbox: OpenInbox = {
    url,
    arrivals: [],
    setSecrets(...shared) {
      secrets = shared
    },
    answers(how) {
      inbox.answer = how
    },
    answersWith(status, text = '') {
      inbox.answer = ({ response }) => response.writeHead(status).end(text)
    },
    read(headers, body) {
      const isGenuine = verifyWebhook({ secrets, headers, body, nowS: Date.now() / 1000 }).ok
      return { ...parse(body), headers, body: body.toString(), isGenuine }
    },
    answer: ({ response }) => response.writeHead(204).end(),
  }
  return inbox
}

/** Something else than an event has no id. */
function parse(body: Buffer): Pick<Arrival, 'id' | 'event' | 'data'> {
  try {
    const { id = '', event = '', data } = JSON.parse(body.toString())
    return { id, event, data }
  } catch {
    return { id: '', event: '', data: undefined }
  }
}
