import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIPv6, type Socket } from 'node:net'

/** The operator's own proxy is down, refuses our credentials or answers something unexpected. The receiver cannot fix this. */
export class ProxyTrouble extends Error {
  override readonly name = 'ProxyTrouble'
}

/** The proxy answered that its rules forbid this destination, or that it cannot reach it. */
export class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused'
  readonly isByRule: boolean

  constructor(isByRule: boolean) {
    super(isByRule ? 'the proxy does not allow it' : 'the proxy cannot reach it')
    this.isByRule = isByRule
  }
}

const FORBIDDEN = 403
const UNREACHABLE = new Set([502, 503, 504])

/** Opens a connection to an address through an HTTP proxy (CONNECT). The caller has checked the address; the proxy resolves nothing. */
export function openTunnel(proxy: URL, address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const { protocol, username, password, hostname, port: proxyPort } = proxy
  const target = `${isIPv6(address) ? `[${address}]` : address}:${port}`
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const request = protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    request({
      method: 'CONNECT',
      host: hostname.replace(/^\[|\]$/g, ''),
      port: proxyPort || (protocol === 'https:' ? 443 : 80),
      path: target,
      headers: {
        host: target,
        ...(username && { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
      agent: false,
      // Otherwise NODE_TLS_REJECT_UNAUTHORIZED could switch the check off.
      rejectUnauthorized: true,
      signal,
    })
      .on('connect', ({ statusCode = 0 }, socket, head) => {
        if (statusCode === 200 && head.length === 0) return resolve(socket as Socket)
        socket.destroy()
        if (statusCode === FORBIDDEN) return reject(new ProxyRefused(true))
        if (UNREACHABLE.has(statusCode)) return reject(new ProxyRefused(false))
        reject(new ProxyTrouble(`the egress proxy answered ${statusCode}`))
      })
      // CONNECT was answered without a tunnel. Without this listener the promise would never settle.
      .on('response', (response) => {
        response.destroy()
        reject(new ProxyTrouble(`the egress proxy answered ${response.statusCode} and opened no tunnel`))
      })
      .on('error', (error: NodeJS.ErrnoException) => {
        const why = signal.aborted ? 'it did not answer in time' : (error.code ?? error.name)
        reject(new ProxyTrouble(`the egress proxy cannot be used: ${why}`))
      })
      .end()
  })
}
