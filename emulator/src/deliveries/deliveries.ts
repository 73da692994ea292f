import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { webhookHeaders } from '@shopwire/contract'
import {
  type GuardedClient,
  type GuardedClientOptions,
  guardedClients,
  type Sent,
} from '@shopwire/service/embedded'
import type { Faults, Taken } from '../faults/faults.ts'
import type { Pauses } from '../faults/pauses.ts'
import type { Journal } from '../store/journal.ts'
import { isOwnPlace } from './webhook-urls.ts'

export interface DeliveryDeps {
  readonly journal: Journal
  readonly faults: Faults
  readonly pauses: Pauses
}

type Endpoint = { readonly account_id: string; readonly endpoint_id: string }
type Post = GuardedClient['post']

/** The store sends four events at a time to an endpoint; one slot must stay free for the event that the others wait for. */
const HELD_MAX = 2
/** The next event of an order may never be sent. */
const HELD_MS_MAX = 60_000
const WITHDRAWN: Sent = { error: 'withdrawn', status: null, remote_address: null }
const LOST: Sent = { error: 'reset', status: null, remote_address: null }

/** Outbound connections that may also go to this machine; they record deliveries and apply faults to them. */
export function createLines({ journal, faults, pauses }: DeliveryDeps) {
  const open = guardedClients()
  /** Waits until another event of the order was sent. */
  const held = new Map<string, { readonly event_id: string; readonly go: () => void }>()
  const heldBy = new Map<string, number>()

  function release(order_id: string, event_id: string) {
    const waiting = held.get(order_id)
    if (waiting && waiting.event_id !== event_id) waiting.go()
  }

  async function hold(endpoint_id: string, order_id: string, event_id: string) {
    heldBy.set(endpoint_id, (heldBy.get(endpoint_id) ?? 0) + 1)
    await pauses.until((go) => held.set(order_id, { event_id, go }), HELD_MS_MAX)
    held.delete(order_id)
    heldBy.set(endpoint_id, (heldBy.get(endpoint_id) ?? 1) - 1)
  }

  return (
    url: string,
    options: GuardedClientOptions,
    { account_id, endpoint_id }: Endpoint,
  ): GuardedClient => {
    const line = isOwnPlace(url) ? plainLine(url, options) : open(url, options)

    const takeFor = (event: Event): Taken | undefined =>
      faults.take('event', {
        account_id,
        fits({ name, params }) {
          if (name !== 'out_of_order_events') return params.event === '*' || params.event === event.name
          const canHold = (heldBy.get(endpoint_id) ?? 0) < HELD_MAX
          return event.name === 'order.accepted' && event.order_id !== null && canHold
        },
      })

    return {
      close: () => line.close(),
      async post(headers, body) {
        const event = readEvent(headers, body)
        const taken = takeFor(event)
        const fault = taken?.fire() ? taken.name : null
        const send = async (post: Post): Promise<Sent> => {
          const startedMs = performance.now()
          const at = new Date().toISOString()
          const sent = await post(headers, body)
          journal.add('delivery', {
            at,
            event_id: event.id,
            event: event.name,
            order_id: event.order_id,
            account_id,
            url,
            headers: lowerCased(headers),
            body: Buffer.from(body).toString('utf8'),
            status: sent.status,
            error: sent.error,
            duration_ms: Math.round((performance.now() - startedMs) * 100) / 100,
            fault,
          })
          return sent
        }
        if (fault === 'lost_event') return send(async () => LOST)
        if (fault === 'late_event') await pauses.wait(Number(taken?.params.ms))
        if (fault === 'out_of_order_events' && event.order_id !== null)
          await hold(endpoint_id, event.order_id, event.id)
        const isHeld = fault === 'late_event' || fault === 'out_of_order_events'
        if (isHeld && !(await options.isStillWanted())) return WITHDRAWN
        const sent = await send(line.post)
        const copies = fault === 'duplicate_event' ? Number(taken?.params.copies) : 1
        for (let n = 1; n < copies; n += 1) await send(line.post)
        if (event.order_id !== null) release(event.order_id, event.id)
        return sent
      },
    }
  }
}

interface Event {
  readonly id: string
  readonly name: string
  readonly order_id: string | null
}

function readEvent(headers: Readonly<Record<string, string>>, body: Uint8Array): Event {
  const { event, data } = JSON.parse(Buffer.from(body).toString('utf8')) as {
    event: string
    data: { order?: { id: string } }
  }
  return { id: headers[webhookHeaders.id] ?? '', name: event, order_id: data.order?.id ?? null }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/**
 * To this machine or its own network, with or without TLS. The remote address is not recorded: the database's
 * invariants allow only public addresses.
 */
function plainLine(url: string, { totalMsMax, isStillWanted }: GuardedClientOptions): GuardedClient {
  const request = url.startsWith('https:') ? requestHttps : requestHttp
  const post = (headers: Readonly<Record<string, string>>, body: Uint8Array) =>
    new Promise<Sent>((resolve) => {
      const failed = (error: NodeJS.ErrnoException) =>
        resolve({ error: nameOf(error), status: null, remote_address: null })
      const sending = request(
        url,
        {
          method: 'POST',
          headers: { ...headers, 'content-length': String(body.length) },
          agent: false,
          signal: AbortSignal.timeout(totalMsMax),
        },
        (answer) => {
          const status = answer.statusCode ?? 0
          answer.resume().once('end', () => {
            const isAccepted = status >= 200 && status < 300
            resolve({ error: isAccepted ? null : `http_${status}`, status, remote_address: null })
          })
          answer.once('error', failed)
        },
      )
      sending.once('error', failed)
      sending.end(body)
    })
  return {
    async post(headers, body) {
      if (!(await isStillWanted())) return WITHDRAWN
      return post(headers, body)
    },
    close: async () => {},
  }
}

function nameOf({ name, code = '', syscall }: NodeJS.ErrnoException): NonNullable<Sent['error']> {
  if (syscall === 'getaddrinfo') return 'dns'
  if (name === 'AbortError' || name === 'TimeoutError' || /TIMEDOUT/.test(code)) return 'timeout'
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ALTNAME|EPROTO/.test(code)) return 'tls'
  if (/^HPE_/.test(code)) return 'bad_response'
  return /REFUSED|UNREACH/.test(code) ? 'connect' : 'reset'
}
