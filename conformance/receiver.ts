import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import { Mismatch } from './expect.ts'
import { webhookFault } from './signer.ts'

/** One event as it arrived, recorded before it is parsed. */
export interface Received {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: whatever came; the check says what it should be
  readonly json: any
  readonly timestamp: string | undefined
  readonly id: string | undefined
  readonly signature: string | undefined
  readonly atMs: number
}

export interface Answering {
  readonly status: number
  readonly headers?: Record<string, string>
}

/** A path of its own on the receiver, with all that came there. */
export interface Inbox {
  readonly url: string
  readonly received: readonly Received[]
  /** From now on; 204 before. */
  answers(how: (event: Received) => Answering): void
  /** Waits for the first that fits. */
  event(what: string, fits: (event: Received) => boolean, msMax?: number): Promise<Received>
}

export interface Receiver {
  open(): Inbox
  close(): Promise<void>
}

export interface ReceiverOptions {
  readonly host: string
  /** With 0, a free one that is added to `url`. */
  readonly port: number
  /** Without them it uses http://, as only an emulator does. */
  readonly cert?: string
  readonly key?: string
  /** How it is reached from the service, without a path. */
  readonly url: string
}

const SOON_MS = 20_000
const LOOK_EVERY_MS = 20

export async function startReceiver({ host, port, cert, key, url }: ReceiverOptions): Promise<Receiver> {
  const inboxes = new Map<string, { received: Received[]; answer: (event: Received) => Answering }>()
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request)
    const inbox = inboxes.get(request.url ?? '')
    if (!inbox) return void response.writeHead(404).end()
    const { headers, method = '' } = request
    const event: Received = {
      method,
      headers,
      body,
      json: parse(body),
      timestamp: one(headers['x-webhook-timestamp']),
      id: one(headers['x-webhook-id']),
      signature: one(headers['x-webhook-signature']),
      atMs: Date.now(),
    }
    inbox.received.push(event)
    const { status, headers: sent = {} } = inbox.answer(event)
    response.writeHead(status, sent).end()
  }
  const tls = cert !== undefined && key !== undefined ? { cert, key } : undefined
  const server = await startHttpServer(receive, { host, port, tls })
  const at = port === 0 ? `${url}:${server.port}` : url
  return {
    open() {
      const path = `/inbox/${randomBytes(9).toString('hex')}`
      const inbox = { received: [] as Received[], answer: (): Answering => ({ status: 204 }) }
      inboxes.set(path, inbox)
      return inboxOf(`${at.replace(/\/$/, '')}${path}`, inbox)
    },
    close: server.close,
  }
}

function inboxOf(
  url: string,
  inbox: { received: Received[]; answer: (event: Received) => Answering },
): Inbox {
  return {
    url,
    received: inbox.received,
    answers(how) {
      inbox.answer = how
    },
    async event(what, fits, msMax = SOON_MS) {
      const deadline = performance.now() + msMax
      for (;;) {
        const found = inbox.received.find(fits)
        if (found) return found
        if (performance.now() > deadline) {
          const came = inbox.received.map(({ json }) => json?.event ?? 'something unreadable')
          throw new Mismatch(
            `${what} within ${Math.round(msMax / 1000)} s`,
            came.length === 0 ? 'nothing' : `only ${came.join(', ')}`,
          )
        }
        await sleep(LOOK_EVERY_MS)
      }
    },
  }
}

/** As a careful receiver decides, by its own clock at the moment of arrival. */
export function faultOf(secret: string, event: Received): string | undefined {
  return webhookFault(secret, event, Math.floor(event.atMs / 1000))
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
