import { isIP } from 'node:net'
import { buildConnector, Pool } from 'undici'
import { openTunnel, ProxyRefused, ProxyTrouble } from './egress-proxy.ts'
import { bare, checkedAddress } from './public-address.ts'

/** What became of a request to a stranger's server. A fixed vocabulary: nothing a stranger says gets into our records. */
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
  /** Null when the other side accepted it with a 2xx. */
  readonly error: SendError | null
  readonly status: number | null
  /** Null when nobody was dialled. */
  readonly remote_address: string | null
}

/** A way to one URL that a caller chose, and never to anybody inside. There is no way to ask it for less care. */
export interface GuardedLine {
  /** Fails only for a reason on our side: the operator's own proxy. */
  post(headers: Readonly<Record<string, string>>, body: Uint8Array): Promise<Sent>
  close(): Promise<void>
}

export interface LineOptions {
  /** For everything together: name, connection, TLS, answer. */
  readonly totalMsMax: number
  readonly connectionsMax: number
  /** Asked once more after a connection has been made, which may have taken its time. */
  isStillWanted(): Promise<boolean>
}

export type OpenLine = (url: string, options: LineOptions) => GuardedLine

const HEADERS_BYTES_MAX = 16_384
const BODY_BYTES_MAX = 65_536
const IDLE_MS = 4_000
const HTTPS_PORT = 443

/** Lines that go out directly, or all through one proxy; who may be dialled is the same either way. */
export function guardedLines(proxyUrl?: string): OpenLine {
  const proxy = proxyUrl === undefined ? undefined : new URL(proxyUrl)
  return (url, options) => openLine(url, options, proxy)
}

function openLine(
  url: string,
  { totalMsMax, connectionsMax, isStillWanted }: LineOptions,
  proxy: URL | undefined,
): GuardedLine {
  const { origin, pathname, search, hostname, port } = new URL(url)
  const host = bare(hostname)
  let dialled: string | null = null
  const dial = buildConnector({
    allowH2: false,
    minVersion: 'TLSv1.2',
    timeout: totalMsMax,
    maxCachedSessions: 0,
  })
  const pool = new Pool(origin, {
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: HEADERS_BYTES_MAX,
    headersTimeout: totalMsMax,
    bodyTimeout: totalMsMax,
    connect(options, callback) {
      const reach = async () => {
        const address = await checkedAddress(host)
        dialled = address
        const tunnel = proxy && (await openTunnel(proxy, address, Number(port || HTTPS_PORT), totalMsMax))
        return { hostname: address, ...(tunnel && { httpSocket: tunnel }) }
      }
      reach().then(
        (way) => {
          // The name was resolved once, and what was checked is what is dialled. The certificate has to be the name's.
          const target = { ...options, ...way, servername: isIP(host) ? '' : host }
          dial(target, (error, socket) => {
            if (error) return callback(error, null)
            isStillWanted().then(
              (isWanted) => {
                if (isWanted) return callback(null, socket)
                socket.destroy()
                callback(new Withdrawn(), null)
              },
              (reason: Error) => {
                socket.destroy()
                callback(reason, null)
              },
            )
          })
        },
        (error: Error) => callback(error, null),
      )
    },
  })
  return {
    async post(headers, body) {
      try {
        const { statusCode: status, body: answer } = await pool.request({
          path: pathname + search,
          method: 'POST',
          headers,
          body,
          signal: AbortSignal.timeout(totalMsMax),
        })
        await answer.dump({ limit: BODY_BYTES_MAX })
        const isAccepted = status >= 200 && status < 300
        return { error: isAccepted ? null : `http_${status}`, status, remote_address: dialled }
      } catch (error) {
        if (error instanceof ProxyTrouble) throw error
        const name = nameOf(error)
        // The line has several connections: what was dialled may have been for another request.
        const isDialled = name !== 'blocked' && name !== 'dns'
        return { error: name, status: null, remote_address: isDialled ? dialled : null }
      }
    },
    close: () => pool.destroy(),
  }
}

class Withdrawn extends Error {
  override readonly name = 'Withdrawn'
}

function nameOf(error: unknown): SendError {
  const { name, code = '', syscall } = error as NodeJS.ErrnoException
  if (name === 'AddressBlocked') return 'blocked'
  if (name === 'Withdrawn') return 'withdrawn'
  if (error instanceof ProxyRefused) return error.isByRule ? 'blocked' : 'connect'
  if (syscall === 'getaddrinfo') return 'dns'
  if (name === 'TimeoutError' || /TIMEOUT|TIMEDOUT/.test(code)) return 'timeout'
  if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ALTNAME|EPROTO/.test(code)) return 'tls'
  // The parser's errors have no code.
  if (name === 'HTTPParserError' || /HEADERS_OVERFLOW|CONTENT_LENGTH/.test(code)) return 'bad_response'
  if (/ECONNRESET|UND_ERR_SOCKET|EPIPE/.test(code)) return 'reset'
  return 'connect'
}
