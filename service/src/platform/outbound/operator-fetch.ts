import { lookup } from 'node:dns'
import { lookup as lookUpAll } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, fetch } from 'undici'
import { openTunnel } from './egress-proxy.ts'
import { ANY_NETWORK, type OutboundNetworks } from './outbound-networks.ts'
import { AddressBlocked, bare } from './public-address.ts'

const CONNECT_MS_MAX = 10_000

/**
 * `fetch` for servers that the operator configured, in any network that the operator's lists allow. With an egress proxy everything
 * goes through it, http:// too. The proxy resolves the name, unless there are lists: then the proxy gets the address that was
 * checked. Certificates are always checked, whatever the environment says.
 */
export function operatorFetch(proxyUrl?: string, networks = ANY_NETWORK): typeof globalThis.fetch {
  const dial = buildConnector({
    rejectUnauthorized: true,
    allowH2: false,
    timeout: CONNECT_MS_MAX,
    ...(networks.isLimited && { lookup: checkedLookup(networks) }),
  })
  const connect = proxyUrl === undefined ? direct(dial, networks) : through(new URL(proxyUrl), dial, networks)
  const dispatcher = new Agent({ allowH2: false, connect })
  // Node's built-in fetch belongs to another copy of undici and does not accept agents of this one.
  return ((url: string, init: object) =>
    fetch(url, { ...init, dispatcher })) as unknown as typeof globalThis.fetch
}

/** A socket does not look up an address that is written in the URL, so it is checked here. */
function direct(dial: buildConnector.connector, networks: OutboundNetworks): buildConnector.connector {
  return (options, callback) => {
    const host = bare(options.hostname)
    if (isIP(host) !== 0 && !networks.allow(host)) return callback(new AddressBlocked(host), null)
    dial(options, callback)
  }
}

function through(
  proxy: URL,
  dial: buildConnector.connector,
  networks: OutboundNetworks,
): buildConnector.connector {
  return (options, callback) => {
    const { hostname, protocol, port } = options
    const isTls = protocol === 'https:'
    const signal = AbortSignal.timeout(CONNECT_MS_MAX)
    checkedTarget(bare(hostname), networks)
      .then((target) => openTunnel(proxy, target, Number(port || (isTls ? 443 : 80)), signal))
      .then(
        (socket) => (isTls ? dial({ ...options, httpSocket: socket }, callback) : callback(null, socket)),
        (error: Error) => callback(error, null),
      )
  }
}

/** The address or name that the proxy is asked to connect to. */
async function checkedTarget(host: string, networks: OutboundNetworks): Promise<string> {
  if (!networks.isLimited) return host
  const answers = isIP(host) ? [{ address: host }] : await lookUpAll(host, { all: true })
  return assertAllowed(host, answers, networks).address
}

/** Like the socket's own look-up, but the answers are checked before one of them is dialled. */
function checkedLookup(networks: OutboundNetworks): LookupFunction {
  return (host, options, callback) =>
    lookup(host, { ...options, all: true }, (error, answers) => {
      if (error) return callback(error, [])
      try {
        const first = assertAllowed(host, answers, networks)
        if (options.all) callback(null, answers)
        else callback(null, first.address, first.family)
      } catch (blocked) {
        callback(blocked as Error, [])
      }
    })
}

/** As for webhooks: one address that is not allowed refuses all of them. */
function assertAllowed<Answer extends { readonly address: string }>(
  host: string,
  answers: readonly Answer[],
  networks: OutboundNetworks,
): Answer {
  const [first] = answers
  if (first === undefined || !answers.every(({ address }) => networks.allow(address)))
    throw new AddressBlocked(host)
  return first
}
