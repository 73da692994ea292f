import { Agent, buildConnector, fetch } from 'undici'
import { openTunnel } from './egress-proxy.ts'

const CONNECT_MS_MAX = 10_000

/**
 * `fetch` for servers that the operator chose, wherever they are. With an egress proxy everything goes through it, http:// too,
 * and the proxy looks the name up. Certificates are checked whatever the environment says.
 */
export function operatorFetch(proxyUrl?: string): typeof globalThis.fetch {
  const dial = buildConnector({ rejectUnauthorized: true, allowH2: false, timeout: CONNECT_MS_MAX })
  const connect = proxyUrl === undefined ? dial : through(new URL(proxyUrl), dial)
  const dispatcher = new Agent({ allowH2: false, connect })
  // Node's own fetch is of another undici, which does not understand this one's agents.
  return ((url: string, init: object) =>
    fetch(url, { ...init, dispatcher })) as unknown as typeof globalThis.fetch
}

function through(proxy: URL, dial: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const { hostname, protocol, port } = options
    const isTls = protocol === 'https:'
    openTunnel(proxy, hostname, Number(port || (isTls ? 443 : 80)), AbortSignal.timeout(CONNECT_MS_MAX)).then(
      (socket) => (isTls ? dial({ ...options, httpSocket: socket }, callback) : callback(null, socket)),
      (error: Error) => callback(error, null),
    )
  }
}
