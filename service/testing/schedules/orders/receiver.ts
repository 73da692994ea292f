import type { ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { WebhookEvent } from '@shopwire/contract'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import type { Sent } from '../../../src/platform/outbound/guarded-client.ts'
import type { Random } from '../../random.ts'

/** The receiver of one account, as it sees itself. */
export interface Receiver {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  becomeReliable(): void
}

/** The receivers of one lane, on one real port. */
export async function startReceivers() {
  const receivers = new Map<string, (event: WebhookEvent, response: ServerResponse) => void>()
  const server = await startHttpServer(async (request, response) => {
    const receive = receivers.get(String(request.url))
    if (!receive) response.writeHead(404).end()
    else receive((await json(request)) as WebhookEvent, response)
  })
  return {
    add(name: string, random: Random, note: (line: string) => void): Receiver {
      const events: WebhookEvent[] = []
      let isReliable = false
      receivers.set(`/${name}`, (event, response) => {
        const how = isReliable ? 'accepts' : random.weighted({ accepts: 6, fails: 2, loses: 1, refuses: 1 })
        note(`${how} ${event.event} ${event.id}`)
        if (how === 'accepts' || how === 'loses') events.push(event)
        if (how === 'loses') response.socket?.destroy()
        else response.writeHead({ accepts: 200, fails: 500, refuses: 410 }[how]).end()
      })
      return {
        url: `http://127.0.0.1:${server.port}/${name}`,
        events,
        becomeReliable() {
          isReliable = true
        },
      }
    },
    close: server.close,
  }
}

/** Where the store believes it sent to: it dials no others. */
const PUBLIC_ADDRESS = '93.184.216.34'

export async function postTo(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<Sent> {
  try {
    const answer = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) })
    await answer.body?.cancel()
    const { status } = answer
    return { error: answer.ok ? null : `http_${status}`, status, remote_address: PUBLIC_ADDRESS }
  } catch {
    return { error: 'reset', status: null, remote_address: PUBLIC_ADDRESS }
  }
}
