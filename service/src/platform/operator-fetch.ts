import { Agent, buildConnector, fetch } from 'undici'
import { openTunnel } from './egress-proxy.ts'

const CONNECT_MS_MAX = 10_000

/**
 * `fetch` for servers that the operator configured, in any network. With an egress proxy everything goes through it, http://
 * too, and the proxy resolves the name. Certificates are always checked, whatever the environment says.
 */
export function operatorFetch(proxyUrl?: string): typeof globalThis.fetch {
  const dial = buildConnector({ rejectUnauthorized: true, allowH2: false, timeout: CONNECT_MS_MAX })
  const connect = proxyUrl === undefined ? dial : through(new URL(proxyUrl), dial)
  const dispatcher = new Agent({ allowH2: false, connect })
  // Node's built-in fetch belongs to another copy of undici and does not accept agents of this one.
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
