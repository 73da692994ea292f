import { Client } from 'undici'
import { createSlots } from '../batching/slots.ts'
import { orAborted, withDeadline } from '../process/deadline.ts'
import { ProxyRefused, ProxyTrouble } from './egress-proxy.ts'
import { type Destination, dialPublic } from './guarded-dial.ts'
import type { LookUp } from './name-lookup.ts'
import type { OutboundNetworks } from './outbound-networks.ts'
import { bare } from './public-address.ts'
import { type Answer, type Timing, timedPost } from './timed-post.ts'
import { createTlsSessions } from './tls-sessions.ts'

/** The outcome of a request to a caller's server. A fixed set: no text from that server reaches our records. */
export type SendError =
  | 'dns'
  | 'blocked'
  | 'withdrawn'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'bad_response'
  | `http_${number}`

export interface Sent {
  /** Null when the receiver answered with a 2xx. */
  readonly error: SendError | null
  readonly status: number | null
  /** Null when no connection was attempted. */
  readonly remote_address: string | null
  /** Absent when nothing was tried. */
  readonly took?: SendTimes
  /** Of a receiver that answered. Foreign text: it never gets into our log. */
  readonly answer?: Pick<Answer, 'headers' | 'start'>
}

/** In milliseconds; null for phases that were not reached. */
export interface SendTimes {
  /** Name look-up, connection and TLS; zero on a connection that was open already. */
  readonly connect_ms: number
  readonly send_ms: number | null
  /** From the last byte sent to the end of the answer. */
  readonly wait_ms: number | null
}

/** Sends requests to one URL that a caller chose, behind the SSRF guard: never to an internal address. */
export interface GuardedClient {
  /** Rejects only for a reason on our side: the operator's own proxy. Everything else is in the result. */
  post(headers: Readonly<Record<string, string>>, body: Uint8Array): Promise<Sent>
  close(): Promise<void>
}

export interface GuardedClientOptions {
  /** For everything together: the wait for a free connection, DNS, proxy, connection, TLS, answer. */
  readonly totalMsMax: number
  readonly connectionsMax: number
  /** The account that chose the URL: look-ups are limited per owner. */
  readonly owner: string
  /** Checked again after connecting, which may have taken a while. */
  isStillWanted(): Promise<boolean>
}

export type OpenGuardedClient = (url: string, options: GuardedClientOptions) => GuardedClient

const HEADERS_BYTES_MAX = 16_384
const BODY_BYTES_MAX = 65_536
const IDLE_MS = 4_000
const HTTPS_PORT = 443

/** Clients that connect directly, or all through one proxy; the SSRF guard is the same either way. */
export function guardedClients(
  proxyUrl?: string,
  networks?: OutboundNetworks,
  lookUp?: LookUp,
): OpenGuardedClient {
  const proxy = proxyUrl === undefined ? undefined : new URL(proxyUrl)
  const sessions = createTlsSessions()
  return (url, options) => openClient(url, options, { proxy, lookUp, networks, sessions })
}

