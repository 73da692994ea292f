import { setTimeout as sleep } from 'node:timers/promises'
import { webhookHeaders } from '@shopwire/contract/headers'
import { signWebhook } from '@shopwire/contract/signing'
import type { Dashboard } from '../store/dashboard.ts'
import { CliError, EXIT } from '../trouble.ts'
import type { Delivery, DeliverySource } from './delivery-source.ts'
import { readServerSentEvents, type ServerSentEvent } from './server-sent-events.ts'

const RECONNECT_MS_FIRST = 500
const RECONNECT_MS_MAX = 15_000
/** Ids of events that were passed on, in case the store sends one again after a reconnection. */
const REMEMBERED_MAX = 2_000

interface Ready {
  readonly account: { readonly name: string }
  readonly endpoint_url: string | null
  readonly with_links: boolean
}

interface StreamedEvent {
  readonly id: string
  readonly type: string
  readonly order_id: string | null
  readonly body: string
  readonly links: 'none' | 'included' | 'masked'
}

/**
 * Follows a store through its dashboard. Nothing changes there: the account's own endpoint gets every event as usual, signed with
 * its own secret; forwarded events are signed with a secret of this profile.
 */
export async function openStoreSource(dashboard: Dashboard, secret: string): Promise<DeliverySource> {
  const first = new AbortController()
  let stream: AsyncGenerator<ServerSentEvent, void, undefined> | undefined = await connect(
    dashboard,
    undefined,
    first.signal,
  )
  const opening = await stream.next()
  const ready = readyIn(opening.value ?? undefined)
  if (!ready) throw notAStream(dashboard)
  const { account, endpoint_url, with_links } = ready
  return {
    name: `${account.name} at ${dashboard.origin}`,
    secret,
    notes: () => [
      endpoint_url === null
        ? 'The account has no webhook endpoint, so nothing else gets these events.'
        : `${endpoint_url} keeps getting every event.`,
      ...(with_links ? [] : ['Gift links are replaced by placeholders: the token was made without them.']),
    ],
    open: async () => {},
    async *deliveries(signal, onTrouble) {
      signal.addEventListener('abort', () => first.abort(), { once: true })
      const seen = new Set<string>()
      let lastId: string | undefined
      let waitMs = RECONNECT_MS_FIRST
      while (!signal.aborted) {
        try {
          stream ??= await connect(dashboard, lastId, signal)
          for await (const message of stream) {
            waitMs = RECONNECT_MS_FIRST
            if (message.event === 'ended') throw endedBy(message)
            if (message.event !== 'event') continue
            lastId = message.id ?? lastId
            const event = JSON.parse(message.data) as StreamedEvent
            if (seen.has(event.id)) continue
            remember(seen, event.id)
            yield signed(event, secret)
          }
          if (!signal.aborted) onTrouble('The stream ended; reconnecting.')
        } catch (error) {
          if (signal.aborted) return
          // An invalid token will not become valid again.
          if (error instanceof CliError && error.trouble.exitCode === EXIT.auth) throw error
          onTrouble(
            `${error instanceof CliError ? error.trouble.message : 'The connection broke.'} Reconnecting.`,
          )
        }
        stream = undefined
        await sleep(waitMs, undefined, { signal }).catch(() => {})
        waitMs = Math.min(RECONNECT_MS_MAX, waitMs * 2)
      }
    },
    close: async () => first.abort(),
  }
}

async function connect(dashboard: Dashboard, lastId: string | undefined, signal: AbortSignal) {
  const response = await dashboard.get(
    '/tokens/events',
    { accept: 'text/event-stream', ...(lastId !== undefined && { 'last-event-id': lastId }) },
    signal,
  )
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (!isStream || !response.body) throw notAStream(dashboard)
  return readServerSentEvents(response.body)
}

function readyIn(message: ServerSentEvent | undefined): Ready | undefined {
  return message?.event === 'ready' ? (JSON.parse(message.data) as Ready) : undefined
}

/** Signs as the store signs a webhook, but with another secret and the current time. */
function signed({ id, type, order_id, body, links }: StreamedEvent, secret: string): Delivery {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const headers = {
    'Content-Type': 'application/json',
    [webhookHeaders.timestamp]: timestamp,
    [webhookHeaders.id]: id,
    [webhookHeaders.signature]: signWebhook(secret, { timestamp, id, body: Buffer.from(body, 'utf8') }),
  }
  return { event_id: id, event: type, order_id, headers, body, links }
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id)
  const [oldest] = seen
  if (seen.size > REMEMBERED_MAX && oldest !== undefined) seen.delete(oldest)
}

function endedBy({ data }: ServerSentEvent): CliError {
  const { message } = JSON.parse(data) as { message: string }
  return new CliError({
    type: 'authentication_failed',
    message,
    next: 'Create a token in the dashboard, under API keys, Command line; then run `shopwire login`.',
    exitCode: EXIT.auth,
  })
}

function notAStream({ origin }: Dashboard): CliError {
  return new CliError({
    type: 'unexpected_response',
    message: `${origin} did not answer with a stream of events.`,
    next: 'Check that it is the address of the dashboard, and that no proxy on the way holds streams back.',
  })
}
