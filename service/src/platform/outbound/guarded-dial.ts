import { isIP, type LookupFunction, type Socket, type TcpSocketConnectOpts } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { openTunnel, ProxyRefused } from './egress-proxy.ts'
import type { LookUp } from './name-lookup.ts'
import type { OutboundNetworks } from './outbound-networks.ts'
import { checkedAddresses } from './public-address.ts'
import type { TlsSessions } from './tls-sessions.ts'

export interface Destination {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** The account that chose the host. */
  readonly owner: string
  readonly proxy?: URL | undefined
  /** Used instead of the system's name servers. */
  readonly lookUp?: LookUp | undefined
  /** The operator's lists. */
  readonly networks?: OutboundNetworks | undefined
  readonly sessions: TlsSessions
}

/** How long one address may take (a SYN and one retransmission) before the next one is tried. */
const ADDRESS_MS_MAX = 2_000

/**
 * SSRF guard: opens a TLS connection to a public address of the host and checks the certificate against the host's name. The
 * name is resolved once, and the connection goes to the very addresses that were checked. Aborting the signal ends the look-up
 * and every socket.
 */
export async function dialPublic(
  { host, port, owner, proxy, lookUp, networks, sessions }: Destination,
  signal: AbortSignal,
  onAttempt: (address: string) => void,
): Promise<TLSSocket> {
  const addresses = await checkedAddresses(host, {
    owner,
    signal,
    ...(lookUp && { lookUp }),
    ...(networks && { networks }),
  })
  const key = `${owner} ${host} ${port}`
  const resumed = sessions.find(key)
  const follow = (socket: TLSSocket) => sessions.follow(key, socket, resumed)
  const target: ConnectionOptions = {
    host,
    port,
    servername: isIP(host) ? '' : host,
    secureContext: sessions.context,
    ...(resumed && { session: resumed.ticket }),
    // Otherwise NODE_TLS_REJECT_UNAUTHORIZED could switch the check off.
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  }
  if (proxy) {
    const socket = await tunnelToFirst(addresses, (address) => {
      onAttempt(address)
      return openTunnel(proxy, address, port, signal)
    })
    return secured({ ...target, socket }, { signal, onAttempt, follow })
  }
  const answers = addresses.map((address) => ({ address, family: isIP(address) }))
  // In the next tick: otherwise the socket would connect before a listener for the attempt is attached.
  const lookup: LookupFunction = (_host, _options, callback) => process.nextTick(callback, null, answers)
  return secured(
    { ...target, lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS_MAX },
    { signal, onAttempt, follow },
  )
}

/** Tries the next address only when the proxy cannot reach the one before it. */
async function tunnelToFirst(
  addresses: readonly string[],
  open: (address: string) => Promise<Socket>,
): Promise<Socket> {
  for (const address of addresses.slice(0, -1)) {
    try {
      return await open(address)
    } catch (error) {
      if (!(error instanceof ProxyRefused) || error.isByRule) throw error
    }
  }
  return open(addresses.at(-1) as string)
}

/** Node accepts these options for TLS sockets too; the TLS types omit them. */
type SocketOptions = ConnectionOptions &
  Pick<TcpSocketConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>

function secured(
  options: SocketOptions,
  {
    signal,
    onAttempt,
    follow,
  }: {
    signal: AbortSignal
    onAttempt: (address: string) => void
    follow: (socket: TLSSocket) => void
  },
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      options.socket?.destroy()
      return reject(signal.reason)
    }
    const socket = connect(options)
    follow(socket)
    const abort = () => {
      socket.destroy()
      reject(signal.reason)
    }
    const settle = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    socket
      .setNoDelay(true)
      .on('connectionAttempt', onAttempt)
      .once('secureConnect', () => {
        settle()
        resolve(socket)
      })
      // This listener stays: an error event without a listener would end the process.
      .on('error', (error) => {
        settle()
        reject(error)
      })
  })
}