function openClient(
  url: string,
  { totalMsMax, connectionsMax, owner, isStillWanted }: GuardedClientOptions,
  way: Pick<Destination, 'proxy' | 'lookUp' | 'networks' | 'sessions'>,
): GuardedClient {
  const { origin, pathname, search, hostname, port } = new URL(url)
  const destination = { ...way, host: bare(hostname), port: Number(port || HTTPS_PORT), owner }
  const slots = createSlots(connectionsMax)
  const connections = new Set<Connection>()
  const free: Connection[] = []
  const closing = new AbortController()

  async function post(
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<Sent> {
    const connection = free.pop() ?? openConnection(origin, destination, totalMsMax, isStillWanted)
    connections.add(connection)
    connection.signal = signal
    connection.connectMs = undefined
    const startedMs = performance.now()
    const timing: Timing = {}
    try {
      const request = { path: pathname + search, headers, body, bodyBytesMax: BODY_BYTES_MAX }
      const { status, ...answer } = await timedPost(connection.client, request, timing, signal)
      const isAccepted = status >= 200 && status < 300
      return {
        error: isAccepted ? null : `http_${status}`,
        status,
        remote_address: connection.dialled,
        took: timesOf(connection, startedMs, timing),
        answer,
      }
    } catch (error) {
      if (error instanceof ProxyTrouble) throw error
      const name = nameOf(error)
      // Not even a time: it could reveal what an internal name resolves to.
      if (name === 'blocked') return { error: name, status: null, remote_address: null }
      const took = timesOf(connection, startedMs, timing)
      return { error: name, status: null, remote_address: connection.dialled, took }
    } finally {
      free.push(connection)
    }
  }

  return {
    async post(headers, body) {
      try {
        return await withDeadline(totalMsMax, closing.signal, (signal) =>
          slots.run('', signal, () => post(headers, body, signal)),
        )
      } catch (error) {
        if (error instanceof ProxyTrouble) throw error
        return { error: nameOf(error), status: null, remote_address: null }
      }
    },
    async close() {
      closing.abort(new Error('the client is closed'))
      await Promise.all([...connections].map(({ client }) => client.destroy()))
    },
  }
}

interface Connection {
  readonly client: Client
  /** The signal of the current request. It also ends a connection attempt, which undici alone would not do. */
  signal: AbortSignal
  /** The address it is connected to, or was about to connect to. */
  dialled: string | null
  /** How long the current request took to connect; undefined until then, or when it used an open connection. */
  connectMs: number | undefined
}

function timesOf({ connectMs }: Connection, postedMs: number, { startedMs, sentMs }: Timing): SendTimes {
  const nowMs = performance.now()
  if (startedMs === undefined) {
    return { connect_ms: Math.round(connectMs ?? nowMs - postedMs), send_ms: null, wait_ms: null }
  }
  return {
    connect_ms: Math.round(connectMs ?? 0),
    send_ms: Math.round((sentMs ?? nowMs) - startedMs),
    wait_ms: sentMs === undefined ? null : Math.round(nowMs - sentMs),
  }
}

function openConnection(
  origin: string,
  destination: Destination,
  totalMsMax: number,
  isStillWanted: GuardedClientOptions['isStillWanted'],
): Connection {
  const dial = async () => {
    const { signal } = connection
    connection.dialled = null
    const startedMs = performance.now()
    const socket = await dialPublic(destination, signal, (address) => {
      connection.dialled = address
    })
    connection.connectMs = performance.now() - startedMs
    try {
      if (!(await orAborted(isStillWanted(), signal))) throw new Withdrawn()
      if (socket.destroyed) throw Object.assign(new Error('closed again'), { code: 'ECONNRESET' })
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }
  const client = new Client(origin, {
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: totalMsMax,
    bodyTimeout: totalMsMax,
    connect(_options, callback) {
      dial().then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      )
    },
  })
  const connection: Connection = { client, signal: AbortSignal.abort(), dialled: null, connectMs: undefined }
  return connection
}

class Withdrawn extends Error {
  override readonly name = 'Withdrawn'
}

function nameOf(error: unknown): SendError {
  const { name, code = '' } = error as NodeJS.ErrnoException
  if (name === 'AddressBlocked') return 'blocked'
  if (name === 'LookupFailed') return 'dns'
  if (name === 'Withdrawn') return 'withdrawn'
  if (error instanceof ProxyRefused) return error.isByRule ? 'blocked' : 'connect'
  if (name === 'TimeoutError' || /TIMEOUT|TIMEDOUT/.test(code)) return 'timeout'
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ALTNAME|EPROTO/.test(code)) return 'tls'
  // HTTP parser errors have no code.
  if (name === 'HTTPParserError' || /HEADERS_OVERFLOW|CONTENT_LENGTH/.test(code)) return 'bad_response'
  if (/ECONNRESET|UND_ERR_SOCKET|EPIPE/.test(code)) return 'reset'
  return 'connect'
}
