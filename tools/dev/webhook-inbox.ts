import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { WebhookVerificationError, webhooks } from '@shopwire/sdk'
import { createAuthority, PUBLIC_ADDRESSES } from '@shopwire/test-kit/servers'
import { openKeptLines } from './kept-lines.ts'

export interface ReceivedEvent {
  readonly at: string
  readonly account: string
  readonly event: string
  readonly id: string
  /** What the receiver answered. */
  readonly status: number
  /** Whether the signature is right; otherwise why it is not. */
  readonly verdict: 'verified' | string
  /** Without the links of an order. */
  readonly body: string
}

export interface WebhookInbox {
  /** The events of the accounts go here. */
  readonly urls: { readonly lantern: string; readonly kestrel: string }
  /** For the worker: how it reaches them. */
  readonly settings: Readonly<Record<string, string>>
  /** Newest first. */
  events(): readonly ReceivedEvent[]
  close(): Promise<void>
}

export interface WebhookInboxOptions {
  /** Where received events are kept. */
  readonly file: string
  /** Accounts whose events go to a URL, and the secrets that sign them. */
  receiversAt(url: string): Promise<readonly { readonly name: string; readonly secrets: readonly string[] }[]>
  onEvent(): void
}

const BODY_BYTES_MAX = 1_048_576
const AUTHORITY_DAYS = 30
/**
 * The service sends events to public addresses only, in development too. This one is public and nobody is asked there: the worker goes
 * through a proxy of ours, which leads it to this machine.
 */
const [ADDRESS] = PUBLIC_ADDRESSES
const PORT = 443
const FAILING = '/kestrel/events'
/** Of every two minutes it is down for the first forty seconds: the retry a minute later finds it up again. */
const CYCLE_MS = 120_000
const DOWN_MS = 40_000
const isDown = (path: string) => path === FAILING && Date.now() % CYCLE_MS < DOWN_MS

/** A receiver with a certificate of its own, and the proxy by which the worker reaches it. Verifies with the SDK. */
export async function startWebhookInbox({
  file,
  receiversAt,
  onEvent,
}: WebhookInboxOptions): Promise<WebhookInbox> {
  const authority = await createAuthority({ days: AUTHORITY_DAYS })
  const events = await openKeptLines<ReceivedEvent>(file)
  const receiver = createHttpsServer(await authority.issue(`IP:${ADDRESS}`), async (request, response) => {
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of request) {
      size += chunk.length
      if (size <= BODY_BYTES_MAX) chunks.push(chunk)
    }
    const path = request.url ?? '/'
    const status = isDown(path) ? 503 : 200
    response
      .writeHead(status, { 'content-type': 'text/plain' })
      .end(status === 503 ? 'The shop is being updated' : 'ok')
    const raw = Buffer.concat(chunks)
    const received = await judge(`https://${ADDRESS}${path}`, raw, request.headers)
    await events.add({ at: new Date().toISOString(), status, ...received })
    onEvent()
  })

  async function judge(url: string, raw: Buffer, headers: Readonly<Record<string, unknown>>) {
    const parsed = parse(raw)
    const named = {
      event: String(parsed?.event ?? '?'),
      id: String(parsed?.id ?? '?'),
      body: withoutLinks(parsed),
    }
    let verdict = 'No account sends its events to this URL.'
    for (const { name, secrets } of await receiversAt(url)) {
      try {
        await webhooks.unwrap(raw, headers as Record<string, string>, { secrets: [...secrets] })
        return { account: name, verdict: 'verified', ...named }
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error
        verdict = error.message
      }
    }
    return { account: '?', verdict, ...named }
  }

  const proxy = createHttpServer().on('connect', (request, socket, head) => {
    const { hostname, port } = new URL(`http://${request.url}`)
    const isOurs = hostname === ADDRESS && (port === '' || port === String(PORT))
    const there = isOurs
      ? connect((receiver.address() as AddressInfo).port, '127.0.0.1')
      : connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''))
    there.once('connect', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      if (head.length > 0) there.write(head)
      there.pipe(socket).pipe(there)
    })
    there.once('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    socket.on('error', () => there.destroy())
  })
  for (const server of [receiver, proxy]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  return {
    urls: { lantern: `https://${ADDRESS}/lantern/events`, kestrel: `https://${ADDRESS}${FAILING}` },
    settings: {
      SHOPWIRE_EGRESS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      NODE_EXTRA_CA_CERTS: authority.file,
    },
    events: events.newestFirst,
    async close() {
      for (const server of [receiver, proxy]) {
        server.close()
        server.closeAllConnections()
      }
      await authority.remove()
    },
  }
}

interface Parsed {
  readonly id?: unknown
  readonly event?: unknown
  readonly data?: { readonly order?: { readonly links?: readonly unknown[] } }
}

function parse(raw: Buffer): Parsed | undefined {
  try {
    return JSON.parse(raw.toString('utf8')) as Parsed
  } catch {
    return undefined
  }
}

/** Whoever sees a link can redeem it. */
function withoutLinks(parsed: Parsed | undefined): string {
  const links = parsed?.data?.order?.links
  const shown = links
    ? {
        ...parsed,
        data: { ...parsed?.data, order: { ...parsed?.data?.order, links: links.map(() => '(hidden)') } },
      }
    : parsed
  return JSON.stringify(shown, null, 2)
}
